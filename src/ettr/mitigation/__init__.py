"""What can be done about failures: a catalogue with evidence, and scenarios with what stands in it."""

from typing import TYPE_CHECKING

from ettr.core import moved
from ettr.mitigation.applying import (
    WithAssumptions,
    apply,
    changed,
    effect_status,
    missing,
    n_replicas,
    pool,
    with_assumptions,
    without,
)
from ettr.mitigation.catalogue import NO_EVIDENCE, NOT_MODELLED, PUBLISHED, Catalogue, catalogue
from ettr.mitigation.entries import Assumption, Change, Mitigation, Price, Published, weakest_status

__all__ = [
    "NOT_MODELLED",
    "NO_EVIDENCE",
    "PUBLISHED",
    "Assumption",
    "Catalogue",
    "Change",
    "Mitigation",
    "Price",
    "Published",
    "WithAssumptions",
    "apply",
    "catalogue",
    "changed",
    "effect_status",
    "missing",
    "n_replicas",
    "pool",
    "weakest_status",
    "with_assumptions",
    "without",
]

if not TYPE_CHECKING:
    __getattr__ = moved.names_of(__name__)
