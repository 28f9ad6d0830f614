"""Sweeps: run a notebook, or a function of the package, at every point of a grid, on one machine or many.

Points run independently on the workers of a Dask cluster. Each result is saved as soon as it is finished, so that an
interrupted sweep can be resumed, and the recorded values of all points become one table.
"""

from ettr.core import extras

with extras.needed("sweep"):
    from ettr.sweep import report
    from ettr.sweep.grid import Grid, Point, load
    from ettr.sweep.jobs import CallJob, NotebookJob, SweepJob
    from ettr.sweep.runs import OnProgress, Preview, Progress, call, limit, preview, run, run_job

__all__ = [
    "CallJob",
    "Grid",
    "NotebookJob",
    "OnProgress",
    "Point",
    "Preview",
    "Progress",
    "SweepJob",
    "call",
    "limit",
    "load",
    "preview",
    "report",
    "run",
    "run_job",
]
