"""Charts: the common theme, and checks before a chart is shown."""

from ettr.core import extras

with extras.needed("sweep"):
    from ettr.plots import encodings, theme

__all__ = ["encodings", "theme"]
