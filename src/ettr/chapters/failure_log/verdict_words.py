"""What the verdicts on a failure log say, with their evidence."""

from ettr.failures.node_words import after_repair, lives, nodes
from ettr.failures.verdict_words import cohorts, gaps, shape, trend

__all__ = ["after_repair", "cohorts", "gaps", "lives", "nodes", "shape", "trend"]
