"""What each field alone would have to be for a target, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ettr.core.report import Headline, Note, Report, Table
from ettr.core.sentences import limit
from ettr.plan.details import between

if TYPE_CHECKING:
    from ettr.plan.needs import Requirement

_NOTHING_MIN = 1e-6
"""An interval as short as may be."""
_SHORT_UNITS = {"failures per 1,000 node-days": "/1,000 node-days", "1/day": "/day"}


def needs_report(needs: list[Requirement]) -> Report:
    """What each field alone would have to be for a target, and what stands in the way of those that fail."""
    rows = [
        (
            need.field,
            needed(need),
            limit(need.given),
            _SHORT_UNITS.get(need.unit, need.unit),
            f"{need.best_ettr:.1%}",
        )
        for need in needs
    ]
    target = f"For an ETTR of {needs[0].target_ettr:.6g}, each field alone, at the best interval"
    failing = [need for need in needs if need.value is None and need.blocking]
    return [
        Headline(target, apart=True),
        Table(("field", "needed", "own", "unit", "ETTR at its ideal"), rows),
        *map(Note, in_the_way(failing)),
    ]


def in_the_way(needs: list[Requirement]) -> Iterator[str]:
    """Fields that cannot do it, by the field that would have to be ideal as well."""
    groups: dict[tuple[str, bool], list[tuple[Requirement, float]]] = {}
    for need in needs:
        nearest = need.blocker or need.blocking[0]
        groups.setdefault((nearest.field, need.blocker is not None), []).append((need, nearest.ettr))
    for (other, enough), beside in groups.items():
        failed, ettrs = zip(*beside, strict=True)
        ends = min(ettrs), max(ettrs)
        leaves = between(*ends, "")
        names = ", ".join(need.field for need in failed)
        if len(groups) == 1 and len(failed) > 1:
            names = "all that have none"
        if enough and other == "failures.rate_per_1000_node_days":
            yield f"Beside {names} only fewer failures would be enough: without any, {leaves}."
        elif enough:
            yield f"{other} stands in the way of {names}: ideal together they would leave {leaves}."
        else:
            yield f"No second field is enough for {names}: {other} comes closest and would leave {leaves}."


def needed(need: Requirement) -> str:
    """The values that reach the target."""
    if need.value is None:
        return "none"
    if need.low is not None and need.high is not None:
        at_most = limit(need.high, "at most")
        return f"<= {at_most}" if need.low < _NOTHING_MIN else f"{limit(need.low, 'at least')} to {at_most}"
    if math.isinf(need.value):
        return "any"
    return f"{'<=' if need.sense == 'at most' else '>='} {limit(need.value, need.sense)}"
