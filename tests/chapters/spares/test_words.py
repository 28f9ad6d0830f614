"""Sentences on spares: their numbers, read back from the results, and sane words for any run."""

from __future__ import annotations

import re
from functools import cache

import pytest

from ettr import Scenario, evidence, plan, spares
from ettr.chapters import spares as spares_chapter
from ettr.chapters.spares.option_tables import IN_RACKS, SERVERS
from ettr.chapters.spares.tables import ONE_BY_ONE

NUMBER = r"-?\d[\d,]*(?:\.\d+)?"
OVERRIDES = {
    "as it is": {},
    "no failures": {"failures.rate_per_1000_node_days": 0},
    "one node": {"cluster.n_gpus": 8},
}
PRESETS = evidence.scenario_names()


def numbers(pattern: str, text: str) -> list[float]:
    match = re.search(pattern.replace("#", f"({NUMBER})"), text)
    assert match, f"{pattern!r} is not in {text!r}"
    return [float(group.replace(",", "")) for group in match.groups()]


@cache
def run(name: str = "llama3-405b", changed: str = "as it is") -> spares_chapter.tables.PooledRun:
    return spares_chapter.tables.pooled_run(Scenario.load(name).override(OVERRIDES[changed]))


@cache
def simulated(name: str = "llama3-405b", changed: str = "as it is"):
    return spares_chapter.tables.simulated_pools(run(name, changed), n_runs=8)


@cache
def elastic(name: str = "llama3-405b", changed: str = "as it is"):
    return spares_chapter.option_tables.elastic_pools(run(name, changed), n_runs=8)


def sentences(name: str, changed: str) -> list:
    one, many = run(name, changed), simulated(name, changed)
    racks = spares_chapter.option_tables.rack_choices(one)
    options = spares_chapter.option_words
    return [
        spares_chapter.words.answer(one, many),
        spares_chapter.words.given(one),
        spares_chapter.words.levels(one, spares_chapter.tables.pools_by_level(one)),
        spares_chapter.words.shares(
            one, spares_chapter.tables.shares_by_size(one, 40), 0.05, spares_chapter.tables.largest_for_share(one, 0.05)
        ),
        spares_chapter.words.cost(one, spares_chapter.tables.cost_by_pool(one), many),
        spares_chapter.words.money(spares_chapter.tables.paid_by_pool(many), one),
        spares_chapter.words.repair(
            one, spares_chapter.tables.cost_by_repair(one, 8), spares_chapter.tables.staged_repair_h()
        ),
        options.racks(racks, 72, 8),
        options.losses(racks, spares_chapter.option_tables.published_loss()),
        options.elastic(elastic(name, changed), one),
        options.shared(spares_chapter.option_tables.shared_options(one), 2, 20.0),
    ]


@pytest.mark.parametrize("changed", OVERRIDES)
@pytest.mark.parametrize("name", PRESETS)
def test_words_are_sane_for_every_run(name, changed):
    if changed == "one node" and Scenario.load(name).job.tokens is not None:
        pytest.skip("its model does not fit a node")
    for finding in sentences(name, changed):
        for text in (finding.title, finding.text):
            assert text and text == text.strip()
            plain = re.sub(r" ?\{cite:p\}`\w+`", "", text)
            assert not re.search(r"\b(nan|inf|None|NaN|Series|dtype)\b", plain), plain
            assert not re.search(r"[{}\[\]]|\b(\w+) \1\b|\d[eE][+-]?\d|  | [,;]|\.\.|(?<![\w-])-\d", plain), plain
            assert not re.search(r"(?<![\d.,])1 (spares|nodes|racks)\b|\bno spares is\b", plain), plain
            assert text.count("(") == text.count(")") and text.count("**") % 2 == 0


def test_the_answer_names_the_cheapest_pool_and_its_flat_range():
    finding = spares_chapter.words.answer(run(), simulated())
    best = run().best
    assert finding.title == "17 spares are cheapest, 0.83% of the 2,048 nodes"
    assert numbers("add #% to the cost of the work, and pools of # to # cost the same", finding.text) == pytest.approx(
        [100 * (best.cost - 1), best.low, best.high], abs=5e-3
    )
    assert numbers("Without any the job would wait #% of the time", finding.text) == pytest.approx(
        [100 * spares.waiting_share(0, run().in_repair)], abs=0.5
    )
    half = spares.cheapest_pool(run().in_repair / 2, 2048)
    assert numbers("half the time would take # spares and add #%", finding.text) == pytest.approx(
        [half.n_spares, 100 * (half.cost - 1)], abs=5e-3
    )
    single = simulated()[simulated()["pool"] == ONE_BY_ONE]
    least = single.loc[single["cost"].idxmin()]
    assert numbers("simulated, # is the cheapest, with an ETTR of #%", finding.text) == pytest.approx(
        [least["n_spares"], 100 * least["ettr"]], abs=0.051
    )


def test_what_is_assumed_of_repair_is_called_so():
    assert "24 h are assumed" in spares_chapter.words.given(run()).text
    own = spares_chapter.tables.pooled_run(
        Scenario.load("rsc-1").override({"spares": {"n_nodes": 4}, "repair": {"manual_h": 12}, "failures.lemons": None})
    )
    assert "says how its nodes are repaired: 12 h" in spares_chapter.words.given(own).text
    assert "no band" in spares_chapter.words.given(own).text


def test_what_the_closed_form_knows_nothing_of_is_named():
    own = {"spares": {"n_nodes": 4, "n_cold": 2, "fetch_min": 60}, "repair": {"manual_h": 12, "n_crew": 20}}
    one = spares_chapter.tables.pooled_run(Scenario.load("rsc-1").override(own))
    text = spares_chapter.words.answer(one, spares_chapter.tables.simulated_pools(one, n_runs=6)).text
    assert "by the closed form: one missing" in text
    assert "knows nothing of few repair crews and pre-emptible or cold nodes" in text
    assert "simulation is right" not in spares_chapter.words.answer(run(), simulated()).text


def test_levels_are_told_with_their_waits_and_costs():
    text = spares_chapter.words.levels(run(), spares_chapter.tables.pools_by_level(run())).text
    a, held = run().in_repair, spares.poisson_pool(run().in_repair, 0.99)
    values = numbers(
        "99% of the time has # spares and lets the whole job wait #% of the time, at an extra cost of #%", text
    )
    waits, cost = spares.waiting_share(held, a), spares.pool_cost(held, a, 2048) - 1
    assert values == pytest.approx([held, 100 * waits, 100 * cost], abs=5e-3)


def test_cells_of_the_table_are_in_per_cent():
    table = spares_chapter.tables.pools_by_level(run())
    cells = spares_chapter.charts.levels(table, "Levels").frame
    assert cells["Spares"].tolist() == table["n_spares"].tolist()
    assert cells["Extra cost [%]"].to_numpy() == pytest.approx(100 * (table["cost"].to_numpy() - 1))


def test_the_published_share_is_held_against_size_and_unavailability():
    text = spares_chapter.words.shares(run(), spares_chapter.tables.shares_by_size(run()), 0.05, 60).text
    assert numbers("jobs of up to about # nodes", text) == [60]
    (limit, here) = numbers("in repair #% of the time; here it is #%", text)
    assert limit == pytest.approx(100 * spares_chapter.tables.unavailability_for(2048, 0.05, 0.999), abs=5e-3)
    assert here == pytest.approx(100 * run().in_repair / (2048 + run().in_repair), abs=5e-3)


def test_sides_of_the_minimum_are_told_from_the_curve():
    closed = spares_chapter.tables.cost_by_pool(run())
    text = spares_chapter.words.cost(run(), closed, simulated()).text
    few, step, at_few, at_many, best, least = numbers(
        "With # spares, # too few, the extra cost is #%; with as many too many it is #%, and with # #%", text
    )
    by = closed.set_index("n_spares")["extra"]
    assert best == 17 and few + step == best
    assert [at_few, at_many, least] == pytest.approx([100 * by[n] for n in (few, best + step, best)], abs=5e-3)


def test_money_is_the_price_of_the_hours():
    frame = spares_chapter.tables.paid_by_pool(simulated())
    least = frame[frame["is_least"]].iloc[0]
    text = spares_chapter.words.money(frame, run()).text
    assert numbers("for # GPU-hours of theirs", text) == pytest.approx([least["held_gpu_h"]], abs=0.51)
    assert "2 USD an hour of a GPU (assumed)" in text


def test_repair_is_told_with_and_without_a_pool_that_follows():
    text = spares_chapter.words.repair(run(), spares_chapter.tables.cost_by_repair(run(), 8), 40.4).text
    twice = spares.cheapest_pool(2 * run().in_repair, 2048)
    assert numbers("that is then cheapest, # spares, #%", text) == pytest.approx(
        [twice.n_spares, 100 * (twice.cost - 1)], abs=5e-3
    )
    staged = spares.cheapest_pool(run().in_repair / 24 * 40.4, 2048).n_spares
    assert numbers("last # h .*, for which # spares would be cheapest", text) == [40.4, staged]


@pytest.mark.parametrize("target", [0.9, 0.95])
def test_what_a_target_takes_is_told(target):
    held = run().scenario.override({"spares.n_nodes": 0})
    need = plan.required(held, "spares.n_nodes", target)
    finding = spares_chapter.words.required(need)
    if need.value is None:
        assert numbers("never run out leave #%", finding.text) == pytest.approx([100 * need.best_ettr], abs=0.051)
        assert "No pool reaches" in finding.title
    else:
        assert finding.title == f"{need.value:.0f} spares are the fewest for an ETTR of 90.0%"


def test_racks_are_told_at_equal_gpus():
    choices = spares_chapter.option_tables.rack_choices(run())
    text = spares_chapter.option_words.racks(choices, 72, 8).text
    assert numbers("fills # racks with # of # GPUs", text) == [256, 64, 72]
    frame = choices.frame
    few = [frame[(frame["way"] == way) & (frame["short"] <= 1e-3)].iloc[0] for way in (IN_RACKS, SERVERS)]
    values = numbers(r"each rack #% \(# a rack\), a pool of servers #% \(#\)", text)
    assert values == pytest.approx(
        [100 * few[0]["held"], few[0]["n_spares"], 100 * few[1]["held"], few[1]["n_spares"]], abs=0.051
    )


def test_losses_are_those_of_the_domains():
    text = spares_chapter.option_words.losses(
        spares_chapter.option_tables.rack_choices(run()), spares_chapter.option_tables.published_loss()
    ).text
    assert numbers("loses #% of its throughput in domains of 8 GPUs and #% in domains of 72", text) == pytest.approx(
        [100 * spares.domain_unavailability(0.001, 8), 100 * spares.domain_unavailability(0.001, 72)], abs=0.051
    )


def test_where_the_lines_meet_is_told():
    frame = elastic()
    text = spares_chapter.option_words.elastic(frame, run()).text
    assert numbers("reaches an ETTR of #%; one of # replicas that goes on with # of them or more #%", text) == (
        pytest.approx([100 * frame["ettr_waits"][0], 128, 115, 100 * frame["ettr_shrinks"][0]], abs=0.051)
    )
    assert numbers("From # spares on", text) == [spares.crossing(frame)]
    always = spares_chapter.option_words.elastic(frame.assign(more_low=0.1), run())
    assert always.title == "Going on with fewer replicas beats waiting with any of these pools"
    worse = frame.assign(more=-0.01, more_low=-0.02, more_high=-0.005)
    assert "and waiting from there" in spares_chapter.option_words.elastic(worse, run()).title


def test_options_of_the_shared_cluster_are_told_with_their_useful_nodes():
    frame = spares_chapter.option_tables.shared_options(run()).set_index("order", drop=False)
    finding = spares_chapter.option_words.shared(frame, 2, 20.0)
    assert numbers("Failing half as often wins most for the whole cluster: # useful nodes", finding.title) == (
        pytest.approx([frame.loc[5, "total_more"]], abs=0.05)
    )
    assert numbers("pre-empts # small jobs a day", finding.text) == pytest.approx(
        [frame.loc[4, "preemptions_per_day"]], abs=0.5
    )
    assert numbers(r", #% of all that is lost; published for RSC are #%", finding.text) == pytest.approx(
        [17, 16], abs=0.5
    )
