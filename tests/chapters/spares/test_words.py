"""Sentences on spares: their numbers, read back from the results, and sane words for any run."""

from __future__ import annotations

import re

import pytest

from computed.chapters import presets_and_extremes
from computed.spares import run, table
from ettr import Scenario, plan, spares
from ettr.chapters import spares as spares_chapter
from ettr.chapters.spares import option_tables, tables
from ettr.chapters.spares.option_tables import IN_RACKS, SERVERS
from ettr.chapters.spares.tables import ONE_BY_ONE
from sentences_read import check_words, numbers


def sentences(*which: str) -> list:
    one, many = run(*which), table("simulated", *which)
    racks = spares_chapter.option_tables.rack_choices(one)
    largest = spares_chapter.tables.largest_for_share(one, 0.05)
    return [
        spares_chapter.words.answer(one, many),
        spares_chapter.words.given(one),
        spares_chapter.words.levels(one, table("levels", *which)),
        spares_chapter.words.shares(one, table("shares", *which), 0.05, largest),
        spares_chapter.words.cost(one, table("cost", *which), many),
        spares_chapter.words.money(table("money", *which), one),
        spares_chapter.words.repair(one, table("repair", *which), spares_chapter.tables.staged_repair_h()),
        spares_chapter.option_words.racks(racks, 72, 8),
        spares_chapter.option_words.losses(racks, spares_chapter.option_tables.published_loss()),
        spares_chapter.option_words.elastic(table("elastic", *which), one),
        spares_chapter.option_words.shared(table("shared", *which), 2, 20.0),
    ]


SAY, OPTIONS = spares_chapter.words, spares_chapter.option_words


@pytest.mark.parametrize(("name", "extreme"), presets_and_extremes(extremes=("as it is", "no failures", "one node")))
def test_words_are_sane_for_every_run(name, extreme):
    for finding in sentences(name, extreme):
        for text in (finding.title, finding.text):
            # spare GPUs may be more than those of a small job
            plain = re.sub(r"(pool of whole racks) [\d.]+%", r"\1", text)
            check_words(plain)
            assert not re.search(r"(?<![\d.,])1 (spares|nodes|racks)\b|\bno spares is\b", plain), plain


def test_the_answer_names_the_cheapest_pool_and_its_flat_range():
    finding = SAY.answer(run(), table("simulated"))
    best = run().best
    assert finding.title == "17 spares are cheapest, 0.83% of the 2,048 nodes"
    assert numbers("add #% to the cost of the work, and pools of # to # cost the same", finding.text) == pytest.approx(
        [100 * (best.cost - 1), best.low, best.high], abs=5e-3
    )
    expected = [100 * spares.waiting_share(0, run().in_repair)]
    assert numbers("Without any the job would wait #% of the time", finding.text) == pytest.approx(expected, abs=0.5)
    half = spares.cheapest_pool(run().in_repair / 2, 2048)
    expected = [half.n_spares, 100 * (half.cost - 1)]
    assert numbers("half the time would take # spares and add #%", finding.text) == pytest.approx(expected, abs=5e-3)
    single = table("simulated")[table("simulated")["pool"] == ONE_BY_ONE]
    least = single.loc[single["cost"].idxmin()]
    assert numbers("simulated, # is the cheapest, with an ETTR of #%", finding.text) == pytest.approx(
        [least["n_spares"], 100 * least["ettr"]], abs=0.051
    )


def test_what_is_assumed_of_repair_is_called_so():
    assert "24 h are assumed" in SAY.given(run()).text
    own = tables.pooled_run(
        Scenario.load("rsc-1").override({"spares": {"n_nodes": 4}, "repair": {"manual_h": 12}, "failures.lemons": None})
    )
    assert "says how its nodes are repaired: 12 h" in SAY.given(own).text
    assert "no band" in SAY.given(own).text


def test_what_the_closed_form_knows_nothing_of_is_named():
    own = {"spares": {"n_nodes": 4, "n_cold": 2, "fetch_min": 60}, "repair": {"manual_h": 12, "n_crew": 20}}
    one = tables.pooled_run(Scenario.load("rsc-1").override(own))
    text = SAY.answer(one, tables.simulated_pools(one, n_runs=6)).text
    assert "by the closed form: one missing" in text
    assert "knows nothing of few repair crews and pre-emptible or cold nodes" in text
    assert "simulation is right" not in SAY.answer(run(), table("simulated")).text


def test_levels_are_told_with_their_waits_and_costs():
    text = SAY.levels(run(), table("levels")).text
    a, held = run().in_repair, spares.poisson_pool(run().in_repair, 0.99)
    values = numbers(
        "99% of the time has # spares and lets the whole job wait #% of the time, at an extra cost of #%", text
    )
    waits, cost = spares.waiting_share(held, a), spares.pool_cost(held, a, 2048) - 1
    assert values == pytest.approx([held, 100 * waits, 100 * cost], abs=5e-3)


def test_the_published_share_is_held_against_size_and_unavailability():
    text = SAY.shares(run(), table("shares"), 0.05, 60).text
    assert numbers("jobs of up to about # nodes", text) == [60]
    (limit, here) = numbers("in repair #% of the time; here it is #%", text)
    assert limit == pytest.approx(100 * tables.unavailability_for(2048, 0.05, 0.999), abs=5e-3)
    assert here == pytest.approx(100 * run().in_repair / (2048 + run().in_repair), abs=5e-3)


def test_sides_of_the_minimum_are_told_from_the_curve():
    closed = table("cost")
    text = SAY.cost(run(), closed, table("simulated")).text
    few, step, at_few, at_many, best, least = numbers(
        "With # spares, # too few, the extra cost is #%; with as many too many it is #%, and with # #%", text
    )
    by = closed.set_index("n_spares")["extra"]
    assert best == 17 and few + step == best
    assert [at_few, at_many, least] == pytest.approx([100 * by[n] for n in (few, best + step, best)], abs=5e-3)


def test_money_is_the_price_of_the_hours():
    frame = table("money")
    least = frame[frame["is_least"]].iloc[0]
    text = SAY.money(frame, run()).text
    assert numbers("for # GPU-hours of theirs", text) == pytest.approx([least["held_gpu_h"]], abs=0.51)
    assert "2 USD an hour of a GPU (assumed)" in text


def test_repair_is_told_with_and_without_a_pool_that_follows():
    text = SAY.repair(run(), table("repair"), 40.4).text
    twice = spares.cheapest_pool(2 * run().in_repair, 2048)
    expected = [twice.n_spares, 100 * (twice.cost - 1)]
    assert numbers("that is then cheapest, # spares, #%", text) == pytest.approx(expected, abs=5e-3)
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
    choices = option_tables.rack_choices(run())
    text = OPTIONS.racks(choices, 72, 8).text
    assert numbers("fills # racks with # of # GPUs", text) == [256, 64, 72]
    frame = choices.frame
    few = [frame[(frame["way"] == way) & (frame["short"] <= 1e-3)].iloc[0] for way in (IN_RACKS, SERVERS)]
    values = numbers(r"each rack #% \(# a rack\), a pool of servers #% \(#\)", text)
    assert values == pytest.approx(
        [100 * few[0]["held"], few[0]["n_spares"], 100 * few[1]["held"], few[1]["n_spares"]], abs=0.051
    )


def test_losses_are_those_of_the_domains():
    text = OPTIONS.losses(option_tables.rack_choices(run()), option_tables.published_loss()).text
    assert numbers("loses #% of its throughput in domains of 8 GPUs and #% in domains of 72", text) == pytest.approx(
        [100 * spares.domain_unavailability(0.001, 8), 100 * spares.domain_unavailability(0.001, 72)], abs=0.051
    )


def test_where_the_lines_meet_is_told():
    frame = table("elastic")
    text = OPTIONS.elastic(frame, run()).text
    assert numbers("reaches an ETTR of #%; one of # replicas that goes on with # of them or more #%", text) == (
        pytest.approx([100 * frame["ettr_waits"][0], 128, 115, 100 * frame["ettr_shrinks"][0]], abs=0.051)
    )
    assert numbers("From # spares on", text) == [spares.crossing(frame)]
    always = OPTIONS.elastic(frame.assign(more_low=0.1), run())
    assert always.title == "Going on with fewer replicas beats waiting with any of these pools"
    worse = frame.assign(more=-0.01, more_low=-0.02, more_high=-0.005)
    assert "and waiting from there" in OPTIONS.elastic(worse, run()).title


def test_options_of_the_shared_cluster_are_told_with_their_useful_nodes():
    frame = table("shared").set_index("order", drop=False)
    finding = OPTIONS.shared(frame, 2, 20.0)
    assert numbers("Failing half as often wins most for the whole cluster: # useful nodes", finding.title) == (
        pytest.approx([frame.loc[5, "total_more"]], abs=0.05)
    )
    expected = [frame.loc[4, "preemptions_per_day"]]
    assert numbers("pre-empts # small jobs a day", finding.text) == pytest.approx(expected, abs=0.5)
    assert numbers(r", #% of all that is lost; published for RSC are #%", finding.text) == pytest.approx(
        [17, 16], abs=0.5
    )
