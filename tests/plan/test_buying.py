"""The GPUs to order: against the exact model at the answer and at one node less."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ettr import Scenario, budget, plan, spares
from refusals import refusal

POOLED = {"spares": {"n_nodes": 0}, "repair": {"manual_h": 24}}
"""As long as with the assumed repair, whose mean is a day."""


def trains_like(scenario: Scenario, n_gpus: int, n_spares: int) -> float:
    """Return n ETTR(n) (1 - B), with Erlang's formula for the nodes that Little's law says are in repair."""
    at = scenario.override({"cluster.n_gpus": n_gpus})
    hours = budget.exact(at.override({"checkpoint.interval_min": budget.best_interval_min(at)}))
    out = at.mode_weights @ [*(mode.n_out_nodes for mode in at.failures.modes), 1]
    in_repair = float(hours.n_failures / hours.total_h * out * 24)
    return float(n_gpus * hours.ettr * (1 - spares.waiting_share(n_spares, in_repair)))


@pytest.mark.parametrize("changes", [{}, POOLED])
@pytest.mark.parametrize("wanted", [1000, 20_000, 50_000])
def test_one_node_less_is_not_enough(llama3, wanted, changes):
    answer = plan.order(llama3.override(changes), wanted)
    assert trains_like(llama3, answer.n_gpus, answer.n_spares) == pytest.approx(answer.effective_gpus, rel=1e-9)
    assert answer.effective_gpus >= wanted > trains_like(llama3, answer.n_gpus - 8, answer.n_spares)
    assert bool(answer.repair_assumed) == (not changes)


def test_the_spares_are_the_cheapest_pool_and_contain_the_nodes_in_repair(llama3):
    answer = plan.order(llama3, 20_000)
    pool = spares.cheapest_pool(answer.in_repair, answer.n_gpus // 8)
    assert answer.n_spares == pool.n_spares > answer.in_repair
    assert answer.n_ordered == answer.n_gpus + 8 * answer.n_spares
    assert answer.usd_per_month == pytest.approx(answer.n_ordered * 2 * 730.5)
    assert json.loads(json.dumps(answer.to_dict(), allow_nan=False))["n_ordered"] == answer.n_ordered


def test_a_job_that_never_fails_needs_no_spares():
    run = Scenario.of(
        {"cluster": {"n_gpus": 8}, "failures": {"rate_per_1000_node_days": 0}, "checkpoint": {"stall_s": 0}}
    )
    answer = plan.order(run, 1001)
    assert (answer.n_gpus, answer.n_spares, answer.n_ordered) == (1008, 0, 1008)


def test_more_than_any_size_reaches_is_refused_with_the_most(llama3):
    sizes = np.arange(8, 400_000, 800)
    trains = sizes * plan.ettr_at_best(llama3, {"cluster.n_gpus": sizes})
    message = refusal(lambda wanted: plan.order(llama3, wanted), 80_000)
    most, at = (float(message.split(words)[1].split()[0].strip(",").replace(",", "")) for words in ("<= ", "a job of "))
    assert message.startswith("effective_gpus must be <= ") and message.endswith("fewer failures")
    assert most == pytest.approx(trains.max(), rel=1e-3) and at == pytest.approx(sizes[trains.argmax()], rel=0.02)
    assert plan.order(llama3, most - 1).n_gpus <= at


def test_a_rate_that_was_observed_anywhere_holds_at_the_size_of_the_order():
    run = Scenario.of({"cluster": {"n_gpus": 8000}, "failures": {"node_mttf_h": 20_000}})
    answer = plan.order(run, 8000, observed_anywhere=True)
    assert answer.n_gpus > 8000
    sized = Scenario.of({"cluster": {"n_gpus": answer.n_gpus}, "failures": {"node_mttf_h": 20_000}})
    assert plan.make(sized).budget.ettr == pytest.approx(answer.ettr)


@pytest.mark.parametrize("wanted", [0, -5, float("nan")])
def test_no_gpus_are_refused(llama3, wanted):
    assert refusal(lambda n: plan.order(llama3, n), wanted).startswith("effective_gpus must be > 0 GPUs")


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("llama3-405b-tokens", {}, "job.productive_h"),
        ("llama3-405b", {**POOLED, "elastic": {"n_replicas": 128, "n_least": 100}}, "elastic"),
    ],
)
def test_jobs_with_other_rules_are_refused(name, changes, words):
    run = Scenario.load(name).override(changes) if changes else Scenario.load(name)
    assert words in refusal(lambda n: plan.order(run, n), 1000)
