"""What a job of any size yields: in its limits, against the plan, the bill and the simulation, and by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from ettr import budget, plan, power, simulate, sizing
from ettr.core.errors import InputError, NotModelled

PERFECT = {
    "failures.rate_per_1000_node_days": 0,
    "checkpoint.stall_s": 0,
    "recovery.detection_min": 0,
    "recovery.restart_min": 0,
    "recovery.init_s_per_1000_gpus": 0,
    "network": {"across_gb_s": 1e12},
    "scaling": {"jitter": 0, "overlap": 1},
    "layout": {"tensor": 1, "context": 1, "pipeline": 1, "sharded": True},
}


def test_without_failures_losses_and_cut_tokens_are_linear_in_gpus(small):
    perfect, sizes = small.override(PERFECT), np.geomspace(8, 1024, 30)
    at = sizing.yields(perfect, sizes)
    efficiency = perfect.throughput.constants.kernel_efficiency
    of_one = efficiency * 989.4e12 * 86400 / perfect.throughput.model.flop_per_token
    assert at.tokens_per_day == pytest.approx(of_one * sizes)
    assert at.useful_tokens_per_day == pytest.approx(of_one * sizes)
    assert np.all(at.ettr == 1) and at.mfu == pytest.approx(efficiency) and np.all(at.waiting_share < 1e-9)
    assert at.days * at.tokens_per_day == pytest.approx(2e12)
    share = [sizing.next_gpu(perfect, size).share for size in (64, 1024)]
    assert share == pytest.approx([1, 1])
    assert at.usd == pytest.approx(at.usd[0])  # each GPU-hour trains as many tokens, whatever the size


@pytest.mark.parametrize("size", [128, 98_304])
def test_ettr_and_days_are_those_of_the_plan(run, size):
    at = run.override({"cluster.n_gpus": size})
    yielded = sizing.yields(at, [float(size)], at.layout_of_job.one_axis())
    steady = at.override({"job.include_start": False})
    best_min = budget.best_interval_min(steady)
    hours = budget.exact(steady.override({"checkpoint.interval_min": best_min}))
    assert yielded.interval_min[0] == pytest.approx(best_min)
    assert yielded.ettr[0] == pytest.approx(hours.ettr) and hours.ettr == pytest.approx(plan.ettr_at_best(steady))
    assert yielded.days[0] * 24 == pytest.approx(hours.total_h + at.first_queue_h + at.restart_h)
    assert yielded.tokens_per_day[0] * at.productive_h / 24 == pytest.approx(at.throughput.tokens_needed)


def test_at_the_best_interval_the_simulation_gives_as_much(run):
    short = run.override({"job.tokens": 1e12, "job.include_start": False})
    yielded = sizing.yields(short, [16384.0], short.layout_of_job.one_axis())
    short = short.override({"checkpoint.interval_min": float(yielded.interval_min[0])})
    simulated = simulate(short, 400, seed=3)
    assert short.work_h == pytest.approx(simulated.runs["productive_h"].iloc[0])
    ettr = simulated.runs["ettr"]
    assert abs(ettr.mean() - yielded.ettr[0]) < 4 * ettr.std() / 20


def test_gpu_hours_and_prices_by_hand(run):
    priced = run.override({"cost": {"usd_per_gpu_h": 3.0, "usd_per_kwh": 0.1, "usd_per_day": 5e4}})
    at = sizing.yields(priced, np.array([4096.0, 16384.0]))
    assert at.gpu_h == pytest.approx(at.days * 24 * at.n_gpus)
    assert at.usd == pytest.approx(3 * at.gpu_h + 0.1 * 1e3 * at.mwh + 5e4 * at.days)
    carbon = power.profile(priced).g_per_kwh
    assert at.t_co2 == pytest.approx(at.mwh * 1e3 * carbon / 1e6)
    product = at.tokens_per_day * at.speed * at.ettr
    assert at.useful_tokens_per_day == pytest.approx(product)  # batch and exchange as the tokens are stated for


def test_where_no_closed_form_holds_there_is_no_answer(run):
    spared = run.override({"spares": {"n_nodes": 4}, "repair": {"manual_h": 24}})
    with pytest.raises(NotModelled, match="no term for spares"):
        sizing.make(spared)


def test_energy_is_the_bill_of_the_same_budget(run):
    """With the share of a step that waits as the communication's, the electricity bill of the budget is the same."""
    at = sizing.yields(run, [16384.0])
    same = run.override({"job.include_start": False, "checkpoint.interval_min": at.interval_min[0]})
    same = same.override({"job.productive_h": run.throughput.productive_h(np.array([16384.0]))[0]})
    profile, waits = power.profile(same), float(at.waiting_share[0])
    compute, communication = profile.waveform.phases
    phases = replace(compute, share=1 - waits), replace(communication, share=waits)
    profile = replace(profile, waveform=replace(profile.waveform, phases=phases))
    start_mwh = profile.facility_mw("restart") * (run.first_queue_h + run.restart_h)
    of_budget_mwh = power.energy(budget.exact(same), profile)["facility_mwh"].sum()
    assert at.mwh[0] == pytest.approx(of_budget_mwh + start_mwh)
    assert at.power_mw[0] == pytest.approx(profile.it_mw("training") * profile.pue)


def test_heat_slows_the_job_as_in_the_plan(run):
    hot = run.override({"heat": {"mean_c": 35, "cooling": "air_economiser"}})
    at = sizing.yields(hot, [16384.0], hot.layout_of_job.one_axis())
    assert at.speed[0] == pytest.approx(hot.speed) and hot.speed < 1
    assert at.ettr[0] == pytest.approx(plan.ettr_at_best(hot.override({"job.include_start": False})), rel=1e-6)
    assert at.useful_tokens_per_day[0] == pytest.approx(at.tokens_per_day[0] * hot.speed * at.ettr[0])
    more = sizing.yields(hot, np.geomspace(1024, 1e5, 20))
    assert np.all(np.diff(more.speed) < 0)  # the hottest of more parts is hotter


def test_a_batch_and_loose_exchange_ask_for_more_tokens(run):
    doubled = run.override({"model.batch_tokens": 2**25})
    at = sizing.yields(doubled, [16384.0])
    factor = (1 + 2**25 / 120e6) / (1 + 2**24 / 120e6)
    assert at.useful_tokens_per_day == pytest.approx(at.tokens_per_day * at.speed * at.ettr / factor)
    assert doubled.throughput.tokens_needed == pytest.approx(15.6e12 * factor)
    loose = run.override({"sync": {"every_steps": 30, "efficiency": 0.8}})
    assert loose.throughput.tokens_needed == pytest.approx(15.6e12 / 0.8)


def test_what_does_not_fit_yields_nothing_and_never_ends(run):
    at = sizing.yields(run, [8.0, 104.0, 112.0, 2e6])
    assert (at.useful_tokens_per_day > 0).tolist() == [False, False, True, False]
    assert np.isinf(at.days).tolist() == np.isinf(at.usd).tolist() == [True, True, False, True]
    assert not any(np.isnan(values).any() for values in vars(at).values())


def test_every_loss_costs_tokens(run):
    sizes = np.geomspace(1024, 200_000, 25)
    plain = sizing.yields(run, sizes).useful_tokens_per_day
    for worse in (
        {"network.across_gb_s": 25},
        {"network.oversubscription": 60},
        {"network.failed_share": 0.02},
        {"network.failed_share": 0.02, "network.routing": "static"},
        {"scaling.jitter": 0.12},
        {"scaling.overlap": 0},
        {"failures.rate_per_1000_node_days": 2 * run.failure_rate},
        {"checkpoint.stall_s": 60},
        {"recovery.restart_min": 20},
        {"job.throughput_factor": 0.9},
    ):
        less = sizing.yields(run.override(worse), sizes).useful_tokens_per_day
        assert np.all(less <= plain * (1 + 1e-12)) and less[-1] < plain[-1], worse


def test_sizes_keep_their_shape_and_are_at_least_a_node(run):
    layout = run.throughput.fastest(np.array([16384.0]))
    assert sizing.yields(run, np.full((2, 3), 16384.0), layout).usd.shape == (2, 3)
    for few in (4, float("nan")):
        with pytest.raises(InputError, match=f"n_gpus must be >= 8 GPUs, one node, and finite, got {few:g}"):
            sizing.yields(run, [16384, few])


def test_a_job_given_by_its_hours_has_no_other_size(llama3):
    for ask in (sizing.make, sizing.curve, sizing.next_gpu, sizing.turning_point, sizing.range_gpus):
        with pytest.raises(InputError) as caught:
            ask(llama3)
        assert re.match("sizing needs job.tokens instead of job.productive_h.* model.n_parameters", str(caught.value))
