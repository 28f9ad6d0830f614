"""Failures of a job in racks: served by a spare node of the rack, or taking the whole rack out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ettr.scenario.failures import Mode

if TYPE_CHECKING:
    from ettr.scenario.basics import Section
    from ettr.scenario.run_fields import RunFields

    S = TypeVar("S", bound=Section)
    Run = TypeVar("Run", bound=RunFields)


def split_by_rack(run: Run) -> Run:
    r"""Return a run without ``rack`` whose failure modes say which failures take a rack out.

    Parameters
    ----------
    run : RunFields
        The run; returned as it is without ``rack`` or ``repair``, and where a rack is a single node.

    Returns
    -------
    RunFields
        The same failures in more modes. Each mode with ``n_out_nodes: 1``, and the remaining failures too, become two:
        failures that a spare node of the rack replaces (``n_out_nodes: 0``), and failures after which all nodes of the
        rack leave and return together. Names are those of the original mode.

    Notes
    -----
    The share of single-node failures that take the rack out is :math:`d + (1 - d)\,B(s, a)` with d the
    ``drain_share``, s the spare nodes of the rack, B Erlang's loss formula (:func:`ettr.spares.erlang_b`), and a the
    mean number of nodes in repair inside the rack: the failures per hour that do not drain it, times their mean repair
    time. The formula holds for any distribution of repair times if spares do not fail, as many nodes are repaired at a
    time as need it, and the replacing rack is in the same state. In fact it comes with all its spares, so the share is
    slightly too large, by a fraction of at most about a.

    A mode of several nodes, up to those of a rack, is a failure of the rack and takes it out; a mode of more nodes, or
    of none, stays. Lemons are a factor on the rate, because it does not matter which node of a rack fails.

    Examples
    --------
    >>> from ettr import Scenario
    >>> split = split_by_rack(Scenario.load("gb200-nvl72"))
    >>> [mode.n_out_nodes for mode in split.failures.modes], split.mode_weights.round(2).tolist()
    ([0, 16], [0.9, 0.1, 0.0])
    """
    if run.rack is None or run.repair is None or run.rack_nodes + run.rack_spares == 1:
        return run
    failures, out = run.failures, _share_out(run)
    lemons = failures.lemons.rate_factor if failures.lemons else 1.0
    rest = max(0.0, 1 - sum(failures.shares))
    modes: list[Mode] = []
    for mode, share in zip((*failures.modes, Mode(name="other", share=rest)), (*failures.shares, rest), strict=True):
        factor = mode.factor * (lemons if mode.of_nodes else 1.0)
        of_mode = mode.model_copy(update={"n_events": None, "share": share, "factor": factor})
        modes += _parts(run, of_mode, out)
    return _changed(run, rack=None, failures=_changed(failures, modes=tuple(modes), lemons=None))


def _share_out(run: RunFields) -> float:
    """Return the share of single-node failures that take the rack out, for a run with ``rack`` and ``repair``."""
    from ettr.scenario.pools import erlang_b  # loads the statistics of scipy

    rack, repair = run.rack, run.repair
    assert rack is not None
    assert repair is not None
    modes = run.failures.modes
    repair_h = [repair.mean_h if mode.repair_h is None else mode.repair_h for mode in modes]
    single_h = [hours * (mode.n_out_nodes == 1) for mode, hours in zip(modes, repair_h, strict=True)]
    of_node = run.node_rate_per_h * float(run.mode_exposure() @ [*single_h, repair.mean_h]) / run.n_nodes
    in_repair = (1 - rack.drain_share) * of_node * run.rack_nodes
    return rack.drain_share + (1 - rack.drain_share) * float(erlang_b(run.rack_spares, in_repair))


def _parts(run: RunFields, mode: Mode, out: float) -> list[Mode]:
    """Return the failures of a mode that stay in their rack, and those that take it out."""
    assert run.rack is not None
    assert mode.share is not None
    if not 1 <= mode.n_out_nodes <= run.rack_nodes:
        return [mode]
    out = out if mode.n_out_nodes == 1 else 1.0
    repair_h = mode.repair_h if run.rack.repair_h is None else run.rack.repair_h
    of_rack = {"n_out_nodes": run.rack_nodes, "repaired_together": True, "repair_h": repair_h}
    return [
        mode.model_copy(update={"share": mode.share * (1 - out), "n_out_nodes": 0}),
        mode.model_copy(update={"share": mode.share * out, **of_rack}),
    ]


def _changed(section: S, **values: Any) -> S:
    """Return a section with other values, unchecked: modes of the same name are valid here only."""
    fields = {name: getattr(section, name) for name in type(section).model_fields}
    return type(section).model_construct(**{**fields, **values})
