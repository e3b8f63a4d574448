"""What anyone may see: public tables, and the tables that mechanisms make."""

from understudy.public.batches import Batch, Batches, Draw, in_parts
from understudy.public.periods import moved
from understudy.public.shapes import Shapes
from understudy.public.synthesis import Progress, Synthesis
from understudy.public.table import PublicTable, read_public
from understudy.public.within_bins import Within

__all__ = [
    "Batch",
    "Batches",
    "Draw",
    "Progress",
    "PublicTable",
    "Shapes",
    "Synthesis",
    "Within",
    "in_parts",
    "moved",
    "read_public",
]
