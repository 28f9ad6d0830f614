"""Racks with spare nodes inside: which failures take a rack out, by hand and by an independent Monte Carlo."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from ettr import Scenario, budget, simulate, spares
from refusals import refusal

RUN = {
    "cluster": {"n_gpus": 2496, "gpus_per_node": 4},
    "failures": {"gpu_mttf_h": 1732 * 24, "rate_clock": "exposed"},
    "checkpoint": {"interval_min": 30, "stall_s": 10},
    "recovery": {"detection_min": 0, "queue_min": 0, "restart_min": 5},
    "job": {"productive_h": 4000},
    "rack": {"n_gpus": 72, "n_used": 64},
    "spares": {"n_nodes": 400},
    "repair": {"manual_h": 24},
}
POOL = {"spares": RUN["spares"], "repair": RUN["repair"]}
MODES = [
    {"name": "software", "share": 0.2, "n_out_nodes": 0},
    {"name": "switch", "share": 0.1, "n_out_nodes": 3, "repair_h": 5},
    {"name": "hall", "share": 0.05, "n_out_nodes": 40},
    {"name": "GPU", "share": 0.4, "repair_h": 48},
]


@pytest.fixture(scope="module")
def racks() -> Scenario:
    return Scenario.of(RUN)


def by_nodes_out(run: Scenario) -> dict[int, float]:
    """Return the share of failures by the nodes that leave the job."""
    shares: dict[int, float] = {}
    for mode, weight in zip(run.by_rack.failures.modes, run.by_rack.mode_weights[:-1], strict=True):
        shares[mode.n_out_nodes] = shares.get(mode.n_out_nodes, 0.0) + weight
    return shares


# --------------------------------------------------------------------------- by hand


def test_a_rack_fails_every_27_days_and_two_spares_block_rarely(racks):
    rack_mtbf_h = racks.job_mttf_h * racks.n_nodes / racks.rack_nodes
    assert rack_mtbf_h / 24 == pytest.approx(1732 / 64)  # 27.06 days
    assert (racks.rack_nodes, racks.rack_spares) == (16, 2)
    a = 24 / rack_mtbf_h
    assert by_nodes_out(racks)[16] == pytest.approx(a**2 / 2 / (1 + a + a**2 / 2))


def test_drained_racks_come_on_top_and_do_not_use_up_spares(racks):
    run = racks.override({"rack.drain_share": 0.25})
    a = 0.75 * 24 / (1732 / 64 * 24)
    blocked = a**2 / 2 / (1 + a + a**2 / 2)
    assert by_nodes_out(run) == pytest.approx({16: 0.25 + 0.75 * blocked, 0: 0.75 * (1 - blocked)})


def test_without_spares_inside_every_failure_takes_its_rack_out(racks):
    run = racks.override({"rack.n_used": None})
    assert by_nodes_out(run) == pytest.approx({0: 0, 18: 1})
    assert spares.demand(run).most_at_once == 18


def test_failures_of_several_nodes_take_the_rack_out_and_those_of_none_or_more_stay(racks):
    run = racks.override({"failures.modes": MODES, "failures.lemons": {"share": 0.1, "factor": 5, "left": 0.5}})
    a = run.node_rate_per_h * 16 * 1.2 / 1.4 * (0.4 * 48 + 0.25 * 24)  # lemons: 1 + 0.1 x 0.5 x 4 of 1 + 0.1 x 4
    blocked = a**2 / 2 / (1 + a + a**2 / 2)
    weights = dict(zip(run.mode_names, run.mode_weights, strict=True))
    single = weights["GPU"] + weights["other"]
    assert by_nodes_out(run) == pytest.approx(
        {0: weights["software"] + single * (1 - blocked), 16: weights["switch"] + single * blocked, 40: weights["hall"]}
    )
    assert run.by_rack.job_rate_per_h == pytest.approx(run.job_rate_per_h)
    one = {mode.name: mode for mode in run.by_rack.failures.modes}["switch"]
    assert one.repaired_together and one.repair_h == 5
    own = run.override({"rack.repair_h": 7}).by_rack.failures.modes
    assert {mode.repair_h for mode in own if mode.n_out_nodes == 16} == {7}


def test_nodes_in_repair_are_those_of_racks(racks):
    run = racks.override({"rack.drain_share": 0.25, "rack.repair_h": 10})
    assert run.nodes_in_repair == pytest.approx(run.job_rate_per_h * by_nodes_out(run)[16] * 16 * 10)
    expected = budget.exact(budget.simplified(run).scenario)
    assert spares.demand(run).in_repair == pytest.approx(
        run.nodes_in_repair * expected.n_failures / expected.total_h / run.job_rate_per_h
    )


def test_the_cheapest_pool_is_of_whole_racks(racks):
    run = racks.override({"rack.drain_share": 0.25})
    pool, needed = spares.cheapest_pool_for(run), spares.demand(run)
    assert pool.n_spares == 16 * spares.cheapest_pool(needed.in_repair / 16, 39).n_spares > 0
    assert spares.cheapest_pool_for(run.override({"repair.n_crew": 2})) is None


# --------------------------------------------------------------------------- without effect


@pytest.mark.parametrize(
    ("base", "rack"),
    [
        (POOL, {"n_gpus": 4}),  # a node
        (POOL, {"n_gpus": 4, "n_used": 4, "drain_share": 0.5}),
        ({"spares": None, "repair": None}, {"n_gpus": 72, "n_used": 64, "drain_share": 0.5}),  # no node ever leaves
    ],
)
def test_a_rack_of_one_node_or_without_repair_changes_nothing(racks, base, rack):
    without = racks.override({"failures.modes": MODES, "job.productive_h": 500, **base, "rack": None})
    run = without.override({"rack": rack})
    assert run.nodes_in_repair == without.nodes_in_repair
    first, second = simulate(run, 20, seed=1), simulate(without, 20, seed=1)
    assert first.runs.equals(second.runs)
    if run.repair:
        assert spares.demand(run).in_repair == spares.demand(without).in_repair


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rack.n_used": 80}, "rack.n_used must be <= 72, the n_gpus of the rack, got 80"),
        ({"rack.n_used": 62}, "rack.n_used must be a multiple of 4, the cluster.gpus_per_node, got 62"),
        ({"rack.n_gpus": 74}, "rack.n_gpus must be a multiple of 4, the cluster.gpus_per_node, got 74"),
    ],
)
def test_racks_that_cannot_be_are_refused_with_both_numbers(racks, values, message):
    assert refusal(racks.override, values).startswith(message)


@pytest.mark.parametrize(
    "values",
    [
        {"failures.lifetime": {"shape": 0.7}},
        {"failures.lemons": {"share": 0.1, "factor": 5, "cured_manual": 0.5}},
        {"repair.retire_after": 3, "repair.replacement_h": 100},
    ],
)
def test_the_simulator_refuses_what_depends_on_single_nodes(racks, values):
    assert "rack together with" in refusal(simulate, racks.override(values), 2)


# --------------------------------------------------------------------------- a second route: event by event


def racks_event_by_event(
    n_racks: int, n_spares: int, per_h: float, drain: float, repair_h: float, rack_h: float, end_h: float, swaps: bool
) -> tuple[float, float]:
    """Return the share of failures that take a rack out, and the mean number of racks in repair.

    Each rack in use fails as a Poisson process; a failed node is repaired for a uniform time. A rack out goes to
    repair and, with ``swaps``, is replaced by one with all its spares; otherwise by one with as many as it had.
    """
    rng = np.random.default_rng(7)
    broken = [[] for _ in range(n_racks)]  # times at which failed nodes inside each rack are back
    failures = [(rng.exponential(1 / per_h), rack) for rack in range(n_racks)]
    heapq.heapify(failures)
    n_failures = n_out = 0
    in_repair_h = 0.0
    while failures[0][0] < end_h:
        now, rack = heapq.heappop(failures)
        heapq.heappush(failures, (now + rng.exponential(1 / per_h), rack))
        broken[rack] = [back for back in broken[rack] if back > now]
        n_failures += 1
        if rng.random() < drain or len(broken[rack]) == n_spares:
            n_out += 1
            in_repair_h += rack_h * rng.uniform(0.5, 1.5)
            if swaps:
                broken[rack] = []
        else:
            broken[rack].append(now + repair_h * rng.uniform(0, 2))
    return n_out / n_failures, in_repair_h / end_h


@pytest.mark.parametrize("drain", [0.0, 0.2])
@pytest.mark.parametrize("repair_h", [96.0, 240.0])
def test_an_independent_monte_carlo_of_racks_agrees(racks, drain, repair_h):
    run = racks.override({"rack.drain_share": drain, "rack.repair_h": 36, "repair.manual_h": repair_h})
    share, per_h, end_h = by_nodes_out(run)[16], run.job_rate_per_h / 39, 1e6
    found, in_repair = racks_event_by_event(39, 2, per_h, drain, repair_h, 36, end_h, swaps=False)
    n_failures = run.job_rate_per_h * end_h
    sigma = np.sqrt(share * (1 - share) / n_failures)
    # blocked failures of a rack come in clusters, which last for one repair
    assert found == pytest.approx(share, abs=4 * sigma)
    assert in_repair == pytest.approx(run.nodes_in_repair / 16, rel=4 * sigma / share)
    fresh, _ = racks_event_by_event(39, 2, per_h, drain, repair_h, 36, end_h, swaps=True)
    assert share * (1 - run.node_rate_per_h * 16 * repair_h) - 4 * sigma < fresh < share + 4 * sigma


def test_the_simulator_agrees_with_the_analytical_demand(racks):
    """The mean wait of a pool of one rack is that of Erlang's formula for racks."""
    run = racks.override({"rack.drain_share": 0.1, "rack.repair_h": 48, "spares.n_nodes": 16, "repair.cv": 1})
    needed = spares.demand(run)
    expected = float(spares.waiting_share(1, needed.in_repair / 16))
    simulated = simulate(run, 300, seed=3)
    waits = simulated.runs["waiting_h"].to_numpy() / simulated.total_h.mean()
    error = waits.std(ddof=1) / np.sqrt(len(waits))
    # the first wait comes later than in the long run, because the pool begins full
    assert waits.mean() == pytest.approx(expected, abs=4 * error + 0.02 * expected)
