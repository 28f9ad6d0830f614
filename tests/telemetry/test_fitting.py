"""Fits find what a simulated part was made of, and say so where they cannot."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import signal, stats

from ettr import Gpu, telemetry
from ettr.core.errors import InputError
from ettr.telemetry import Step, estimates, plateaus, thermal_fit

H100 = Gpu.load("h100")
TRUTH = {"resistance": 0.07, "tau": 60.0, "inlet": 25.0, "leakage": 90.0}


def least_covered(n: int) -> float:
    """Of n intervals of 95%, fewer than this hold the truth with a chance of one in four hundred: 16 of 20."""
    return stats.binom.ppf(0.0026, n, 0.95)


def with_units(recording, write):
    """The same samples as nvidia-smi writes them, read back."""
    rows = ["timestamp, index, power.draw [W], temperature.gpu, clocks.current.sm [MHz], utilization.gpu [%]"]
    for row in recording.samples.sort_values(["t_s", "gpu"]).itertuples():
        at = pd.Timestamp("2025-07-27") + pd.Timedelta(seconds=row.t_s)
        cells = f"{row.power_w:.2f} W, {row.temperature_c:.0f}, {row.clock_mhz:.0f} MHz, {100 * row.utilisation:.0f} %"
        rows.append(f"{at:%Y/%m/%d %H:%M:%S}.{at.microsecond // 1000:03d}, {row.gpu}, {cells}")
    return telemetry.read(write("\n".join(rows)))


WITH_GAPS = {"step_s": 1.0, "power_window_s": 1.0, "lost": 0.05}
INSTANTS = {"step_s": 1.0}
FINE = {"step_s": 0.1, "power_window_s": 1.0}


@pytest.mark.parametrize(
    ("options", "minutes", "seeds"),
    [
        (WITH_GAPS, 20, 8),
        pytest.param(INSTANTS, 20, 20, marks=pytest.mark.slow),
        pytest.param(FINE, 12, 20, marks=pytest.mark.slow),
    ],
    ids=["1 s, averaged, gaps", "1 s, instants", "100 ms, averaged"],
)
def test_intervals_hold_the_truth(options, minutes, seeds):
    held = dict.fromkeys(TRUTH, 0)
    for seed in range(seeds):
        fit = telemetry.fit(telemetry.simulate(H100, telemetry.schedule(minutes), seed=seed, **options))
        for name, truth in TRUTH.items():
            each = getattr(fit, name)
            held[name] += each.identified and each.low <= truth <= each.high
    assert min(held.values()) >= least_covered(seeds)


@pytest.mark.parametrize("seeds", [4, pytest.param(10, marks=pytest.mark.slow)])
def test_a_cold_plate_is_found_at_100_ms_and_nearly_at_1_s(seeds):
    held = {"resistance": 0, "tau": 0}
    for seed in range(seeds):
        for step_s in (0.1, 1.0):
            recording = telemetry.simulate(
                H100, telemetry.schedule(5), medium="cold_plate", step_s=step_s, power_window_s=1.0, seed=seed
            )
            fit = telemetry.fit(recording, medium="cold_plate")
            held["resistance"] += fit.resistance.low <= 0.03 <= fit.resistance.high
            held["tau"] += fit.tau.low <= 5 <= fit.tau.high
    assert min(held.values()) >= least_covered(2 * seeds)


def test_leakage_takes_the_rise_of_the_base_gpu():
    fit = telemetry.fit(telemetry.simulate(H100, telemetry.schedule(15), power_window_s=1.0, seed=2))
    assert fit.leakage.note == "assumes the base GPU's rise_k of 36 K"
    assert fit.leakage.value == pytest.approx(H100.leakage.power_w, rel=0.15)


def test_units_in_cells_gaps_and_several_gpus_change_no_figure(write):
    recording = telemetry.simulate(H100, telemetry.schedule(20), n_gpus=2, lost=0.05, seed=1)
    direct = telemetry.fit(recording, power_window_s=1.0)
    read = with_units(recording, write)
    assert (read.format, read.n_gpus, read.gaps.n > 0) == ("nvidia-smi", 2, True)
    again = telemetry.fit(read)
    for name in ("resistance", "tau", "inlet"):
        assert getattr(again, name).value == pytest.approx(getattr(direct, name).value, rel=0.001)
    # plateaus now come from power alone, and the stall is one with the context
    assert again.leakage.value == pytest.approx(direct.leakage.value, rel=0.1)


def test_levels_are_found_from_power_alone_and_named(write):
    job = [
        Step("idle", None, 300),
        *([Step("compute", 1.0, 300), Step("stall", 0.0, 400)] * 5),
        Step("idle", None, 300),
    ]
    read = with_units(telemetry.simulate(H100, job, power_window_s=1.0, seed=5), write)
    fit = telemetry.fit(read)
    assert [level.phase for level in fit.levels] == ["compute", "checkpoint", "idle"]
    # the recording's own means, as warming and the limit move them; a watt or two from the part's levels
    assert fit.level("compute").mean.value == pytest.approx(696, abs=6)
    assert fit.level("checkpoint").mean.value == pytest.approx(121.7, abs=4)
    assert fit.level("idle").mean.value == pytest.approx(72.5, abs=2)
    assert fit.level("compute").share == pytest.approx(1500 / 4100, abs=0.01)
    assert "not in the recording: communication" in fit.notes


@pytest.mark.parametrize(
    ("step_s", "window_s", "seen"),
    [
        (1.0, 1.0, ["compute", "communication", "checkpoint"]),
        pytest.param(0.1, 0.0, ["compute", "communication", "checkpoint"], marks=pytest.mark.slow),
        (0.1, 1.0, ["compute", "checkpoint"]),  # a second of communication is never a whole mean over one
    ],
)
def test_the_phases_of_a_job_are_found_though_they_change_within_seconds(step_s, window_s, seen):
    iteration = [Step("compute", 1.0, 3.0), Step("communication", 0.4, 1.0)]
    job = [*(iteration * 60), Step("stall", 0.0, 20.0)] * 6
    recording = telemetry.simulate(H100, job, step_s=step_s, power_window_s=window_s, seed=1)
    fit = telemetry.fit(replace(recording, samples=recording.samples.assign(step="")))
    assert [level.phase for level in fit.levels] == seen
    assert fit.level("compute").mean.value == pytest.approx(
        678, abs=6
    )  # the part's 696, less what its cooler die leaks
    if len(seen) == 3:
        assert fit.level("checkpoint").share == pytest.approx(20 / 260, abs=0.02)


@pytest.mark.parametrize("seeds", [8, pytest.param(20, marks=pytest.mark.slow)])
def test_intervals_of_levels_hold_the_mean_of_correlated_noise(seeds):
    quiet = H100.model_copy(update={"leakage": H100.leakage.model_copy(update={"power_w": 0.0})})
    held = 0
    for seed in range(seeds):
        recording = telemetry.simulate(quiet, [Step("duty 50%", 0.5, 900)], seed=seed, power_noise=0.03)
        (level,) = telemetry.fit(recording, quiet).levels
        truth = quiet.levels.checkpoint_w + 0.5 * (quiet.levels.compute_w - quiet.levels.checkpoint_w)
        held += level.mean.low <= truth <= level.mean.high
    assert held >= least_covered(seeds)


def test_noise_without_plateaus_is_one_level():
    rng = np.random.default_rng(1)
    recording = telemetry.simulate(H100, [Step("duty 50%", 0.5, 3000)], power_noise=0.05, seed=1)
    bare = replace(recording, samples=recording.samples.assign(step=""))
    assert len(telemetry.fit(bare).levels) == 1
    drawn = bare.samples.assign(power_w=400 + 10 * rng.standard_normal(len(bare.samples)))
    assert len(set(plateaus.find(drawn).label)) == 1
    rippled = bare.samples.assign(power_w=500 + 10 * np.sin(bare.samples["t_s"]))  # most time at its two ends
    assert len(set(plateaus.find(rippled).label)) == 1
    apart = bare.samples.assign(power_w=500 + 100 * np.sin(bare.samples["t_s"]))
    assert len(set(plateaus.find(apart).label)) == 2


# --------------------------------------------------------------------------- what cannot be said


def test_constant_power_identifies_no_warming():
    fit = telemetry.fit(telemetry.simulate(H100, [Step("compute", 1.0, 1200)], seed=1))
    assert not fit.resistance.identified and not fit.tau.identified
    assert "below 3 K" in fit.tau.why_not
    assert not fit.leakage.identified


@pytest.mark.parametrize(
    ("drop", "figure", "why"),
    [
        ("temperature_c", "tau", "too few samples with both power and temperature"),
        ("temperature_c", "leakage", "power and temperature are not recorded together"),
        ("clock_mhz", "leakage", "the clock is not recorded"),
    ],
)
def test_what_is_not_recorded_is_named(drop, figure, why):
    silent = replace(short(), samples=short().samples.assign(**{drop: np.nan}))
    each = getattr(telemetry.fit(silent), figure)
    assert each.value is None and each.low is None and why in each.why_not


def test_power_at_its_limit_says_nothing_of_leakage():
    capped = H100.model_copy(update={"limits": H100.limits.model_copy(update={"power_w": 500.0})})
    steps = [Step("compute", 1.0, 400), Step("idle", None, 400), Step("compute", 1.0, 400)]
    fit = telemetry.fit(telemetry.simulate(capped, steps, seed=1), capped)
    assert not fit.leakage.identified
    assert "limit" in fit.leakage.why_not or "clock" in fit.leakage.why_not


@cache
def short():
    return telemetry.simulate(H100, telemetry.schedule(10), power_window_s=1.0)


def test_another_model_than_the_base_part_is_named():
    recording = replace(short(), models={"0": "NVIDIA A100-SXM4-80GB"}, format="nvidia-smi")
    notes = telemetry.fit(recording).notes
    assert notes[0] == "the recorded GPU is NVIDIA A100-SXM4-80GB, but the base GPU is NVIDIA H100 SXM: use part a100"
    assert "power readings are assumed to be instantaneous" in notes
    same = telemetry.fit(replace(short(), models={"0": "NVIDIA H100 80GB HBM3"}), power_window_s=0.5).notes
    assert same[0] == "the recorded GPU is NVIDIA H100 80GB HBM3" and not any("1 s" in note for note in same)
    superchip = telemetry.fit(replace(short(), models={"0": "NVIDIA GH200 480GB"})).notes
    assert superchip[0] == "the recorded GPU is NVIDIA GH200 480GB, which has no preset"


def test_several_models_are_refused_unless_one_gpu_is_named():
    two = telemetry.simulate(H100, telemetry.schedule(5), n_gpus=2)
    two = replace(two, models={"0": "NVIDIA H100", "1": "NVIDIA L4"})
    with pytest.raises(InputError, match=r"2 models of GPU.* e.g. 0 \(NVIDIA H100\); 1 \(NVIDIA L4\)"):
        telemetry.fit(two)
    assert telemetry.fit(two, gpu="1").gpus == ("1",)


def test_a_level_over_the_limit_is_asked_about():
    notes = telemetry.fit(short(), "a100").notes
    assert re.match(r"a level of [\d.]+ W exceeds the power limit of a100, 400 W", notes[0])


@pytest.mark.parametrize(("idle_mhz", "load"), [(345, True), (1755, False)])
def test_leakage_is_that_of_the_highest_level_though_idle_keeps_a_clock(idle_mhz, load):
    rng, t_s, t_c, rows = np.random.default_rng(5), np.arange(3600), 35.0, []
    for second in t_s:
        busy = second % 1200 >= 600
        power_w = (540 + 60 * np.exp((t_c - 60) / 36) if busy else 80) * (1 + 0.005 * rng.standard_normal())
        t_c += (30 + 0.07 * power_w - t_c) / 60
        rows.append((second, power_w, round(t_c), 1755 if busy else idle_mhz, 0.99 if busy else 0.0))
    columns = ["t_s", "power_w", "temperature_c", "clock_mhz", "utilisation"]
    frame = pd.DataFrame(rows, columns=columns).assign(gpu="0", memory_c=np.nan, step="")
    frame = frame if load else frame.assign(utilisation=np.nan)
    recording = replace(telemetry.simulate(H100, telemetry.schedule(2)), samples=frame, step_s=1.0)
    fit = telemetry.fit(recording)
    expected = 60 * np.exp((H100.leakage.at_c - 60) / 36)
    assert fit.leakage.low > 1 and fit.leakage.value == pytest.approx(expected, rel=0.2)


def test_two_time_constants_are_noticed():
    recording = telemetry.simulate(H100, telemetry.schedule(20), seed=1)
    samples = recording.samples.copy()
    samples["temperature_c"] = np.round(samples["temperature_c"] + 0.02 * samples["power_w"])  # a fast second one
    fit = telemetry.fit(replace(recording, samples=samples))
    assert fit.residual_k > 0.9 and any("one time constant" in note for note in fit.notes)


# --------------------------------------------------------------------------- the part


@pytest.fixture(scope="module")
def fitted():
    return telemetry.fit(telemetry.simulate(H100, telemetry.schedule(30), n_gpus=4, seed=6))


def test_a_part_reads_back_with_its_evidence(fitted, tmp_path):
    part = fitted.to_part("mine")
    path = tmp_path / "mine.yml"
    path.write_text(part.to_yaml(), encoding="utf-8")
    assert Gpu.load(path) == part
    for name, each in fitted.figures().items():
        assert part.flat()[name] == pytest.approx(each.value, rel=1e-5)
        origin = part.evidence[name]
        assert origin.status == "derived" and origin.note.startswith("fitted to simulated h100, 95%: ")
    kept = set(part.flat()) - set(fitted.figures())
    assert all(part.flat()[name] == H100.flat()[name] for name in kept)
    assert {"cooling.air.spread", "cooling.air.tau_s", "levels.idle_w"} <= set(fitted.figures())


def test_frames_and_dictionaries_hold_every_figure(fitted):
    frame = fitted.to_frame()
    assert len(frame) == len(fitted.levels) + 6
    assert (frame["identified"] == frame["value"].notna()).all() and (frame["note"][~frame["identified"]] != "").all()
    assert (frame["low"].dropna() <= frame["value"].dropna()).all()
    record = fitted.to_dict()
    assert record["tau"]["value"] == fitted.tau.value and len(record["levels"]) == len(fitted.levels)


def test_a_level_over_the_power_limit_is_another_part():
    recording = telemetry.simulate(Gpu.load("b200"), telemetry.schedule(10), medium="air", seed=1)
    fit = telemetry.fit(recording, "h100")
    with pytest.raises(InputError, match=r"levels.compute_w must be <= 700 W, .* the GPU model that was recorded"):
        fit.to_part("mine")


# --------------------------------------------------------------------------- the pieces


@pytest.mark.parametrize("tau_s", [2.5, 400.0])
def test_all_samples_at_once_are_as_one_after_another(tau_s):
    rng = np.random.default_rng(4)
    t_s = np.cumsum(rng.uniform(5, 15, 9000)) + np.repeat([0.0, 5000.0], 4500)
    power_w = rng.uniform(70, 700, 8999)
    expected = [0.0]
    for decay, power in zip(np.exp(-np.diff(t_s) / tau_s), power_w, strict=True):
        expected.append(expected[-1] * decay + power * (1 - decay))
    filtered, left = thermal_fit.filtered(t_s, power_w, tau_s)
    assert filtered == pytest.approx(expected, rel=2e-11)
    assert left == pytest.approx(np.exp(-(t_s - t_s[0]) / tau_s), rel=1e-9)


def test_scaling_power_scales_resistance_alone():
    recording = telemetry.simulate(H100, telemetry.schedule(10), seed=1)
    samples = recording.of("0")
    arrays = [samples[name].to_numpy() for name in ("t_s", "power_w", "temperature_c")]
    base, scaled = (thermal_fit.fit(arrays[0], k * arrays[1], arrays[2], 0.0) for k in (1, 4))
    assert scaled.resistance.value == pytest.approx(base.resistance.value / 4)
    assert scaled.tau.value == pytest.approx(base.tau.value, rel=1e-4)
    slow = thermal_fit.fit(10 * arrays[0], arrays[1], arrays[2], 0.0)
    assert slow.tau.value == pytest.approx(10 * base.tau.value, rel=1e-3)


def test_the_integrated_time_is_that_of_an_autoregression():
    rng, rho = np.random.default_rng(3), 0.8
    shocks = rng.standard_normal(200_000)
    x = signal.lfilter([1.0], [1.0, -rho], shocks)
    assert estimates.integrated_time(x) == pytest.approx((1 + rho) / (1 - rho), rel=0.1)
    assert estimates.integrated_time(shocks) == pytest.approx(1, abs=0.1)


def test_errors_of_independent_residuals_are_those_of_the_textbook():
    rng = np.random.default_rng(4)
    x = np.column_stack([np.ones(5000), rng.standard_normal(5000)])
    residuals = rng.standard_normal(5000)
    solution = estimates.with_errors(np.zeros(2), x, residuals)
    assert np.allclose(solution.errors, 1 / np.sqrt(5000), rtol=0.1)


def test_together_is_wider_where_gpus_differ():
    def gpu(value):
        return estimates.Estimate("tau", "s", value, value - 1, value + 1, 100)

    alike, apart = estimates.together([gpu(60), gpu(60.1), gpu(59.9)]), estimates.together([gpu(50), gpu(60), gpu(70)])
    assert alike.value == pytest.approx(60) and alike.high - alike.value == pytest.approx(1 / np.sqrt(3))
    assert apart.high - apart.value == pytest.approx(4.303 * 10 / np.sqrt(3), rel=1e-3)
    silent = estimates.Estimate("tau", "s", why_not="no")
    assert estimates.together([gpu(60), silent]).note == "mean of 1 GPUs; 1 without an estimate"
    assert estimates.together([silent, silent]).why_not.startswith("no (first of 2 GPUs")


@pytest.mark.parametrize(
    ("ends", "why_not"),
    [((-1, 5), "the interval contains 0: 2 s (-1 to 5)"), ((0.9, 3.1), "the interval is wider than the value")],
)
def test_an_interval_that_says_nothing_is_no_figure(ends, why_not):
    each = estimates.if_significant(estimates.Estimate("tau", "s", 2.0, *ends, 9))
    assert not each.identified and each.why_not.startswith(why_not) and each.n == 9
    assert estimates.if_significant(estimates.Estimate("tau", "s", 2.0, 1.5, 2.5, 9)).identified


def test_a_stall_goes_into_the_part_and_not_a_context():
    steps = (
        Step("idle", None, 300),
        Step("context", 0.0, 900),
        Step("compute", 1.0, 300),
        Step("stall", 0.0, 400),
    )
    fit = telemetry.fit(telemetry.simulate(H100, steps))
    assert fit.level("checkpoint").step == "stall"
    only = telemetry.fit(telemetry.simulate(H100, steps[:3]))
    assert only.level("checkpoint").step == "context"


def test_a_simulated_die_settles_where_power_and_resistance_say():
    recording = telemetry.simulate(H100, [Step("duty 50%", 0.5, 900)], power_noise=0.0)
    last = recording.samples.iloc[-1]
    assert last["power_w"] == pytest.approx((121.7 + 696) / 2, abs=0.1)
    assert last["temperature_c"] == pytest.approx(25 + 0.07 * last["power_w"], abs=1)
