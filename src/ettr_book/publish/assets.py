"""The scripts and fonts that a site needs and that no page fetches from elsewhere."""

from __future__ import annotations

import importlib.metadata
import shutil
from pathlib import Path

from ettr.core import extras
from ettr.core.durable import locked
from ettr.core.errors import InputError
from ettr_book.publish import place

FOLDER = Path("_build/.assets")
BUILT_WITH = ("jupyter-book", "sphinx-book-theme", "sphinx-mathjax-offline", "vl-convert-python")
"""What a site takes beyond what its chapters take."""


def make(root: Path) -> Path:
    """The folder with Vega and MathJax for these versions of their packages; made once.

    Returns
    -------
    Path
        A folder for ``html_static_path``.
    """
    versions = "-".join(versions_of("vl-convert-python", "sphinx-mathjax-offline"))
    folder = root / FOLDER / versions
    with locked(root / FOLDER / "lock", "build", wait=True):
        if not place.is_whole(folder):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (folder / "vega-bundle.js").write_text(_vega(), encoding="utf-8")
            _mathjax(folder / "mathjax")
            place.seal(folder)
    return folder


def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one classic script: browsers refuse modules from files."""
    with extras.needed("sweep"):
        import vl_convert
    code = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return f"(function () {{\n{code}\n}})();\n"


def _mathjax(folder: Path) -> None:
    """MathJax with its fonts, and not the 24 MB that its package holds altogether."""
    distribution = importlib.metadata.distribution("sphinx-mathjax-offline")
    entry = "sphinx-mathjax-offline/static/mathjax"
    package = Path(str(distribution.locate_file(entry)))
    if not package.is_dir():
        raise InputError(f"MathJax is not at {package}: install sphinx-mathjax-offline again")
    fonts = Path("output/chtml/fonts/woff-v2")
    shutil.copytree(package / fonts, folder / fonts)
    shutil.copy2(package / "tex-mml-chtml.js", folder)


def versions_of(*names: str) -> list[str]:
    """Versions of packages that the book is built with; `MissingExtra` where one is not installed."""
    with extras.needed("book"):
        return [importlib.metadata.version(name) for name in names]
