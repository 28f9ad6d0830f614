"""The chapters of the book, a folder each: what it computes (tables), draws (charts) and says (words)."""

from ettr.core import extras

with extras.needed("sweep"):
    import altair as altair
