"""Tests, one linear algebra thread a process: before anything imports NumPy, which asks only then.

Several processes test at once, and threads that wait for each other on a core that is not theirs
take five times as long as one thread does.  What is promised of threads sets their number itself.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
