"""What anyone may see: public tables, and the tables that mechanisms make."""

from understudy.public.accuracy import ACCURACY, Accuracy, Distance, identity
from understudy.public.batches import Batch, Batches, Draw, in_parts
from understudy.public.periods import moved
from understudy.public.progress import LOG, Progress, followed, following, silent
from understudy.public.shapes import Shapes
from understudy.public.sniffing import sniffed
from understudy.public.synthesis import Synthesis
from understudy.public.table import PublicTable, read_public
from understudy.public.within_bins import Within, kept_numbers
from understudy.public.zones import zones_of

__all__ = [
    "ACCURACY",
    "LOG",
    "Accuracy",
    "Batch",
    "Batches",
    "Distance",
    "Draw",
    "Progress",
    "PublicTable",
    "Shapes",
    "Synthesis",
    "Within",
    "followed",
    "following",
    "identity",
    "in_parts",
    "kept_numbers",
    "moved",
    "read_public",
    "silent",
    "sniffed",
    "zones_of",
]
