"""What do memory, local, peer and remote checkpoints buy together?"""

from ettr_book.chapters.checkpoint_tiers import charts, prediction_tables, tables, words

__all__ = ["charts", "prediction_tables", "tables", "words"]
