"""Mitigations beside each other on the same failures."""
