"""Numbers of the study cells on power."""

import ettr
from ettr import evidence
from ettr.plots.days import typical_day
from ettr_book.chapters import power


def numbers():
    run = ettr.Scenario.load("llama3-405b")
    profile = ettr.power.profile(run)
    wave, mw = profile.waveform, profile.n_gpus / 1e6
    timeline = ettr.simulate(run, 1, 0, timeline=[0]).timeline
    measured = ettr.power.drawn(run, 0, profile, timeline, None).measured
    fine, target = power.fine_series(typical_day(timeline), profile), ettr.power.Target(0.2)
    options = ettr.power.compare(fine, target, run).set_index("option")
    bill = power.a_year(ettr.power.bill(ettr.make_plan(run).losses.budget, profile, run))
    lost, total = bill[bill["wasted"]].sum(numeric_only=True), bill.sum(numeric_only=True)
    carbon = ettr.power.carbon_by_country(float(total["facility_mwh"])).set_index("title")["t_co2"]
    drop_w, stored_j = wave.mean_w - profile.gpu_w("detection"), ettr.power.option_figure("rack_storage", "energy_j")
    usd = options["total_usd"]
    return [
        ("draws 627 W", wave.mean_w),
        ("components is 354 W", profile.other_w),
        ("16,384 of them take 18 MW", profile.n_gpus, profile.facility_mw("training")),
        ("swings by 5.7 MW", wave.swing_w * mw),
        ("failure takes 6.2 MW", drop_w * mw),
        ("lowest 7.7 MW", measured.lowest_mw),
        (
            "by up to 9.6 MW and rises by up to 7.4 MW",
            measured.ramp_down_1min_mw_per_min,
            measured.ramp_up_1min_mw_per_min,
        ),
        (
            "costs 15 million USD per year, nearly all of it for the 5%",
            usd["secondary load"],
            options.loc["secondary load", "throughput_loss"],
        ),
        ("would be 2.7 million", usd["GPU floor"]),
        ("battery of 8.8 MWh costs 0.56 million", options.loc["battery", "size"], usd["battery"]),
        ("The 65 J per", stored_j),
        ("drop for 0.17 s", stored_j / drop_w),
        ("time: 6.5% against 9.1%", lost["facility_mwh"] / total["facility_mwh"], lost["hours"] / total["hours"]),
        ("cost 33 times", lost["gpu_usd"] / lost["electricity_usd"]),
        ("emits 107,000 t", carbon["India"]),
        ("and 4,500 t", carbon["Norway"]),
        ("run on 16,384 GPUs", evidence.figure("llama3_n_gpus").value),
    ]
