"""What forks Spark's Python workers, as PySpark's own module does, from the installed PySpark.

Spark has its workers look for modules in archives: PySpark's, Py4J's and a Java one.  Before each
task they read all lists of files in them again, which takes Python 3.11 longer than most tasks of
these tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:] = [path for path in sys.path if not Path(path).is_file()]
for path in list(sys.path_importer_cache):
    if not Path(path).is_dir():
        del sys.path_importer_cache[path]

if __name__ == "__main__":
    from pyspark.daemon import manager

    manager()  # type: ignore[no-untyped-call]
