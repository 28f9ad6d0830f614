"""The closed forms against worked values and against each other."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from grids import DEAD, WRITE, slower
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agreement import same
from ettr import Scenario, budget, checkpoint
from ettr.core.errors import InputError, NotModelled, OutsideValidity
from ettr.core.results import PARTS
from ettr.core.validity import ValidityWarning
from written_scenarios import zero_or_up_to

RARE = "maintenance so rare that requests hardly ever wait for the same checkpoint"
TABLE = {"failures": {}, "dead": DEAD, "write": WRITE}


@pytest.mark.parametrize("name", TABLE)
def test_steady_state_is_the_printed_table(plain_run, name):
    """Each line of the table of the methods chapter, in its printed form."""
    scenario = plain_run.override(TABLE[name])
    form = budget.exact(scenario)
    lam, tau, w, r = scenario.job_rate_per_h, scenario.interval_h, scenario.stall_h, scenario.restart_h
    s, p = scenario.checkpoint.persist_slowdown, scenario.persist_h
    d = scenario.detection_h + scenario.queue_h
    length, a = tau + w + s * p, math.exp(lam * (1 - s) * p)
    segments = scenario.job.productive_h / tau
    n = (math.exp(lam * length) - 1) * math.exp(lam * r) * a
    kept = s * p * math.exp(-lam * length)
    assert form.productive_h == pytest.approx(segments * tau)
    assert form.checkpoint_h == pytest.approx(segments * w)
    assert form.slowdown_h == pytest.approx(segments * kept)
    assert form.rework_h == pytest.approx(segments * ((math.exp(lam * length) - 1) * a / lam - tau - w - kept))
    assert form.detection_h + form.queue_h == pytest.approx(segments * d * n)
    assert form.restart_h == pytest.approx(segments * (math.exp(lam * length) - 1) * a * (math.exp(lam * r) - 1) / lam)
    assert form.n_failures == pytest.approx(segments * n)
    assert form.total_h == pytest.approx(
        segments * (1 / lam + d) * math.exp(lam * r) * (math.exp(lam * length) - 1) * a
    )


def test_run_with_start_is_the_printed_formula(plain_run):
    scenario = plain_run.override({"job.include_start": True, "recovery.detection_min": 6})
    lam, r = scenario.job_rate_per_h, scenario.restart_h
    cost = 1 / lam + scenario.detection_h
    for work_h in (7.3, 7.0):
        n = math.ceil(work_h / scenario.interval_h) - 1
        rest = work_h - n * scenario.interval_h
        segment = cost * math.exp(lam * r) * math.expm1(lam * (scenario.interval_h + scenario.stall_h))
        expected = cost * math.expm1(lam * r) + n * segment + math.exp(lam * r) * cost * math.expm1(lam * rest)
        assert budget.exact(scenario.override({"job.productive_h": work_h})).total_h == pytest.approx(expected)


def test_maintenance_is_the_printed_formula(plain_run):
    changes = {
        "maintenance.per_day": 0.9,
        "maintenance.duration_min": 15,
        "recovery.detection_min": 4,
        **WRITE,
    }
    scenario = plain_run.override(changes)
    lam, r, mu = scenario.job_rate_per_h, scenario.restart_h, scenario.maintenance_rate_per_h
    cost = 1 / lam + scenario.detection_h
    a = math.exp(lam * (1 - scenario.checkpoint.persist_slowdown) * scenario.persist_h)
    stop = scenario.maintenance_h + math.expm1(lam * r) * cost + math.exp(lam * r) * cost * (a - 1)
    table = budget.exact(scenario.override({"maintenance.per_day": 0})).total_h
    assert budget.exact(scenario).total_h == pytest.approx(table / (1 - mu * stop))


def test_daly_runtime_is_the_steady_state(plain_run):
    run = plain_run.override({"recovery.detection_min": 6})
    daly = checkpoint.expected_runtime(
        run.job.productive_h, run.interval_h, run.stall_h, run.job_mttf_h, run.restart_h, run.detection_h
    )
    assert budget.exact(run).total_h == pytest.approx(daly, rel=1e-12)


times = zero_or_up_to(30) | zero_or_up_to(1e11)
runs = st.fixed_dictionaries(
    {
        "job.productive_h": st.floats(0.1, 500),
        # up to the largest count, where both the failure rate and its product with any time overflow an exponential
        "cluster.n_gpus": (st.integers(1, 20_000) | st.integers(1, 125_000_000_000)).map(lambda nodes: 8 * nodes),
        "checkpoint.interval_min": st.floats(1, 300),
        "checkpoint.stall_s": zero_or_up_to(600),
        "checkpoint.persist_s": zero_or_up_to(60),
        "checkpoint.persist_slowdown": zero_or_up_to(0.9),
        "recovery.detection_min": times,
        "recovery.queue_min": times,
        "recovery.restart_min": times,
        "job.include_start": st.booleans(),
    }
)


@settings(max_examples=80, deadline=None)
@given(changes=runs)
@example(changes={"cluster.n_gpus": 96_370_152, "job.productive_h": 1.0, "recovery.queue_min": 7e10})
def test_budget_adds_up_and_stays_in_range(changes):
    scenario = Scenario.load("rsc-2").override(changes)
    try:
        form = budget.exact(scenario)
    except OutsideValidity:
        return
    assert all(getattr(form, part) >= 0 for part in PARTS)
    assert math.isfinite(form.total_h) and math.isfinite(form.n_failures)
    assert 0 < form.ettr <= 1
    exposed = form.productive_h + form.checkpoint_h + form.slowdown_h + form.rework_h + form.restart_h
    # every exposed hour carries the same risk, so the failures are λ times their sum
    assert form.n_failures == pytest.approx(scenario.job_rate_per_h * exposed, rel=1e-9)
    in_frame = form.to_frame()
    assert in_frame["hours"].sum() == pytest.approx(form.total_h)
    assert in_frame["share"].sum() == pytest.approx(1)


@settings(max_examples=40, deadline=None)
@given(changes=runs, factor=st.floats(0.1, 10))
def test_scaling_every_time_leaves_the_ratios(changes, factor):
    scenario = Scenario.load("rsc-2").override(changes)
    try:
        first, second = budget.exact(scenario), budget.exact(slower(scenario, factor))
    except (OutsideValidity, InputError):
        return
    for part in PARTS:
        expected, scaled = getattr(first, part) * factor, getattr(second, part)
        assert scaled == pytest.approx(expected, rel=1e-7, abs=1e-9 * first.total_h * factor)


@settings(max_examples=50, deadline=None)
@given(exponent=st.floats(-3, 3.2), work=st.floats(0.1, 500), start=st.booleans())
def test_a_restart_of_any_length_is_answered_or_refused(exponent, work, start):
    """λr from a thousandth to beyond the largest exponent: no third way, and the restarts are what they should be."""
    run = Scenario.load("rsc-2").override({"job.productive_h": work, "job.include_start": start})
    run = run.override({"recovery.restart_min": 60 * 10**exponent * run.job_mttf_h})
    lam, r = run.job_rate_per_h, run.restart_h
    try:
        form = budget.exact(run)
    except OutsideValidity as error:
        refused = str(error)
        assert re.fullmatch(r"budget.exact holds only for .* productive for at least 1e-06 of their time", refused)
        assert lam * r > 8
        return
    # a restart begins after each failure and at the start, and lasts (1 - e^-λr)/λ on average, cut off or not
    begun = form.n_failures + (1 if start else 0)
    assert form.restart_h == pytest.approx(begun * -math.expm1(-lam * r) / lam, rel=1e-9)
    assert math.isfinite(form.total_h)


HUGE = {
    "a restart of 190,000 years": ("rsc-1", {"recovery.restart_min": 1e11}, "recovery.restart_min", [5.0, 1e11]),
    "a million GPUs": ("opt-175b", {"cluster.n_gpus": 1_000_000}, "cluster.n_gpus", [992, 1_000_000]),
    "a trillion GPUs": ("rsc-1", {"cluster.n_gpus": 10**12}, "cluster.n_gpus", [8, 10**12]),
}


@pytest.mark.parametrize("case", HUGE)
@pytest.mark.parametrize("formula", budget.FORMULAS.values(), ids=budget.FORMULAS)
def test_at_huge_values_there_is_a_finite_answer_or_a_refusal(formula, case):
    name, changes, path, values = HUGE[case]
    run = Scenario.load(name).override({"checkpoint.persist_s": 0, "maintenance": None})
    at_last = run.override(changes)
    try:
        single = formula(at_last)
    except OutsideValidity:
        single = None
    fixed = {field: value for field, value in changes.items() if field != path}
    if single is not None:
        form = formula(run.override(fixed), {path: values})
        assert np.isfinite(form.total_h).all() and form.total_h[-1] == pytest.approx(single.total_h, rel=1e-12)
        assert all(math.isfinite(getattr(single, part)) for part in (*PARTS, "n_failures"))
        return
    with pytest.warns(ValidityWarning) as caught:
        form = formula(run.override(fixed), {path: values})
    assert len(caught) == 1 and "of 2 points are NaN" in str(caught[0].message)
    for part in ("productive_h", "rework_h", "restart_h", "n_failures", "total_h", "ettr"):
        assert np.isnan(getattr(form, part)[-1]), part
    assert not any(np.isinf(getattr(form, part)).any() for part in (*PARTS, "n_failures"))


OWN = {"recovery.detection_min": 24, "recovery.restart_min": 35}


@pytest.mark.parametrize("field", OWN)
@pytest.mark.parametrize("formula", budget.FORMULAS.values(), ids=budget.FORMULAS)
def test_a_mode_that_is_every_failure_is_the_general_value(plain_run, formula, field):
    """In the steady state, where nothing restarts without a failure."""
    general = plain_run.override({"recovery.detection_min": 3, "recovery.queue_min": 4, field: OWN[field]})
    mode = {"name": "all", "share": 1, field.partition(".")[2]: OWN[field]}
    other = plain_run.override({"recovery.detection_min": 3, "recovery.queue_min": 4, "failures.modes": [mode]})
    expected, form = formula(general), formula(other)
    same(form, expected)
    sizes = {"cluster.n_gpus": np.array([800.0, 8000.0])}
    assert formula(other, sizes).ettr == pytest.approx(formula(general, sizes).ettr, rel=1e-12)
    assert form.ettr < formula(plain_run).ettr


@pytest.mark.parametrize("formula", budget.FORMULAS.values(), ids=budget.FORMULAS)
def test_a_mode_with_the_general_values_is_no_mode(plain_run, formula):
    """With a start too, whose restart and queue are the general ones."""
    run = plain_run.override({"job.include_start": True, **OWN})
    recovery = {field.partition(".")[2]: value for field, value in OWN.items()}
    modes = [{"name": "half", "share": 0.5, **recovery}, {"name": "third", "share": 0.3}]
    expected, form = formula(run), formula(run.override({"failures.modes": modes}))
    same(form, expected)


WORSE = ["cluster.n_gpus", "checkpoint.stall_s", "checkpoint.persist_slowdown", "recovery.detection_min"]


@pytest.mark.parametrize("path", [*WORSE, "recovery.queue_min", "recovery.restart_min", "maintenance.per_day"])
@pytest.mark.parametrize("formula", [budget.exact, budget.first_order])
def test_ettr_falls_with_every_loss(llama3, path, formula):
    section, field = path.split(".")
    base = getattr(getattr(llama3, section), field) or 0.1
    values = np.linspace(1, 4, 13) * base
    assert (np.diff(formula(llama3, {path: values}).ettr) < 0).all()


def test_no_failures_leave_only_planned_losses(plain_run):
    form = budget.exact(plain_run.override({"failures.rate_per_1000_node_days": 0, "job.include_start": True}))
    assert form.n_failures == form.rework_h == 0
    assert form.total_h == pytest.approx(40 + 39 * 300 / 3600 + 10 / 60)


def test_every_swept_field_matches_an_override(llama3):
    values = {
        "failures.rate_per_1000_node_days": 5.0,
        "cluster.n_gpus": 20_000,
        "checkpoint.persist_slowdown": 0.1,
        "recovery.person_share": 0.1,
    }
    for path in budget.swept(llama3):
        section, field = path.split(".")
        value = values.get(path, 1.5 * (getattr(getattr(llama3, section), field) or 1.0))
        swept = budget.exact(llama3, {path: np.array([value])}).total_h[0]
        assert swept == pytest.approx(budget.exact(llama3.override({path: value})).total_h, rel=1e-12), path


def test_rsc_is_the_general_form_with_queue_and_start():
    run = Scenario.load("rsc-1").override({"recovery.queue_min": 30, "job.productive_h": 50})
    lam, delta, w = run.job_rate_per_h, run.interval_h, run.stall_h
    u0, q, work = run.restart_h, run.queue_h, run.job.productive_h
    loss = 1 - lam * (u0 + delta / 2)
    expected = loss / ((1 + w / delta + u0 / work) * (1 + lam * q) + q / work * loss)
    assert budget.rsc(run).ettr == pytest.approx(expected, rel=1e-12)


def test_rsc_refuses_what_it_has_no_term_for(llama3):
    without_write = {"checkpoint.persist_s": 0, "checkpoint.persist_slowdown": 0}
    no_maintenance = {"maintenance": None}
    for path, scenario, at in (
        ("checkpoint.persist_s", llama3.override({"checkpoint.persist_s": 60} | no_maintenance), {}),
        ("maintenance.per_day", llama3.override(without_write), {}),
        # one such point of an array is enough
        ("checkpoint.persist_s", llama3.override(without_write | no_maintenance), {"checkpoint.persist_s": [0, 60]}),
        ("maintenance.per_day", llama3.override(without_write | no_maintenance), {"maintenance.per_day": [0, 1]}),
    ):
        with pytest.raises(NotModelled) as caught:
            budget.rsc(scenario, at)
        assert str(caught.value) == f"budget.rsc has no term for {path}: set it to 0, or use budget.exact"
    assert budget.rsc(llama3.override(without_write | no_maintenance), {"checkpoint.persist_s": [0.0]}).ettr[0] > 0.8


def test_exact_says_which_limit_was_broken(plain_run):
    with pytest.raises(OutsideValidity, match="productive for at least"):
        budget.exact(plain_run.override({"cluster.n_gpus": 8_000_000_000}))
    with pytest.raises(OutsideValidity) as caught:
        budget.exact(plain_run.override({"maintenance": {"per_day": 40, "duration_min": 5}}))
    assert str(caught.value) == f"budget.exact holds only for {RARE}"
    with pytest.warns(ValidityWarning, match="no shorter than the training during the background write"):
        budget.exact(plain_run, {"checkpoint.persist_s": np.array([0.0, 1e5])})


def test_a_run_of_ages_has_the_ettr_of_the_steady_state(llama3):
    """The last segment is at most one interval, however many there are."""
    steady = budget.exact(llama3.override({"job.include_start": False})).ettr
    for work_h in (1e6, 1e8, 1e9):
        assert budget.exact(llama3.override({"job.productive_h": work_h})).ettr == pytest.approx(steady, rel=1e-4)
