"""What anyone may see: public tables, and the tables that mechanisms make."""

from understudy.public.synthesis import Progress, Synthesis
from understudy.public.table import read_public

__all__ = ["Progress", "Synthesis", "read_public"]
