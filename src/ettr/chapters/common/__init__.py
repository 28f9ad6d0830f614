"""What several chapters share: the theme, builders of charts, sentences and numbers as people read them."""
