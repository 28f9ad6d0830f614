"""Makes the book: runs the chapters that changed and builds the site from what they printed.

Listed as an extension in ``_config.yml``, this package is what turns ``jupyter-book build .`` into the same
site that :func:`build` makes: both run the chapters with :func:`execute` and read their outputs from the
same place.
"""

from __future__ import annotations

from typing import Any

from ettr.core import extras

with extras.needed("book"):
    from ettr_book.publish.chapters import Chapter, execute
    from ettr_book.publish.site import build

__all__ = ["Chapter", "build", "execute", "setup"]


def setup(app: Any) -> dict[str, Any]:
    """Connect this package to Sphinx, which calls this by its name."""
    from ettr_book.publish import extension

    return extension.connect(app)
