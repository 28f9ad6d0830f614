"""How many spare nodes are worth holding?"""

from ettr.chapters.spares import charts, option_charts, option_tables, option_words, tables, words

__all__ = ["charts", "option_charts", "option_tables", "option_words", "tables", "words"]
