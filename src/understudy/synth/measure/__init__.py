"""What is measured and how finely: granularity, noise levels, supports, and people's sizes."""
