"""Sphinx without Jupyter Book, for the same sources: its packages, and its ``conf.py`` made from ``_config.yml``.

``.venv/bin/python tests/plain_sphinx.py`` writes ``conf.py`` into the repository.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
PACKAGES = (
    "sphinx>=9",
    "myst-nb",
    "sphinx-book-theme>=1.4",
    "sphinx-copybutton",
    "sphinx-design",
    "sphinx-external-toc",
    "sphinx-mathjax-offline",
    "sphinx-multitoc-numbering",
    "sphinx-togglebutton",
    "sphinxcontrib-bibtex",
)
"""Packages that take the place of Jupyter Book, in their newest versions."""
WITHOUT = "jupyter_book", "sphinx_comments", "sphinx_jupyterbook_latex"
"""Extensions of Jupyter Book that the pages do not use."""


def write(root: Path) -> None:
    """Write the ``conf.py`` of the book in a folder."""
    command = (sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "config", "sphinx", str(root))
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with (root / "conf.py").open("a", encoding="utf-8") as conf:
        conf.write(f"extensions = [name for name in extensions if name not in {WITHOUT}]\n")


if __name__ == "__main__":
    write(REPOSITORY)
