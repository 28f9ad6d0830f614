"""The common jobs as functions of the package itself: read a log, fit it, plan a run, recommend mitigations."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from ettr.core.errors import InputError
from ettr.core.results import FailureLog
from ettr.failures import Fit, fit
from ettr.logs import read as read_log
from ettr.mitigation import Catalogue
from ettr.plan import make as make_plan
from ettr.recommendation import Recommendation
from ettr.scenario import Scenario

__all__ = ["fit_log", "make_plan", "read_log", "recommend"]


def fit_log(log: FailureLog | str | Path, n_nodes: int | None = None, *, split: str | None = None) -> Fit:
    """Fit failure rates, times between failures, trend, nodes and repairs of a failure log.

    Parameters
    ----------
    log : FailureLog, or path of a file
        For a file that needs more options than the number of nodes, read it with :func:`ettr.logs.read` first.
    n_nodes : int, optional
        Nodes that were watched, including those that never failed. Only together with a path, and needed unless the
        format of the file names all nodes.
    split : str, optional
        Column of the log to compare cohorts by.

    Returns
    -------
    Fit
        As from :func:`ettr.failures.fit`, which also takes a confidence level and a seed.

    Raises
    ------
    InputError
        A file that cannot be read, an unknown column, or ``n_nodes`` together with a log.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "mine.csv"
    >>> lines = ["start,node", "2024-05-01 00:00,n7", "2024-05-02 11:00,n9", "2024-05-11 00:00,n7"]
    >>> _ = path.write_text("\\n".join(lines))
    >>> answer = fit_log(path, n_nodes=15)
    >>> answer.log.node_days, answer.rate.per_1000_node_days
    (150.0, 20.0)
    """
    if isinstance(log, FailureLog):
        if n_nodes is not None:
            raise InputError("n_nodes goes with the path of a log; a FailureLog has its number of nodes (log.n_nodes)")
        return fit(log, split=split)
    return fit(read_log(log, n_nodes=n_nodes), split=split)


def recommend(
    scenario: Scenario | str | Path,
    budget_usd: float = math.inf,
    of: Catalogue | None = None,
    only: Iterable[str] | None = None,
) -> Recommendation | None:
    """Return the set of mitigations with the largest net saving, as ``ettr plan`` recommends it.

    Parameters
    ----------
    scenario : Scenario, or its name or file
        The run. Mechanisms that the analytical model has no term for are left out (:func:`ettr.budget.simplified`).
    budget_usd, of, only
        As for :func:`ettr.recommendation.recommend`: the most to spend [USD], the catalogue, and ids to choose from.

    Returns
    -------
    Recommendation or None
        None for a run without failures, or one that practically never ends.

    Raises
    ------
    NotModelled, OutsideValidity
        The analytical model does not cover the run.
    InputError
        A budget below 0, or an unknown mitigation.

    Examples
    --------
    >>> run = Scenario.of({"cluster": {"n_gpus": 4096}, "failures": {"job_mttf_h": 9}, "checkpoint": {"stall_s": 90}})
    >>> recommend(run, only=["in-process-restart", "warm-standby"]).ids
    ('in-process-restart',)
    """
    return make_plan(scenario, simulate=False).recommend(budget_usd, of, only)
