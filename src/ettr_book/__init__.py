"""The book's own code: its chapters, the comparison with published results, and how the site is made."""
