"""Put the program that draws charts into the package: Vega, from the package that carries it.

All else about the package is in pyproject.toml.
"""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
VEGA = HERE / "src" / "understudy" / "pages" / "vega.js"


class WithVega(build_py):
    """Build the package, with Vega, Vega-Lite and Vega-Embed as one script in it."""

    def run(self) -> None:
        """Make the script, unless it is there, and go on."""
        if not VEGA.exists():
            import vl_convert  # noqa: PLC0415  only where it is built

            # Every report carries the script, so the script carries its licences.
            notice = (HERE / "NOTICE").read_text(encoding="utf-8")
            script = f"/*!\n{notice}*/\n{vl_convert.javascript_bundle()}"
            VEGA.write_text(script, encoding="utf-8")
        super().run()


setup(cmdclass={"build_py": WithVega})
