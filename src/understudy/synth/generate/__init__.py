"""From a model to rows: counts rounded to whole numbers, and rows assigned to people."""
