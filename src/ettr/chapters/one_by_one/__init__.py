"""What is each mitigation worth, alone, on this cluster?"""

from ettr.chapters.one_by_one import charts, evidence_tables, evidence_words, tables, words

__all__ = ["charts", "evidence_tables", "evidence_words", "tables", "words"]
