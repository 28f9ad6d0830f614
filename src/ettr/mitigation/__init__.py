"""What can be done about failures: a catalogue with evidence, and scenarios with what stands in it."""

from ettr.mitigation.applying import Lent, apply, lend, missing, n_replicas, pool, without
from ettr.mitigation.catalogue import NO_EVIDENCE, NOT_MODELLED, PUBLISHED, Catalogue, catalogue
from ettr.mitigation.entries import Change, Loan, Mitigation, Price, Published, weakest_status

__all__ = [
    "NOT_MODELLED",
    "NO_EVIDENCE",
    "PUBLISHED",
    "Catalogue",
    "Change",
    "Lent",
    "Loan",
    "Mitigation",
    "Price",
    "Published",
    "apply",
    "catalogue",
    "lend",
    "missing",
    "n_replicas",
    "pool",
    "weakest_status",
    "without",
]
