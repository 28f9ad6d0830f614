"""Figures of the options, from ``data/smoothing_options.csv``."""

from __future__ import annotations

from ettr import evidence
from ettr.core.errors import UnknownName


def option_figure(option: str, key: str) -> float:
    """One figure of an option, in the unit that the table gives.

    Raises
    ------
    UnknownName
        An option or figure that the table does not have.

    Examples
    --------
    >>> option_figure("rack_storage", "energy_j")
    65.0
    """
    rows = evidence.table("smoothing_options")
    own = rows[rows["option"] == option]
    if own.empty:
        raise UnknownName("option", option, rows["option"].unique())
    if key not in set(own["key"]):
        raise UnknownName("figure", key, own["key"], option)
    return float(own.set_index("key").loc[key, "value"])
