"""Mitigations of failures: the catalogue with its evidence, and scenarios with mitigations applied."""

from ettr.mitigation.applying import (
    WithAssumptions,
    apply,
    changed,
    missing,
    n_replicas,
    pool,
    with_assumptions,
    without,
)
from ettr.mitigation.catalogue import NO_EVIDENCE, NOT_MODELLED, Catalogue, catalogue
from ettr.mitigation.entries import (
    ASSUMED,
    PARTLY,
    PUBLISHED,
    Assumption,
    Change,
    Mitigation,
    Price,
    Published,
    effect_basis,
    weakest_status,
)

__all__ = [
    "ASSUMED",
    "NOT_MODELLED",
    "NO_EVIDENCE",
    "PARTLY",
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
    "effect_basis",
    "missing",
    "n_replicas",
    "pool",
    "weakest_status",
    "with_assumptions",
    "without",
]
