"""What do a hot afternoon and a hotter chip cost in throughput and failures?"""

from ettr_book.chapters.thermal import charts, failure_tables, tables, words

__all__ = ["charts", "failure_tables", "tables", "words"]
