"""What several chapters share: the theme, builders of charts and the table of columns."""
