"""Sweeps: a notebook, or a function of the package, at every point of a grid, on one machine or many.

Points run on the workers of a Dask cluster, each apart from the others. Every finished point is kept at once, so a
sweep that was stopped goes on where it was, and what the points recorded becomes one table.
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
