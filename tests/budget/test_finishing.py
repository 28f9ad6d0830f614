"""When a run is done: worked values, a second inversion, what must hold of any distribution, and what is refused."""

from __future__ import annotations

import math
import re
import warnings

import mpmath as mp
import numpy as np
import pytest
from finishing_rules import (
    A_HAIR_H,
    FOLLOWED,
    RULES,
    RUN,
    distance,
)
from grids import KINDS, alarms, burn_in, lifetime, slower, tiers
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import exprel
from scipy.stats import poisson

from agreement import FOUR
from ettr import Scenario, budget, simulate
from ettr.core.errors import InputError, NotModelled, OutsideValidity
from ettr.core.finishing import Finishing
from ettr.core.validity import ValidityWarning
from refusals import refusal

RATE, WORK = "failures.rate_per_1000_node_days", "job.productive_h"
LEVELS = np.array([0.001, 0.05, 0.3, 0.5, 0.9, 0.99, 0.999999])
ALONE = [names for names in FOLLOWED if len(names) == 1]
SOME = ALONE + [names for i, names in enumerate(FOLLOWED) if len(names) == 2 and i % 8 == 0]
"""Each rule alone, and some pairs."""


@pytest.fixture(scope="module")
def run() -> Scenario:
    return Scenario.parse(RUN)


def same(ours: Finishing, expected: Finishing, rel: float, factor: float = 1.0) -> None:
    """Two distributions have the same moments and quantiles, in hours that are a factor times as long."""
    assert ours.mean_h == pytest.approx(expected.mean_h * factor, rel=rel)
    assert ours.sd_h == pytest.approx(expected.sd_h * factor, rel=100 * rel)
    assert ours.quantile(LEVELS) == pytest.approx(expected.quantile(LEVELS) * factor, rel=rel)


# --------------------------------------------------------------------------- what is simulated


@pytest.mark.parametrize(
    ("names", "n_runs"),
    [(names, 20_000) for names in SOME] + [pytest.param(names, 250_000, marks=pytest.mark.slow) for names in FOLLOWED],
)
def test_it_is_what_is_simulated(run, names, n_runs):
    """By Kolmogorov's distance times the root of the runs, of which one comparison in a thousand exceeds 1.95."""
    run = run.override(FOLLOWED[names])
    finish = budget.finishing(run)
    assert distance(finish, run, n_runs, seed=1) < 1.95


STILL = ("half a failure", "maintenance")


@pytest.mark.parametrize("names", [STILL, ("steady", *STILL)], ids=", ".join)
def test_the_atom_is_the_share_of_runs_in_which_nothing_happens(run, names):
    n_runs = 20_000
    for name in names:
        run = run.override(RULES[name])
    finish = budget.finishing(run)
    share = (simulate(run, n_runs, seed=2).total_h < finish.atom_h + A_HAIR_H).mean()
    assert finish.atom == pytest.approx(share, abs=FOUR * math.sqrt(share * (1 - share) / n_runs))
    assert share > 0.02


# --------------------------------------------------------------------------- worked values and means


def test_the_worked_values_of_llama_3(llama3):
    """Of the transform in the design, inverted by hand: 383 failures are expected."""
    finish = budget.finishing(llama3.override({"maintenance": None, "spares": None, "repair": None}))
    assert finish.sd_h == pytest.approx(4.292, abs=5e-4)
    assert finish.quantile([0.05, 0.5, 0.95]) == pytest.approx([1260.065, 1267.012, 1274.184], abs=5e-4)


STEADY = {"job.include_start": False}
MEANS = {
    **{name: FOLLOWED[name,] for name in ("plain", "queue", "steady", "write", "slowdown", "ends in a write")},
    **{name: FOLLOWED[name,] for name in ("modes", "people", "half a failure", "three failures")},
    **{f"{name}, steady": FOLLOWED["steady", name] for name in ("slowdown", "modes")},
    "shorter than an interval": {WORK: 0.4},
    "whole intervals": {WORK: 40.0, "checkpoint.persist_s": 1200},
    "a million failures": {WORK: 4e6},
}


@pytest.mark.parametrize("name", MEANS)
def test_the_mean_is_the_exact_one(run, name):
    run = run.override(MEANS[name])
    assert budget.finishing(run).mean_h == pytest.approx(budget.exact(run).total_h, rel=1e-10)


def test_with_rarer_maintenance_the_mean_comes_nearer_to_the_one_of_first_order(run):
    off = []
    for per_day in (0.8, 0.08, 0.008):
        rarer = run.override({"maintenance": {"per_day": per_day, "duration_min": 45}})
        off.append(abs(budget.finishing(rarer).mean_h / budget.exact(rarer).total_h - 1))
    assert off[0] < 0.005
    # what is left is of the second order
    assert off[1] < off[0] / 50 and off[2] < off[1] / 50


# --------------------------------------------------------------------------- a second inversion


class Stages:
    """The transform of the design once more, in numbers of any precision: stages that end with a durable checkpoint.

    ``kinds`` are (share, detection and queue, restart) of failures; ``restart`` is the first one. A person is waited
    for in some of the queues, exponentially.
    """

    def __init__(self, rate, *, tau, stall, write, slowdown, work, kinds, restart, queue, person=(0, 0)):
        self.rate, self.kinds, self.restart, self.queue, self.person = rate, kinds, restart, queue, person
        self.k = int(mp.ceil(work / tau)) - 1
        left, self.cycle, self.again = work - self.k * tau, tau + stall + slowdown * write, tau + stall + write
        self.left, self.tried = left, left - (1 - slowdown) * write
        self.exposed = restart + self.again + (self.k - 1) * self.cycle + self.tried

    @property
    def atom(self):
        return mp.exp(-self.rate * self.exposed)

    def __call__(self, s):
        rate, (share, wait) = self.rate, self.person

        def survives(y):
            return mp.exp(-(rate + s) * y)

        def strikes(y):
            return rate * (1 - survives(y)) / (rate + s)

        def recovered(b):
            """From a failure on, with b hours to train in one go after it."""
            down = [share_i * mp.exp(-s * down_h) for share_i, down_h, _ in self.kinds]
            person = 1 - share + share / (1 + s * wait)
            restarts = [restart_h for _, _, restart_h in self.kinds]
            ends = sum(d * person * survives(r + b) for d, r in zip(down, restarts, strict=True))
            fails = sum(d * person * strikes(r + b) for d, r in zip(down, restarts, strict=True))
            return ends / (1 - fails)

        def stage(first, again):
            return survives(first) + strikes(first) * recovered(again)

        begun = survives(self.restart + self.again) + strikes(self.restart + self.again) * recovered(self.again)
        middle = stage(self.cycle, self.again) ** (self.k - 1)
        return mp.exp(-s * self.queue) * begun * middle * stage(self.tried, self.left)


def below(transform, atom, least_h, at_h, smoothed_h, method, degree=48):
    """Probability of being done, from the transform of what is not the atom, its origin shifted to the least time.

    With as much more as the normal that was added changes it, to the second order.
    """

    def of_cdf(s):
        return (transform(s) * mp.exp(s * least_h) - atom) / s * (1 + (smoothed_h * s) ** 2 / 2)

    return atom + mp.invertlaplace(of_cdf, mp.mpf(at_h) - least_h, method=method, degree=degree)


INVERTED = {
    "plain": ({}, {}),
    "write": (FOLLOWED["write",], {"write": mp.mpf(1) / 3}),
    "slowdown, people": (
        FOLLOWED["slowdown", "people"],
        {"write": mp.mpf(1) / 3, "slowdown": mp.mpf("0.3"), "person": (0.3, mp.mpf("0.75"))},
    ),
    "modes": (
        FOLLOWED["modes",],
        {
            "kinds": [
                (mp.mpf("0.5"), mp.mpf(18) / 60, mp.mpf(25) / 60),
                (mp.mpf("0.2"), mp.mpf(26) / 60, mp.mpf(10) / 60),
                (mp.mpf("0.2"), mp.mpf(10) / 60, mp.mpf(2) / 60),
                (mp.mpf("0.1"), mp.mpf(10) / 60, mp.mpf(10) / 60),
            ]
        },
    ),
}
SIXTH = mp.mpf(1) / 6


@pytest.mark.parametrize("name", INVERTED)
@pytest.mark.parametrize(
    ("per_day", "work_h", "method"),
    [(6, "160.7", "talbot"), (0.25, "40.7", "dehoog")],
    ids=["forty, Talbot", "half of one, de Hoog"],
)
def test_another_inversion_of_the_same_rules_gives_the_same(run, name, per_day, work_h, method):
    changes, stages = INVERTED[name]
    with mp.workdps(24):
        rate = mp.mpf(per_day) / 24
        settings = {
            "tau": mp.mpf(1),
            "stall": mp.mpf(1) / 30,
            "write": mp.mpf(0),
            "slowdown": mp.mpf(0),
            "queue": mp.mpf("0.1"),
        }
        settings |= {"restart": SIXTH, "kinds": [(mp.mpf(1), SIXTH, SIXTH)], "work": mp.mpf(work_h)}
        transform = Stages(rate, **settings | stages)
        finish = budget.finishing(run.override(changes | {RATE: per_day, WORK: float(work_h)}))
        least_h = transform.queue + transform.exposed
        if finish.atom:
            assert finish.atom == pytest.approx(float(transform.atom), rel=1e-12)
            assert finish.atom_h == pytest.approx(float(least_h), rel=1e-12)
        # away from the kinks where one failure may first have struck; those of several kinds are everywhere
        close = 2e-6 if name == "modes" else 1e-7
        for level in (0.6, 0.97):
            at_h = finish.quantile(level)
            if at_h > finish.atom_h + 0.5:
                expected = below(transform, transform.atom, least_h, at_h, finish.smoothed_h, method)
                assert finish.cdf(at_h) == pytest.approx(float(expected), abs=close), level


# --------------------------------------------------------------------------- what holds for any


@settings(max_examples=40)
@given(
    n_failures=st.one_of(st.just(0.0), st.floats(1e-3, 1e6), st.floats(-3, 6).map(lambda x: 10**x)),
    mttf_h=st.floats(0.4, 200),
    rules=st.sampled_from(list(FOLLOWED)),
)
def test_a_distribution_rises_from_0_to_1_and_its_quantiles_are_its_inverse(run, n_failures, mttf_h, rules):
    changes = FOLLOWED[rules] | {RATE: 24 / mttf_h if n_failures else 0.0, WORK: max(n_failures * mttf_h, 0.05)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            finish = budget.finishing(run.override(changes))
        except OutsideValidity:
            return
    reach_h = 12 * (finish.sd_h + finish.smoothed_h)
    done = finish.cdf(np.linspace(max(finish.mean_h - reach_h, 0), finish.mean_h + reach_h, 1500))
    assert (done >= 0).all() and (done <= 1).all() and (np.diff(done) >= 0).all()
    assert finish.cdf(-1.0) == 0 and finish.cdf(math.inf) == pytest.approx(1, abs=1e-12)
    at_h = finish.quantile(LEVELS)
    assert (np.diff(at_h) >= 0).all()
    smooth = at_h > finish.atom_h if finish.atom else np.full(LEVELS.size, True)
    assert finish.cdf(at_h[smooth]) == pytest.approx(LEVELS[smooth], abs=1e-7)
    assert (at_h[~smooth] == finish.atom_h).all() and (LEVELS[~smooth] <= finish.atom + 1e-12).all()


@pytest.mark.parametrize("names", ALONE, ids=", ".join)
def test_the_density_holds_all_but_the_atom(run, names):
    """Between entries it is a parabola, for which Simpson's rule is exact where none was cut off at 0."""
    finish = budget.finishing(run.override(FOLLOWED[names]))
    n = finish.below.size
    last_h = finish.first_h + (n - 1) * finish.step_h
    density = finish.pdf(np.linspace(finish.first_h, last_h, 2 * n - 1))
    whole = finish.step_h / 6 * (density[0] + density[-1] + 4 * density[1::2].sum() + 2 * density[2:-1:2].sum())
    past_h = np.linspace(0, 40 / finish.tail_per_h, 4001)
    beyond = np.trapezoid(finish.pdf(last_h + 1e-9 + past_h), past_h)
    assert whole + beyond == pytest.approx(1 - finish.atom, abs=1e-6)
    middle_h = finish.quantile(0.6 + 0.4 * finish.atom)
    slope = (finish.cdf(middle_h + 1e-5) - finish.cdf(middle_h - 1e-5)) / 2e-5
    assert finish.pdf(middle_h) == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize("names", ALONE[::3], ids=", ".join)
def test_only_ratios_of_times_matter(run, names):
    run = run.override(FOLLOWED[names])
    rare_stops = {"maintenance.per_day": run.maintenance.per_day / 3} if run.maintenance else {}
    same(budget.finishing(slower(run, 3).override(rare_stops)), budget.finishing(run), rel=1e-8, factor=3)


@pytest.mark.parametrize("changes", [{}, FOLLOWED["slowdown",], STEADY])
def test_a_run_that_nothing_strikes_takes_its_least_time(run, changes):
    run = run.override(changes | {RATE: 0})
    finish, total_h = budget.finishing(run), simulate(run, 1).total_h[0]
    assert finish.sd_h == 0 and finish.mean_h == pytest.approx(total_h, rel=1e-12)
    assert finish.quantile(LEVELS) == pytest.approx(total_h, rel=1e-12)
    assert finish.cdf([total_h - 1e-6, total_h + 1e-6]).tolist() == [0, 1]


SWEPT = {
    "plain": ({}, {"recovery.restart_min": [0.0, 10.0, 30.0], "checkpoint.stall_s": [0.0, 300.0]}),
    "slowdown": (FOLLOWED["slowdown",], {"checkpoint.persist_s": [0.0, 600.0, 2400.0], WORK: [20.0, 40.2]}),
    "modes": (FOLLOWED["modes",], {"cluster.n_gpus": [4000, 8000, 16_000], "recovery.detection_min": [0.0, 9.0]}),
    "maintenance": (
        FOLLOWED["maintenance",],
        {"maintenance.per_day": [0.0, 0.8, 2.0], "maintenance.duration_min": [10.0, 60.0]},
    ),
}


@pytest.mark.parametrize("form", SWEPT)
def test_arrays_give_what_single_runs_give(run, form):
    changes, paths = SWEPT[form]
    run = run.override(changes)
    (path, values), (other, others) = paths.items()
    grid = budget.finishing(run, {path: np.array(values)[:, None], other: np.array(others)})
    assert grid.shape == (3, 2) and grid.cdf(50.0).shape == (3, 2)
    at_h = grid.quantile(LEVELS[:, None, None])
    for i, value in enumerate(values):
        single = budget.finishing(run.override({path: value, other: others[1]}))
        assert grid.mean_h[i, 1] == pytest.approx(single.mean_h, rel=1e-12)
        assert grid.sd_h[i, 1] == pytest.approx(single.sd_h, rel=1e-9)
        # the same table, or a denser one than that of the single run, which a cubic reads to 5e-8
        alike = grid.below.shape[-1] == single.below.size
        assert at_h[:, i, 1] == pytest.approx(single.quantile(LEVELS), rel=1e-8 if alike else 3e-7)
        assert grid.cdf(single.mean_h)[i, 1] == pytest.approx(single.cdf(single.mean_h), abs=1e-9 if alike else 1e-7)
        assert grid.at((i, 1)).quantile(0.9) == grid.quantile(0.9)[i, 1]


IDLE = {
    "no person": {"recovery.person_share": 0.0, "recovery.person_min": 45},
    "no slowdown of a write of no length": {"checkpoint.persist_slowdown": 0.3},
    "modes like the rest": {"failures.modes": [{"name": "a", "share": 0.4, "detection_min": 4}]},
    "maintenance that never comes": {"maintenance": {"per_day": 1e-9, "duration_min": 45}},
    "burn-in at the settled rate": {"failures.burn_in": {"factor": 1.0, "decay_days": 3}},
}


@pytest.mark.parametrize("name", IDLE)
def test_a_rule_that_does_nothing_changes_nothing(run, name):
    same(budget.finishing(run.override(IDLE[name])), budget.finishing(run), rel=1e-7)


@pytest.mark.parametrize("mttf_h", [0.3, 2.0])
def test_the_tail_falls_as_its_pole_says(run, mttf_h):
    """A job without checkpoint tries until restart and work come through: at its pole 1 = d F."""
    finish = budget.finishing(run.override({WORK: 0.8, RATE: 24 / mttf_h}))
    rate, down_h, once_h = 1 / mttf_h, 1 / 6, 1 / 6 + 0.8

    def fails(theta):
        return math.exp(theta * down_h) * rate * once_h * exprel((theta - rate) * once_h) - 1

    pole = brentq(fails, 0, 20)
    assert finish.tail_per_h == pytest.approx(pole, rel=1e-3)
    end_h = finish.first_h + finish.below.size * finish.step_h
    left = 1 - finish.cdf([end_h, end_h + 1 / pole])
    assert left[1] / left[0] == pytest.approx(math.exp(-finish.tail_per_h / pole), rel=1e-3)


@pytest.mark.parametrize("rate", [0.003, 0.06])
def test_where_hardly_anything_strikes_two_failures_are_not_missed(run, rate):
    """Each costs 20 minutes and up to a minute of work: two are done within three quarters of an hour, more are not."""
    finish = budget.finishing(run.override({RATE: rate, "checkpoint.interval_min": 1, "checkpoint.stall_s": 0.1}))
    expected = -math.log(finish.atom)
    for n, late_h in ((1, 0.5), (2, 0.75)):
        p_more = poisson.sf(n, expected)
        assert 1 - finish.cdf(finish.atom_h + late_h) == pytest.approx(p_more, rel=0.1, abs=1e-7)
    assert finish.quantile(1 - expected**3 / 3) < finish.atom_h + 0.75


# --------------------------------------------------------------------------- a rate that is known from a count


COUNTED = {RATE: None, "failures.n_events": 20, "failures.node_days": 20 / 6 * 1000, WORK: 300.0}


def test_intervals_of_an_unknown_rate_hold_as_many_runs_as_they_say(run):
    """A rate from its posterior, then a finishing date at that rate: where the form puts it is uniform."""
    run, n = run.override(COUNTED), 2000
    form = budget.finishing(run, rate_known=False)
    random = np.random.default_rng(5)
    posterior = run.failures.posterior
    rates = random.gamma(posterior.shape, 1000 / posterior.node_days, n)
    dates_h = budget.finishing(
        run.override({"failures.n_events": None, "failures.node_days": None, RATE: 6.0}), {RATE: rates}
    )
    dates_h = dates_h.quantile(random.uniform(size=n))
    place = np.sort(form.cdf(dates_h))
    within = np.mean((place > 0.05) & (place < 0.95))
    assert within == pytest.approx(0.9, abs=FOUR * math.sqrt(0.09 / n))
    steps = np.arange(n + 1) / n
    assert max((steps[1:] - place).max(), (place - steps[:-1]).max()) * math.sqrt(n) < 1.95
    assert form.mean_h == pytest.approx(dates_h.mean(), abs=FOUR * dates_h.std() / math.sqrt(n))
    assert form.sd_h > 2 * budget.finishing(run).sd_h


# --------------------------------------------------------------------------- work that is done


def test_work_that_is_done_leaves_a_shorter_run_without_queue_and_start(run):
    """Failures that all restart in their own time let the first restart take none."""
    alike = [{"name": "any", "share": 1.0, "detection_min": 10, "restart_min": 10}]
    shorter = run.override(
        {"failures.modes": alike, "recovery.queue_min": 0, "recovery.restart_min": 0, WORK: 0.6 * 40.7}
    )
    same(budget.finishing(run, done=0.4), budget.finishing(shorter), rel=1e-12)


# --------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("done", [1, -0.1, math.nan, "half"])
def test_a_share_done_must_be_a_share(run, done):
    text = refusal(budget.finishing, run, done=done)
    assert text.startswith("done") and text.endswith(f"must be >= 0 and < 1, got {done!r}")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "rate_known=False needs a count of failures"),
        (COUNTED | {"failures.n_events": 0, WORK: 40.0}, "failures.n_events is 0"),
    ],
)
def test_a_rate_of_which_too_little_is_known_has_no_finishing_date(run, changes, words):
    text = refusal(budget.finishing, run.override(changes), rate_known=False)
    assert text.startswith(words) and "\n" not in text


SPARES = {"spares": {"n_nodes": 5}, "repair": {"automatic_h": 4}}
SDC = {"name": "sdc", "share": 1.0, "latency_h": 2}
WITHOUT_FORM = {
    "spares": SPARES,
    "failures.lifetime": lifetime(0.7),
    "failures.burn_in": burn_in(3, 5),
    "checkpoint.tiers": tiers({"name": "memory", "interval_s": 600, "survives": 0.5}),
    "prediction": alarms(0.4, 0.7, 30),
    "silent failures (latency_h)": {"failures.modes": [SDC | {"share": 0.5}]},
    "latency_cv": {"failures.modes": [SDC | {"latency_cv": 1}]},
    "slow_nodes": {"slow_nodes": {"per_1000_node_days": 1, "loss": 0.2, "detection_h": 2}},
    "elastic": {"elastic": {"n_replicas": 10, "n_least": 8}, **SPARES},
    "maintenance.rolling_nodes": {"maintenance": {"per_day": 1, "duration_min": 30, "rolling_nodes": 10}, **SPARES},
    "recovery.false_alarms_per_day": {"recovery.false_alarms_per_day": 0.5},
    "checkpoint.n_kept": {"failures.modes": [SDC], "checkpoint.n_kept": 3},
}


@pytest.mark.parametrize("name", WITHOUT_FORM)
def test_what_has_no_transform_is_refused_by_name(run, name):
    with pytest.raises(NotModelled, match=f"^budget.finishing .*{re.escape(name)}") as caught:
        budget.finishing(run.override(WITHOUT_FORM[name]))
    assert "ettr.simulate" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("changes", [{}, FOLLOWED["write",]])
def test_a_run_that_never_ends_is_outside_validity(run, changes):
    run = run.override(changes)
    with pytest.raises(OutsideValidity, match="^budget.finishing holds only for "):
        budget.finishing(run.override({RATE: 1e5}))
    with pytest.warns(ValidityWarning, match="budget.finishing holds only for .*: 2 of 4 points are NaN") as caught:
        finish = budget.finishing(run, {RATE: [6.0, 1e5, 3.0, 2e5]})
    assert len(caught) == 1
    for values in (finish.mean_h, finish.cdf(60.0), finish.quantile(0.5), finish.pdf(60.0)):
        assert np.isnan(values).tolist() == [False, True, False, True]
    assert finish.at(2).quantile(0.9) == pytest.approx(budget.finishing(run.override({RATE: 3.0})).quantile(0.9))
    with pytest.warns(ValidityWarning, match="2 of 2 points are NaN"):
        assert np.isnan(budget.finishing(run, {RATE: [1e5, 2e5]}).cdf(1.0)).all()


def test_a_path_that_cannot_be_swept_is_named(run):
    with pytest.raises(InputError, match="repair.cv"):
        budget.finishing(run, {"repair.cv": [0.5]})


def test_a_kind_that_never_comes_is_not_asked_for(run):
    """Modes of no share change nothing, whatever follows them."""
    never = [{"name": "never", "share": 0.0, "restart_min": 9999}, *KINDS[:1]]
    same(
        budget.finishing(run.override({"failures.modes": never})),
        budget.finishing(run.override({"failures.modes": KINDS[:1]})),
        rel=1e-12,
    )


def test_a_run_that_rarely_meets_a_failure_has_the_dates_of_those_that_do():
    """The few that are struck end one recovery and one interval later, at most, unless they are struck again."""
    run = Scenario.of(
        {
            "cluster": {"n_gpus": 8},
            "job": {"productive_h": 10.0},
            "failures": {"rate_per_1000_node_days": 30.0},
            "checkpoint": {"interval_min": 30, "stall_s": 0},
            "recovery": {"detection_min": 6, "queue_min": 0, "restart_min": 48},
        }
    )
    finish, rate = budget.finishing(run), 30 / 24_000
    struck = -math.expm1(-rate * 10.8)
    assert struck < 0.014 and finish.quantile(1 - struck - 1e-6) == pytest.approx(10.8, rel=1e-9)
    assert 11.6 < finish.quantile(1 - struck / 2) < 12.3
    assert finish.cdf(12.3) == pytest.approx(1, abs=3 * struck**2)
    assert finish.cdf(11.65) == pytest.approx(1 - struck, abs=0.1 * struck)
