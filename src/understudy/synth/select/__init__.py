"""Which marginals to measure."""
