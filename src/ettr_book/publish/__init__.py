"""Build the book: run the chapters that changed and make the site from their outputs.

Listed as an extension in ``_config.yml``, this package lets ``jupyter-book build .`` make the same site as
:func:`build`: both run the chapters with :func:`execute` and read their outputs from the same folder.
"""

from __future__ import annotations

from typing import Any

from ettr.core import extras

with extras.needed("book"):
    from ettr_book.publish.chapters import Chapter, execute
    from ettr_book.publish.site import build

__all__ = ["Chapter", "build", "execute", "setup"]


def setup(app: Any) -> dict[str, Any]:
    """Connect this package to Sphinx, which calls this function by its name."""
    from ettr_book.publish import extension

    return extension.connect(app)
