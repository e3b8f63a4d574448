"""Which marginals to ask for."""
