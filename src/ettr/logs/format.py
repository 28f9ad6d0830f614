"""What a reader is given, what it gives back, and what one format is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from ettr.files.ledger import Ledger
    from ettr.files.opening import Source
    from ettr.logs.raw_failures import Events


@dataclass(frozen=True)
class Options:
    """What only the user can know.

    Attributes
    ----------
    n_nodes : int or None
        Nodes that were watched.
    window : tuple of Timestamp or None
        The observation, UTC.
    zone : tzinfo or None
        Zone of stamps that carry none.
    year : int or None
        Year of the first stamp, where stamps carry none.
    time_unit : str or None
        Unit of times that are plain numbers: ``s``, ``ms``, ``us``, ``ns``, ``min``, ``h`` or ``d``.
    columns : mapping of str to str
        Our column to the file's, e.g. ``{"start": "opened_at"}``.
    planned : Pattern or None
        Causes that match are planned work.
    """

    n_nodes: int | None = None
    window: tuple[pd.Timestamp, pd.Timestamp] | None = None
    zone: tzinfo | None = None
    year: int | None = None
    time_unit: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    planned: re.Pattern[str] | None = None


@dataclass(frozen=True)
class Exposure:
    """What a format itself knows of nodes and time; None where it cannot.

    Attributes
    ----------
    n_nodes : int or None
        Nodes watched.
    window : tuple of int or None
        Observation, microseconds since 1970 UTC.
    node_days : float or None
        Exposure, where it is not nodes times window. [node-days]
    """

    n_nodes: int | None = None
    window: tuple[int, int] | None = None
    node_days: float | None = None


@dataclass(frozen=True)
class Format:
    """One format of failure logs.

    Attributes
    ----------
    name : str
        As in ``--format``.
    title : str
        What it is, in a few words.
    sniff : callable
        From the first lines of a file, whether it is this one.
    read : callable
        Fills ``Events`` from the file and returns what is known of the exposure. It accounts in the ledger for every
        record that becomes no event, and raises InputError only where nothing can be read at all.
    """

    name: str
    title: str
    sniff: Callable[[list[str]], bool]
    read: Callable[[Source, Options, Events, Ledger], Exposure]
