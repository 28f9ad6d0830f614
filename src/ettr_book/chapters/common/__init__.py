"""Shared parts of the chapters: chart builders, columns and tables."""
