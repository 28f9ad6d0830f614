"""Readers of failure logs, one per format."""
