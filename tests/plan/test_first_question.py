"""The first question of a user, answered on one screen, and by a simulation that was written for this test alone."""

from __future__ import annotations

import random

import pytest
from rich.console import Console

from ettr import Scenario, mitigation, plan
from ettr.cli import terminal
from ettr.plan.report import plan_report

STORY = {
    "cluster": {"n_gpus": 4096},
    "failures": {"job_mttf_h": 9},
    "checkpoint": {"stall_s": 90},
    "recovery": {"restart_min": 12},
    "cost": {"usd_per_gpu_h": 2.5},
}


@pytest.fixture
def render(monkeypatch, capsys):
    """Lines of a report in a terminal of so many columns."""

    def lines(report, width):
        console = Console(width=width, force_terminal=True, color_system=None, highlight=False)
        monkeypatch.setattr(terminal, "_console", lambda: console)
        terminal.render(report)
        return capsys.readouterr().out.splitlines()

    return lines


@pytest.fixture(scope="module")
def answer():
    return plan.make(Scenario.of(STORY))


def lived(interval_h: float, n_segments: int, seed: int) -> dict[str, float]:
    """Hours of each part, event by event: 9 h of wall clock between failures, of which detection is not exposed."""
    draw = random.Random(seed)
    stall_h, detection_h, restart_h = 90 / 3600, 5 / 60, 12 / 60
    mttf_h = 9 - detection_h
    hours = dict.fromkeys(("productive", "checkpoint", "rework", "detection", "restart"), 0.0)
    to_failure = draw.expovariate(1 / mttf_h)
    for _ in range(n_segments):
        restarting = False
        while True:
            part_h = restart_h if restarting else interval_h + stall_h
            if to_failure > part_h:
                to_failure -= part_h
                if not restarting:
                    hours["productive"] += interval_h
                    hours["checkpoint"] += stall_h
                    break
                hours["restart"] += part_h
                restarting = False
            else:
                hours["restart" if restarting else "rework"] += to_failure
                hours["detection"] += detection_h
                to_failure, restarting = draw.expovariate(1 / mttf_h), True
    return hours


def test_an_independent_simulation_gives_the_same_hours(answer):
    """Twenty simulations, so that the tolerance, four standard errors of their mean, is theirs."""
    runs = [lived(answer.band.interval_min / 60, 10_000, seed) for seed in range(20)]
    for part in ("productive", "checkpoint", "rework", "detection", "restart"):
        shares = [run[part] / sum(run.values()) for run in runs]
        mean = sum(shares) / len(shares)
        error = (sum((share - mean) ** 2 for share in shares) / (len(shares) * (len(shares) - 1))) ** 0.5
        ours = float(getattr(answer.budget, f"{part}_h")) / float(answer.budget.total_h)
        assert abs(ours - mean) < 4 * error, part
        assert error < 1e-3


def test_the_dollars_are_those_of_the_lost_hours(answer):
    usd_per_month = 4096 * 2.5 * 8766 / 12
    losses = answer.losses
    assert losses.bill_usd_per_month == pytest.approx(usd_per_month)
    assert losses.total.usd_per_month == pytest.approx(usd_per_month * (1 - float(answer.budget.ettr)))
    assert sum(part.usd_per_month for part in losses.parts) == pytest.approx(losses.total.usd_per_month)
    assert losses.total.usd_per_run is None  # of a job without an end


def test_the_recommended_set_saves_what_the_better_run_saves(answer):
    """By hand: the same training takes less wall clock, whose GPUs are not paid for."""
    best_set = answer.recommendation
    assert best_set.steps and "async-checkpoint" not in best_set.ids, "another step makes it redundant"
    better = plan.make(mitigation.apply(answer.scenario, best_set.ids), simulate=False)
    saved = 1 - float(answer.budget.ettr) / float(better.budget.ettr)
    assert best_set.ettr_with_all == pytest.approx(float(better.budget.ettr), rel=1e-6)
    assert best_set.saved_usd == pytest.approx(saved * 4096 * 2.5 * 730.5, rel=1e-5)
    assert best_set.net_usd == pytest.approx(12 * best_set.saved_usd - best_set.price_usd)


def test_the_answer_fits_one_screen(answer, render):
    """Of 100 columns and 40 lines."""
    lines = render(plan_report(answer), 100)
    assert len(lines) <= 40 and max(map(len, lines)) <= 100
    text = " ".join(lines)
    assert all(number in text for number in ("9 h", "39 min", "90%", "5 min")) and "recovery." not in text
