"""When does the next GPU stop paying?"""

from ettr_book.chapters.how_many_gpus import charts, tables, way_tables, words

__all__ = ["charts", "tables", "way_tables", "words"]
