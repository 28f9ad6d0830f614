"""Charts: the look that all have in common, and the checks before one is shown."""

from ettr.core import extras

with extras.needed("sweep"):
    from ettr.plots import encodings, theme

__all__ = ["encodings", "theme"]
