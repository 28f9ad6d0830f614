"""What a reader gives back, and what one format is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ettr.files.ledger import Ledger
    from ettr.files.opening import Source
    from ettr.logs.options import Options
    from ettr.logs.raw_failures import Events


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
