"""A reader a format of failure log."""
