"""What do a hot afternoon and a hotter chip cost in throughput and failures?"""

from ettr_book.chapters.thermal import charts, tables, words

__all__ = ["charts", "tables", "words"]
