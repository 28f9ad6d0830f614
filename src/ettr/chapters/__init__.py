"""The chapters of the book, a folder each: what it computes (tables), draws (charts) and says (words)."""
