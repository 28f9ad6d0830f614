"""What do memory, local, peer and remote checkpoints buy together?"""

from ettr_book.chapters.checkpoint_tiers import charts, silent_tables, tables, words

__all__ = ["charts", "silent_tables", "tables", "words"]
