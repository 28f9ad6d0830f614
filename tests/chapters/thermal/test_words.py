"""Sentences on heat: their numbers, read back from the results."""

from __future__ import annotations

import re

import numpy as np
import pytest

from computed.thermal import HALLS, table_of
from computed.thermal import run as hall
from ettr import Gpu, Scenario, validation
from ettr.chapters import thermal
from sentences_read import TENTH, check_words, numbers


@pytest.fixture(scope="module")
def run():
    return hall()


@pytest.fixture(scope="module")
def chilled():
    return thermal.tables.warmed(Scenario.load("rsc-1"), cooling="chiller")


def lost_pct(speeds):
    return 100 * (1 - speeds.min() / speeds.max())


def test_the_answer_gives_the_afternoons_cost_and_what_cooling_buys(run):
    text, day = thermal.words.answer(run).text, thermal.tables.hottest_day(run)
    assert numbers(r"loses #% of its throughput", text) == pytest.approx([lost_pct(day["speed"])], **TENTH)
    assert numbers(r"a mean GPU alone would lose #%", text) == pytest.approx([lost_pct(day["mean_speed"])], **TENTH)
    table = thermal.tables.cooling_at(run).set_index("cooling")["effective"]
    expected = [100 * table["air_economiser"], 100 * table["cold_plate"]]
    assert numbers(r"Cold plates instead of outdoor air .* from #% to #%", text) == pytest.approx(expected, **TENTH)
    beliefs = thermal.failure_tables.by_warming(run, [10.0])["ettr"]
    assert numbers("from nothing to # points", text) == pytest.approx([100 * np.ptp(beliefs)], **TENTH)
    known = Gpu.presets().set_index("name").loc["h100"]
    assert numbers("NVIDIA H100 SXM, with # of its # figures", text) == [known["n_assumed"], known["n_figures"]]


def test_an_answer_where_nothing_is_better_says_so():
    run = hall("llama3-405b", "liquid")
    assert "The GPU has figures for no way of cooling but cold plates" in thermal.words.answer(run).text
    climates = table_of(thermal.tables.by_climate, "llama3-405b", "liquid")
    finding = thermal.words.climate(run, climates)
    lost = np.ptp(climates["effective"])
    assert numbers("the run loses # points with cold plates", finding.title) == pytest.approx([100 * lost], **TENTH)
    plates = thermal.tables.warmed(Scenario.load("llama3-405b"), cooling="cold_plate")
    assert "figures for gives this run more than cold plates" in thermal.words.answer(plates).text


def test_the_afternoon_is_told_in_kelvins_and_by_its_margin(run):
    text, day = thermal.words.afternoon(run).text, thermal.tables.hottest_day(run)
    swings = [np.ptp(day[name]) for name in ("ambient_c", "inlet_c", "die_c")]
    kelvins = numbers("swings by # K, the inlet by # K and the die of the mean GPU by # K", text)
    assert kelvins == pytest.approx(swings, **TENTH)
    assert "nothing below its set point" in text
    cool = thermal.tables.warmed(Scenario.load("llama3-405b"), cooling="cold_plate")
    hottest = thermal.tables.hottest_day(cool)["hottest_c"].max()
    text = thermal.words.afternoon(cool).text
    assert numbers("ends # K below the # °C", text) == pytest.approx([87 - hottest, 87], abs=0.51)


def test_a_part_that_throttles_by_its_memory_is_not_told_to_have_a_margin(run):
    assert "memory" in set(thermal.tables.hottest_day(run)["limited_by"])
    finding = thermal.words.afternoon(run)
    assert finding.title == "The hottest die ends at 86 °C, where its memory throttles the GPU"
    hottest = thermal.tables.hottest_day(run)["hottest_c"].max()
    assert numbers("ends at # °C, below the 87 °C", finding.text) == pytest.approx([hottest], **TENTH)


def test_why_the_inlet_does_not_follow_the_air():
    base = Scenario.load("rsc-1")
    air = {"mean_c": 24.0, "swing_k": 8.0}
    both = thermal.tables.warmed(base.override({"heat": {**air, "most_c": 30.0}}))
    assert "since the plant delivers nothing below its set point and its chiller nothing above" in (
        thermal.words.afternoon(both).text
    )
    neither = thermal.tables.warmed(base.override({"heat": {**air, "least_c": 5.0}}))
    assert "since" not in thermal.words.afternoon(neither).text
    still = thermal.tables.warmed(base.override({"heat": {"mean_c": 24.0}}))
    assert "as warm at every hour" in thermal.words.afternoon(still).text


def test_a_chiller_keeps_the_afternoon_out(chilled):
    assert "keeps the inlet constant" in thermal.words.afternoon(chilled).text
    assert thermal.words.pace(chilled).title == "The afternoon costs no throughput"
    assert "loses nothing" in thermal.words.climate(chilled, thermal.tables.by_climate(chilled)).text
    finding = thermal.words.answer(chilled)
    assert finding.title == "A hot afternoon costs no throughput" and "waits for the hottest" not in finding.text


def test_a_hall_at_the_limit_says_that_it_throttles():
    hot = thermal.tables.warmed(Scenario.load("rsc-1"), mean_c=33.0)
    assert "at the 87 °C at which it throttles" in thermal.words.afternoon(hot).text


def test_the_pace_of_job_and_mean_part(run):
    text, day = thermal.words.pace(run).text, thermal.tables.hottest_day(run)
    excess = lost_pct(day["speed"]) - lost_pct(day["mean_speed"])
    assert numbers("The job loses # points more", text) == pytest.approx([excess], **TENTH)
    assert numbers("The mean over all hours is #%", text) == pytest.approx([100 * run.speed], **TENTH)
    text = thermal.words.pace(hall("rsc-1", "liquid")).text
    assert "The job loses no more: none of its GPUs throttles" in text


def test_the_swing_for_a_loss_and_why_it_is_no_test(run):
    table, here = thermal.tables.swing_for_loss(), thermal.tables.swing_here(run)
    text = thermal.words.swing(table, here).text
    expected = [table["low_k"].min(), table["high_k"].max()]
    assert numbers("anything from # to # K of swing", text) == pytest.approx(expected, **TENTH)
    assert numbers("its day swings by # K", text) == pytest.approx([here["swing_k"].iloc[0]], **TENTH)
    low, high = (thermal.tables.warming_for(loss, 90 / 700, 25 / np.log(2)) for loss in (0.01, 0.02))
    assert numbers("puts it at # to # K", text) == pytest.approx([low, high], **TENTH)
    assert "consistent with the model, and no test of it" in text
    level = thermal.tables.swing_here(thermal.tables.warmed(Scenario.load("rsc-1"), cooling="chiller"))
    assert "another loss than the one observed" in thermal.words.swing(table, level).text
    assert "leaks nothing" in thermal.words.swing(table, here.assign(low_k=np.inf, high_k=np.inf)).text


def test_the_validation_is_read_from_its_row():
    rows = validation.run()
    row = rows.set_index("result_id").loc["llama3-diurnal"]
    text = thermal.words.validated(rows).text
    assert numbers("# K of swing with # of # W", text) == [8, 90, 700]
    assert numbers("give #%", text) == pytest.approx([100 * row["computed"]], abs=0.005)
    assert row["verdict"] == "consistent" and "is consistent:" in text


def test_the_hottest_of_many(run):
    table = table_of(thermal.tables.pace_by_size)
    text = thermal.words.by_size(table).text
    for when, pattern in (("mean hour", "costs #% at a mean hour"), ("hottest hour", "and #% at the hottest")):
        one = table[table["when"] == when].sort_values("n_gpus")["speed"]
        assert numbers(pattern, text) == pytest.approx([100 * (1 - one.iloc[-1] / one.iloc[0])], **TENTH)
    hot = table[(table["when"] == "hottest hour") & (table["limited_by"] != "power")]
    assert numbers("From about # GPUs", text) == pytest.approx([hot["n_gpus"].min()], rel=0.06)
    cool = thermal.tables.warmed(Scenario.load("rsc-1"), cooling="cold_plate")
    assert "At no size shown" in thermal.words.by_size(thermal.tables.pace_by_size(cool)).text


def test_what_a_climate_costs_by_plant(run):
    table = table_of(thermal.tables.by_climate)
    text = thermal.words.climate(run, table).text
    for plant, name in (("outdoor air", "air_economiser"), ("cold plates", "cold_plate")):
        lost = np.ptp(table[table["cooling"] == name]["effective"])
        assert numbers(f"{plant} # points", text) == pytest.approx([100 * lost], **TENTH)
    own = thermal.tables.cooling_at(run).set_index("cooling")
    speed = 100 * (own.loc["cold_plate", "speed"] - own.loc["air_economiser", "speed"])
    failures = 100 * (own.loc["cold_plate", "ettr"] - own.loc["air_economiser", "ettr"])
    expected = [speed, failures]
    assert numbers("a difference of # points in speed and # points in ETTR", text) == pytest.approx(expected, **TENTH)


def test_a_climate_that_a_plant_does_not_bear_is_told(run):
    table = table_of(thermal.tables.by_climate)
    cut = table[(table["cooling"] != "immersion") | (table["mean_c"] < 31)]
    text = thermal.words.climate(run, cut).text
    assert "Above 30 °C immersion would leave the hottest GPU no power" in text and "immersion 1" not in text


def test_titan_is_told_with_its_ratios_and_its_weakness():
    text = thermal.words.titan(thermal.failure_tables.titan_cages()).text
    assert numbers("double-bit errors # and GPUs off the bus #", text) == [2.25, 2.9]
    assert "Temperatures are not in the data" in text and "corrosion" in text


def test_beliefs_are_told_apart_and_not_as_uncertainty(run):
    table = table_of(thermal.failure_tables.by_warming)
    text, at = thermal.words.warming(run, table).text, table[table["warming_k"] == 10].set_index("case")["ettr"]
    for case in ("25% at 0.3 eV", "50% at 0.7 eV", "all at 1.2 eV"):
        expected = 100 * (at["none is activated"] - at[case])
        assert numbers(f"{case}: # points", text) == pytest.approx([expected], **TENTH)
    assert numbers("takes # times the observed", text) == pytest.approx([run.heat_rate_factor], abs=0.005)


def test_a_scenario_without_gpus_among_its_modes_says_that_heat_activates_none():
    run = Scenario.load("rsc-1").override({"heat": {"mean_c": 20}, "failures.modes": [{"name": "Cables", "share": 1}]})
    assert "none can be activated" in thermal.words.warming(run, thermal.failure_tables.by_warming(run)).text


def test_cycles_are_counted_and_weighed(run):
    table = thermal.failure_tables.stop_and_restart(run)
    text = thermal.words.cycles(run, table).text
    assert numbers("stops for a failure # times", text) == pytest.approx([run.work_h / run.job_mttf_h], abs=0.51)
    swings = table.groupby("medium")["die_c"].agg(np.ptp)
    expected = [swings["air"], swings["cold_plate"]]
    assert numbers("by # K by air, # K by cold plate", text) == pytest.approx(expected, abs=0.51)
    worse = (swings.max() / swings.min()) ** 2
    assert numbers("wears joints # times as fast", text) == pytest.approx([worse], abs=0.006)


def test_ten_kelvins_by_law():
    text = thermal.words.hazard_laws(thermal.failure_tables.laws(74.0), 74.0).text
    assert numbers(r"0.7 eV: #", text) == pytest.approx([1.93], abs=0.006)
    assert numbers(r"linear, 2% per kelvin: #", text) == [1.2]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("llama3-405b", kind) for kind in HALLS),
        ("rsc-1", "liquid"),
        ("bloom-176b", "cold"),
        *(pytest.param("rsc-1", kind, marks=pytest.mark.slow) for kind in HALLS if kind != "liquid"),
        *(pytest.param("bloom-176b", kind, marks=pytest.mark.slow) for kind in HALLS if kind != "cold"),
    ],
)
def test_sentences_are_sane_in_every_hall(name, kind):
    run = hall(name, kind)
    tables = (
        thermal.tables.pace_by_size,
        thermal.tables.by_climate,
        thermal.failure_tables.by_warming,
        thermal.failure_tables.stop_and_restart,
    )
    by_size, by_climate, by_warming, stops = (table_of(function, name, kind) for function in tables)
    for finding in (
        *(thermal.words.answer(run), thermal.words.afternoon(run), thermal.words.pace(run)),
        thermal.words.by_size(by_size),
        thermal.words.climate(run, by_climate),
        thermal.words.warming(run, by_warming),
        thermal.words.cycles(run, stops),
    ):
        check_words(finding.title)
        text = finding.text.replace("***", "**")  # a bold sentence may begin with a title in italics
        # where it is colder than where rates were observed, the speed is above 100%
        check_words(text, signed=bool(re.search("ETTR times speed|% of the observed speed", text)))
        assert len(finding.title) < 120 and finding.text.endswith(".")
