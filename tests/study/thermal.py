"""Numbers of the study cells on heat."""

from math import exp

import numpy as np

from ettr import Scenario, evidence
from ettr.thermal import speed
from ettr_book.chapters import thermal


def numbers():
    run = thermal.warmed(Scenario.load("llama3-405b"))
    gpu, response = thermal.gpu_of(run), thermal.response_of(run)
    day, point = response.hottest_day, response.reference
    leakage_w = point.leakage_w * exp(10 / gpu.leakage.rise_k)
    power = (point.power_w - leakage_w) / (point.power_w - point.leakage_w)
    clock = power ** (1 / gpu.clock.exponent)
    mean = speed(day["clock_mhz"].to_numpy(), point.clock_mhz, run.heat.compute_share)
    swing = {name: evidence.figure(f"llama3_throughput_swing_{name}_pct").value for name in ("low", "high")}
    titan = evidence.table("titan_cages").pivot_table("rate_per_1000_gpu_years", "failure", "cage")
    ratios = titan[2] / titan[0]
    interruptions = evidence.table("llama3_interruptions")
    hot = interruptions[interruptions["component"].str.contains("Thermal")]["n_events"].sum()
    warmer = thermal.by_warming(run, [10.0]).set_index("case")
    cost = 100 * (warmer.loc["none", "ettr"] - warmer["ettr"])
    return [
        ("run, 10 K more", 10),
        ("leakage from 85 to 112 W", point.leakage_w, leakage_w),
        ("clock falls by 1.7%", 1 - clock),
        ("throughput by 1.4%", 1 - speed(clock, 1.0, run.heat.compute_share)),
        ("with the 1 to 2% that", swing["low"], swing["high"] / 100),
        ("day of 14 to 26 °C", day["ambient_c"].min(), day["ambient_c"].max()),
        ("swings by 8 K, not by 12", np.ptp(day["die_c"]), np.ptp(day["ambient_c"])),
        ("is 1.0% slower", 1 - mean.min() / mean.max()),
        ("the job 1.5%", response.afternoon_loss),
        ("hottest of 16,384", run.cluster.n_gpus),
        ("had 2.2 times", ratios["double-bit error"]),
        ("and 2.9 times", ratios["off the bus"]),
        ("only 6 of 419", hot, interruptions["n_events"].sum()),
        ("10 K on every die multiply all failures by 1.3", 10, warmer.loc["50%, 0.7 eV", "rate_factor"]),
        ("cost 1.6 points", cost["50%, 0.7 eV"]),
        ("cost 6.6 points", cost["all, 1.2 eV"]),
        ("to 700 W", evidence.figure("llama3_gpu_power_w").value),
        ("by 1 to 2% over the day", swing["low"], swing["high"] / 100),
    ]
