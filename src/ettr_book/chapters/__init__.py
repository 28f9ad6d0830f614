"""The chapters of the book, one folder each with tables, charts and text."""

from ettr.core import extras

with extras.needed("sweep"):
    import altair as altair
