"""Tiers of checkpoints and predicted failures, as the tests of plans give them to a run."""

from __future__ import annotations

PEER = {"name": "peer memory", "interval_s": 60, "stall_s": 0.05, "write_s": 2, "load_s": 5, "survives": 0.7}
DISK = {"name": "local disk", "interval_s": 180, "stall_s": 0.5, "write_s": 20, "load_s": 30, "survives": 0.9}
WARNED = {"recall": 0.6, "precision": 0.85, "lead_s": 120, "action_s": 30}
