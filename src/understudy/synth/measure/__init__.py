"""What is asked and how finely: granularity, noise levels, supports, and who there is."""
