"""What the reader can move: the calculator, the what-if page, and charts that follow numbers given on the page.

Without JavaScript, and before anything is moved, they show what was computed here for the book's own run.
"""

from ettr.chapters.with_inputs import charts, tables
from ettr.chapters.with_inputs.show import calculator, show, what_if

__all__ = ["calculator", "charts", "show", "tables", "what_if"]
