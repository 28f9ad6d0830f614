"""Ways to smooth: energy is conserved, limits are kept, and closed forms agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.signal import lfilter

from ettr import Gpu, Scenario, power
from ettr.core.errors import InputError, UnknownName
from ettr.power import Battery, PowerFloor, RackStorage, SecondaryLoad, Target
from ettr.power.smoothing.stores import behind_store

RATED_W = 700.0
OPTIONS = {
    "secondary load": SecondaryLoad.published(),
    "secondary load, slow": SecondaryLoad(0.8, 0.3, 2.0, 1.0, 10, ahead_per_s=0.02),
    "floor": PowerFloor.published(),
    "floor, slow": PowerFloor(0.7, 1.0, 0.005, 0.003),
    "rack": RackStorage.published(RATED_W),
    "rack, large": RackStorage(30_000.0, 400.0, 0.9),
    "battery": Battery.published(5.0),
    "battery, too weak": Battery(1.0, 0.02, 0.8, 50.0, 290.0, tau_s=600.0),
}


def square_storage_j(swing_w, period_s, d=0.5):
    """Energy that passes to and fro when a square wave is made flat, A d (1 - d) T. [J]"""
    return swing_w * d * (1 - d) * period_s


def square_swing_left(d, step_s, tau_s):
    """What a filter of first order leaves of a step of two levels; its store takes up that times its time constant.

    The two levels last d T and (1 - d) T: each end of the swing is an exponential's after its own time.
    """
    up, down, whole = -np.expm1(-d * step_s / tau_s), -np.expm1(-(1 - d) * step_s / tau_s), -np.expm1(-step_s / tau_s)
    return up * down / whole


def imbalance_mwh(smoothed: power.Smoothed) -> float:
    """Energy of the grid less load, waste and change of the store: rounding."""
    load_mwh = smoothed.before.energy_mwh - smoothed.unserved_mwh
    return smoothed.after.energy_mwh - load_mwh - smoothed.wasted_mwh - smoothed.stored_mwh


@pytest.mark.parametrize("name", OPTIONS)
def test_energy_is_conserved(load, name):
    smoothed = power.smooth(load, OPTIONS[name])
    assert abs(imbalance_mwh(smoothed)) < 1e-9 * load.energy_mwh
    assert smoothed.wasted_mwh >= 0 and smoothed.unserved_mwh >= 0 and smoothed.after.n == load.n
    assert smoothed.after.power_mw.min() >= 0
    assert (smoothed.before is load) and smoothed.added_share == pytest.approx(smoothed.wasted_mwh / load.energy_mwh)


@pytest.mark.parametrize(("trough", "share"), [(0.2, 0.866), (0.45, 0.793), (0.5, 0.768), (0.75, 0.404)])
def test_many_steps_give_the_published_overhead(trough, share):
    assert power.floor_overhead(share, trough, 0.9) == pytest.approx(0.105, abs=5e-4)


@pytest.mark.parametrize("floor", [0.5, 0.9])
def test_a_floor_costs_what_the_closed_form_says(steps, floor):
    smoothed = power.smooth(steps, replace(PowerFloor.published(), floor=floor))
    of_gpus = steps.energy_mwh - steps.profile.other_mw * steps.duration_h
    expected = power.floor_overhead(0.8, 350 / 700, floor, 696 / 700)
    assert smoothed.wasted_mwh / of_gpus == pytest.approx(expected, rel=1e-9)
    assert smoothed.unserved_mwh == 0


def test_a_floor_holds_then_ramps_and_slows_only_the_return(still):
    edges_h = np.array([0, 103, 200, 300]) / 3600  # stopped while it computes
    stop = pd.DataFrame({"start_h": edges_h[:-1], "end_h": edges_h[1:], "state": ["training", "detection", "training"]})
    load = power.series(stop, still, 0.1, at="computers")
    option = PowerFloor(0.9, 2.0, 0.05, 0.02)
    smoothed = power.smooth(load, option)
    gpus = (smoothed.after.power_mw - still.other_mw) / still.rated_mw
    want = (load.power_mw - still.other_mw) / still.rated_mw
    change = np.diff(gpus)
    below = (gpus[1:] < 0.9 - 1e-9) & (gpus[:-1] < 0.9 - 1e-9)
    assert change[below].max() <= 0.005 + 1e-12 and change[below].min() >= -0.002 - 1e-12
    assert smoothed.throughput_loss == pytest.approx(np.maximum(want - gpus, 0).sum() / want.sum())
    assert 0 < smoothed.throughput_loss < 0.05
    assert (gpus[1030:1050] >= 0.9 - 1e-9).all() and gpus[1050] == pytest.approx(0.898)  # kept for two seconds
    assert gpus[2000] == pytest.approx(250 / 700 + 0.005)  # the return


def test_a_second_load_leaves_the_trough_bare_for_its_delay(steps):
    slow = replace(SecondaryLoad.published(0.9), delay_s=0.2)
    smoothed = power.smooth(steps, slow)
    bare = np.isclose(smoothed.after.power_mw, steps.power_mw) & (steps.power_mw < steps.power_mw.max() - 1e-6)
    n_steps = round(steps.duration_h * 3600 / 5)
    assert bare.sum() == pytest.approx(4 * n_steps, abs=4)  # four bins of 50 ms a step
    quick = power.smooth(steps, replace(slow, delay_s=0.0))
    assert quick.wasted_mwh == pytest.approx(smoothed.wasted_mwh / 0.8, rel=0.01)
    of_gpus = steps.energy_mwh - steps.profile.other_mw * steps.duration_h
    assert quick.wasted_mwh / of_gpus == pytest.approx(power.floor_overhead(0.8, 0.5, 0.9, 696 / 700), rel=1e-6)


def test_a_second_load_steps_down_as_the_damper_of_pytorch_does(still):
    # 100 80 50 2: from 100% to 80% in two steps of 50 ms
    stop = pd.DataFrame({"start_h": [0.0, 0.01], "end_h": [0.01, 0.02], "state": ["training", "detection"]})
    load = power.series(stop, replace(still, waveform=replace(still.waveform, step_s=72.0)), 0.01, at="computers")
    damper = SecondaryLoad(1.0, 0.0, 0.0, 0.05, 2)
    share = (power.smooth(load, damper).after.power_mw - still.other_mw) / still.rated_mw
    at = 3600  # the stop
    assert share[at : at + 5] == pytest.approx(0.5) and share[at + 5 : at + 20] == pytest.approx(250 / 700)


def test_a_store_without_limits_is_a_filter(load):
    tau_s = 3.0
    store = behind_store(load, tau_s)
    share = -np.expm1(-load.step_s / tau_s)
    first = load.power_mw.mean() - store.start_mwh * 3600 / tau_s
    ends = first + lfilter([share], [1, share - 1], load.power_mw - first)
    began = np.append(first, ends[:-1])
    plain = load.power_mw + (began - load.power_mw) * share * tau_s / load.step_s  # means over bins
    assert_allclose(store.after_mw, plain, rtol=1e-9)
    assert ends[-1] == pytest.approx(first, rel=1e-9)  # so it would go on
    assert store.lost_mwh == 0


def _square(still, step_s: float = 5.0, begins: float = 0.0) -> power.PowerSeries:
    """Forty steps of 400 bins each; the first begins at some share of a step."""
    profile = replace(still, waveform=replace(still.waveform, step_s=step_s))
    training = pd.DataFrame({"start_h": [0.0], "end_h": [40 * step_s / 3600], "state": ["training"]})
    load = power.series(training, profile, step_s / 400, at="computers")
    return load.with_power(np.roll(load.power_mw, -round(400 * begins)))


@pytest.mark.parametrize(
    ("tau_s", "begins", "efficiency"), [(0.05, 0.37, 1.0), (2.0, 0.0, 0.95), (8.0, 0.9, 1.0), (1000.0, 0.37, 0.95)]
)
def test_what_a_filter_leaves_and_stores_is_that_of_the_closed_form(still, tau_s, begins, efficiency):
    """Wherever in a step the series begins; losses and bins of 1/400 of a step are within 2% of the swing."""
    load = _square(still, begins=begins)
    store = behind_store(load, tau_s, efficiency=efficiency)
    swing_mw = np.ptp(load.power_mw)
    left = square_swing_left(0.8, 5.0, tau_s)
    assert np.ptp(store.after_mw) == pytest.approx(swing_mw * left, rel=0.02)
    assert np.ptp(store.stored_mwh) * 3600 == pytest.approx(tau_s * swing_mw * left, rel=0.02)
    assert np.ptp(store.stored_mwh) * 3600 <= 1.02 * square_storage_j(swing_mw, 5.0, 0.8)


@pytest.mark.parametrize("option", ["rack storage", "battery"])
def test_a_size_does_not_depend_on_where_in_a_step_the_series_begins(still, option):
    sizes = [power.size(_square(still, 0.2, begins), option, Target(0.02)).size for begins in (0.0, 0.21, 0.83)]
    assert sizes == pytest.approx([sizes[0]] * 3, rel=1e-3)


def test_losses_do_not_empty_a_store_that_is_large_enough(still):
    """It has 65 J, of which flattening takes 49 at most, and loses 5% on the way."""
    load = _square(still, 49.0 / square_storage_j(np.ptp(_square(still).power_mw) * 1e6 / still.n_gpus, 1, 0.8))
    smoothed = power.smooth(load, RackStorage(65.0, 1400.0, 0.95))
    endless = behind_store(load, 65.0 * still.n_gpus / 1e6 / np.ptp(load.power_mw), efficiency=0.95)
    assert_allclose(smoothed.after.power_mw, endless.after_mw, rtol=1e-6)
    assert np.ptp(smoothed.after.power_mw) < 0.7 * np.ptp(load.power_mw)


def test_a_store_keeps_within_its_power_and_energy(load):
    store = behind_store(load, 60.0, power_mw=0.7, energy_mwh=0.01, efficiency=0.8)
    assert np.abs(store.after_mw - load.power_mw).max() <= 0.7 * (1 + 1e-12)
    assert store.stored_mwh.min() >= -1e-12 and store.stored_mwh.max() <= 0.01 * (1 + 1e-12)
    assert store.stored_mwh.min() < 1e-6 and store.stored_mwh.max() > 0.01 - 1e-6  # it is driven to both ends
    assert store.lost_mwh > 0


def test_65_j_flatten_a_third_of_a_second_and_not_five(profile):
    gb300 = power.profile(Scenario.load("llama3-405b"), "gb300")
    training = pd.DataFrame({"start_h": [0.0], "end_h": [0.05], "state": ["training"]})

    def left(step_s: float) -> float:
        profile = replace(gb300, waveform=replace(gb300.waveform, step_s=step_s, jitter_s=0.0))
        load = power.series(training, profile, step_s / 50, at="computers")
        smoothed = power.smooth(load, RackStorage(65.0, 1400.0, 1.0))
        return float(np.ptp(smoothed.after.power_mw[load.n // 2 :]) / np.ptp(load.power_mw))

    assert left(0.2) < 0.75
    assert left(5.0) > 0.97


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: power.floor_overhead(1.2, 0.5, 0.9), "compute_share must be <= 1"),
        (lambda: power.floor_overhead(0.5, 0.95, 0.9, 0.9), "trough must be <= peak"),
        (lambda: power.floor_overhead(0.0, 0.0, 0.9), "mean power of the step must be > 0"),
        (lambda: PowerFloor(1.2, 1.0, 0.1, 0.1), "floor must be <= 1 .*, got 1.2"),
        (lambda: RackStorage(65.0, 700.0, 1.2), "efficiency must be <= 1"),
        (lambda: Target(0.0), "range_share must be > 0"),
        (
            lambda: Battery.published(10.0, 4.0),
            "energy_mwh must be >= 10 MWh for 10 MW at c_rate_per_h 1, got 4",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_series_that_cannot_be_smoothed_is_refused(timeline, profile, load):
    floor = PowerFloor.published()
    with pytest.raises(InputError, match="acts on the GPUs.*at='computers'"):
        power.smooth(power.series(timeline, profile, 0.1), floor)
    with pytest.raises(InputError, match="blur phases of 1 s: GPU floor needs resolution_s <= 0.25"):
        power.smooth(power.series(timeline, profile, 1.0, at="computers"), floor)
    gb200 = power.series(timeline, power.profile(Scenario.load("llama3-405b"), "gb200"), 0.1, at="computers")
    with pytest.raises(InputError, match="floor must be <= 0.9, the highest of NVIDIA GB200"):
        power.smooth(gb200, replace(floor, floor=0.95))
    with pytest.raises(UnknownName, match="unknown option 'flywheel'"):
        power.size(load, "flywheel", Target(0.2))


def test_gb200_cannot_reach_a_tenth_and_says_why(timeline):
    load = power.series(timeline, power.profile(Scenario.load("llama3-405b"), "gb200"), 0.1, at="computers")
    sized = power.size(load, "GPU floor", Target(0.1))
    assert not sized.reached and sized.used >= 2
    assert sized.why == "the highest floor is 0.9 and peaks reach 1.1 of rated power, which leaves a range of 0.2"
    quick = power.size(load, "GPU floor", Target(0.21, window_s=1.0))
    assert quick.reached and quick.size == pytest.approx(0.9, abs=0.011)


@pytest.mark.parametrize("name", power.options())
def test_a_size_that_reaches_keeps_the_target_and_one_that_does_not_says_why(load, name):
    target = Target(0.3, 2.0)
    sized = power.size(load, name, target)
    assert sized.reached == (sized.why == "")
    if sized.reached:
        assert target.load(sized.smoothed.after) <= 1 + 1e-6
        assert abs(imbalance_mwh(sized.smoothed)) < 1e-9 * load.energy_mwh


def test_a_store_is_no_larger_than_it_must_be(load):
    target = Target(0.2)
    sized = power.size(load, "rack storage", target)
    assert not sized.reached and "racks store 65 J" in sized.why
    weaker = replace(sized.setting, tau_s=0.98 * sized.setting.tau_s)
    assert target.load(power.smooth(load, sized.setting).after) <= 1 + 1e-6
    assert target.load(power.smooth(load, weaker).after) > 1
    # by hand: a fall by A, of which a tenth is left of the window, needs a filter of -w / ln(1 - r/A)
    fall = np.ptp(load.power_mw) / load.profile.rated_mw
    assert sized.setting.tau_s == pytest.approx(-10 / np.log(1 - 0.2 / fall), rel=0.25)


def test_a_tighter_target_needs_more(load):
    burnt = [power.size(load, "GPU floor", Target(share)).smoothed.wasted_mwh for share in (0.15, 0.4)]
    assert burnt[0] > burnt[1]
    strict, kept_already = (power.size(load, "battery", Target(share)) for share in (0.2, 5.0))
    assert strict.setting.tau_s > kept_already.setting.tau_s
    assert kept_already.reached and kept_already.smoothed.added_share < 1e-3


def test_options_compare_at_their_prices(load, llama3):
    plain = power.compare(load, Target(0.2)).set_index("option")
    assert plain["total_usd"].isna().equals(plain["capital_usd"].isna())
    assert np.isnan(plain.loc["rack storage", "total_usd"]) and "not published" in plain.loc["rack storage", "notes"]
    priced = plain.dropna(subset="total_usd")
    parts = priced[["energy_usd", "throughput_usd", "capital_usd"]].sum(axis=1)
    assert priced["total_usd"].to_numpy() == pytest.approx(parts.to_numpy())
    dear = power.compare(load, Target(0.2), llama3.override({"cost.usd_per_kwh": 0.16})).set_index("option")
    assert dear["energy_usd"].to_numpy() == pytest.approx(2 * plain["energy_usd"].to_numpy())
    second = plain.loc["secondary load"]
    assert second["throughput_usd"] == pytest.approx(0.05 * 16384 * 8766 * 2.0)


def test_figures_of_the_options_have_their_sources():
    assert power.option_figure("floor", "floor") == Gpu.load("gb200").smoothing.floor == 0.9
    low, middle, high = (power.option_figure("battery", f"cost_{end}usd_per_kwh") for end in ("low_", "", "high_"))
    assert low == 38e6 / 200e3 and high == 80e6 / 200e3 and low < middle < high
    with pytest.raises(UnknownName, match="unknown figure 'weight'"):
        power.option_figure("battery", "weight")


@pytest.mark.parametrize(("energy_mwh", "by_cycles"), [(5.0, True), (500.0, False)])
def test_a_battery_ends_by_its_cycles_or_by_its_age(load, energy_mwh, by_cycles):
    smoothed = power.smooth(load, Battery.published(5.0, energy_mwh))
    worn_years = 5000 / smoothed.full_cycles_per_year
    assert smoothed.life_years == pytest.approx(worn_years if by_cycles else 10)
    assert (worn_years < 10) == by_cycles
