"""The formats of failure logs and of training logs, in the order in which they are tried."""

from __future__ import annotations

import pandas as pd

from ettr.files.formats import Formats
from ettr.logs.readers import dcgm, journal, json_events, kubernetes, redfish, slurm, slurm_json, table, torchrun, xid
from ettr.logs.training.runs import FORMATS as OF_TRAINING

FORMATS = Formats(
    "log",
    "A table needs a header, and columns can be named: --format csv --map start=opened_at --map node=host",
    *(slurm.FORMAT, slurm_json.FORMAT, journal.FORMAT, kubernetes.FORMAT, redfish.FORMAT, dcgm.FORMAT, xid.FORMAT),
    *(torchrun.FORMAT, json_events.FORMAT, table.FORMAT),
)
KNOWN = Formats("log", "", *FORMATS.values(), *OF_TRAINING.values())
"""Those of failure logs, and of training logs after them."""


def formats() -> pd.DataFrame:
    """Formats of failure logs that ``read`` reads, and of training logs that ``read_training`` reads.

    Returns
    -------
    DataFrame
        ``name`` (as in ``format=``), ``title``, ``command`` (what produces such a file) and ``sample`` (two lines of
        one), in the order in which they are tried.

    Examples
    --------
    >>> "csv" in formats()["name"].tolist()
    True
    """
    return KNOWN.table()
