"""Formats of failure logs and training logs, in the order in which they are tried."""

from __future__ import annotations

import pandas as pd

from ettr.files.formats import Formats
from ettr.logs.readers import dcgm, journal, json_events, kubernetes, redfish, slurm, slurm_json, table, torchrun, xid
from ettr.logs.training.runs import FORMATS as TRAINING_FORMATS

FORMATS = Formats(
    "log",
    'A table needs a header, or `header=["start", "node"]`; its columns can be named: '
    '`format="csv"` `columns={"start": "opened_at", "node": "host"}`; '
    f"training logs: {', '.join(TRAINING_FORMATS)}",
    *(slurm.FORMAT, slurm_json.FORMAT, journal.FORMAT, kubernetes.FORMAT, redfish.FORMAT, dcgm.FORMAT, xid.FORMAT),
    *(torchrun.FORMAT, json_events.FORMAT, table.FORMAT),
)
ALL_FORMATS = Formats("log", "", *FORMATS.values(), *TRAINING_FORMATS.values())
"""Formats of failure logs, then those of training logs."""


def formats() -> pd.DataFrame:
    """Return the formats of failure logs (for ``read``) and of training logs (for ``read_training``).

    Returns
    -------
    DataFrame
        One row per format, in the order in which they are tried: ``name`` (for ``format=``), ``title``, ``command``
        that produces such a file, and ``sample`` (two lines).

    Examples
    --------
    >>> "csv" in formats()["name"].tolist()
    True
    """
    return ALL_FORMATS.table()
