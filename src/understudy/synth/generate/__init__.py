"""Rows of a model: counts as whole numbers, and people for the rows."""
