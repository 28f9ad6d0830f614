"""The sentences of the chapter on tiers, for every preset and at the extremes, and their numbers read back."""

from __future__ import annotations

import pytest

from computed.chapters import presets_and_extremes
from computed.tiers import LATENCY_H, LEAD_S, ONE, RISK, n_bytes, scenario, table
from ettr import Scenario, budget, checkpoint
from ettr.chapters import checkpoint_tiers
from ettr.core.sentences import Finding, points
from sentences_read import check_words


def stores(run: Scenario) -> Finding:
    crossings = checkpoint_tiers.tables.bandwidth_crossings(run, n_bytes(run), 100_000)
    published = checkpoint_tiers.tables.published_stores(n_bytes(run))
    return checkpoint_tiers.words.by_bandwidth(run, crossings, published, n_bytes(run))


def announced(run: Scenario, lead_s: float = LEAD_S) -> Finding:
    tables = checkpoint_tiers.prediction_tables
    return checkpoint_tiers.prediction_words.announced(
        tables.announced(run, lead_s, [0.1], 12), tables.predictors_here(run, lead_s), tables.answer_s(run), lead_s
    )


def found_late(run: Scenario) -> Finding:
    tables = checkpoint_tiers.prediction_tables
    share, whose = tables.silent_share(run, "Silent Data Corruption")
    frame = tables.found_late(run, share, LATENCY_H, 8)
    return checkpoint_tiers.prediction_words.found_late(frame, share, whose, LATENCY_H)


SENTENCES = {
    "answer": lambda *run: checkpoint_tiers.words.answer(table("ladder", *run), scenario(*run)),
    "ladder": lambda *run: checkpoint_tiers.words.ladder(table("ladder", *run)),
    "placements": lambda *run: checkpoint_tiers.words.placements(table("placements", *run), scenario(*run).n_nodes, 32),
    "intervals": lambda *run: checkpoint_tiers.words.intervals(table("intervals", *run)),
    "by_bandwidth": lambda *run: stores(scenario(*run)),
    "announced": lambda *run: announced(scenario(*run)),
    "found_late": lambda *run: found_late(scenario(*run)),
    "to_keep": lambda *run: checkpoint_tiers.prediction_words.to_keep(table("to_keep", *run), RISK, LATENCY_H),
}
SEARCHED = ONE, "h100-100k"
"""The best intervals of all tiers take long to find."""


@pytest.mark.parametrize(("name", "extreme"), [*presets_and_extremes(), (ONE, "two nodes")])
def test_sentences_are_sane_for_every_preset_and_extreme(name, extreme):
    for sentence, say in SENTENCES.items():
        if sentence == "intervals" and (name not in SEARCHED or extreme == "two nodes"):
            continue
        finding = say(name, extreme)
        assert isinstance(finding, Finding), sentence
        check_words(finding.title)
        check_words(finding.text)
        assert finding.text.endswith(".") and not finding.title.endswith("."), sentence
        assert len(finding.title) < 120, finding.title


SAY = checkpoint_tiers.words


def test_a_run_that_never_ends_has_no_best_intervals():
    choices = table("intervals", "opt-175b", "a million GPUs")
    assert not (choices["ettr"] > 1e-9).any()
    assert SAY.intervals(choices).title == "No choice of intervals ends the run"


def test_the_answer_is_what_the_exact_form_gives(llama3):
    base = checkpoint_tiers.tables.store_only(llama3)
    alone = budget.exact(base.override({"checkpoint.interval_min": 7.697463})).ettr
    text = SAY.answer(table("ladder"), llama3).text
    assert f"an ETTR of {100 * alone:.1f}%;" in text and "97.6%" in text


def test_gains_of_the_ladder_are_differences_of_its_ettrs():
    frame = table("ladder")
    ettr = frame.drop_duplicates("rung").set_index("rung")["ettr"]
    text = SAY.ladder(frame).text
    assert f"a gain of {points(ettr['+ peer memory'] - ettr['+ host memory'])} with peer memory" in text
    assert "23.2% of failures" in text  # 98 of 419, less the share that takes several nodes
    costs = SAY.ladder(table("ladder", "rsc-1")).text
    assert "a loss of 0.2 points with host memory" in costs and "Host memory alone saves nothing" in costs


def test_placement_stands_beside_the_published_figure():
    text = SENTENCES["placements"]().text
    assert "in groups of two, the bound gives 93.3%; counted here: 93.3%" in text
    assert f"in {100 * checkpoint.peer_survival(2048, 32, 2):.1f}% of cases if placed in groups" in text
    assert f"in {100 * checkpoint.peer_survival(2048, 32, 3, 'ring'):.1f}% in a ring" in text


def test_published_bandwidths_give_the_published_times(llama3):
    text = stores(llama3).text
    assert "2.43 s (Llama 3, sustained, 2,000 GB/s), 0.69 s (Llama 3, peak, 7,000 GB/s)" in text
    # 4.86 TB within the best interval of 7.697 min
    assert f"below {4860 / (7.697463 * 60):.1f} GB/s on 16,384 GPUs" in text


def test_announcements_that_come_too_late_change_nothing(llama3):
    late = announced(llama3, lead_s=60.0)  # the answer takes 70 s
    assert late.title == "The announcements come too late to act on"
    in_time = announced(llama3)
    assert "11.7 min at 10.0%, 2.52 min at 46.3% and 1.37 min at 85.4%" in in_time.text  # 70 s over the precision
    assert "a recall of 88.2%" in in_time.text


def test_a_share_of_silent_failures_is_charged_its_latency(llama3):
    run = checkpoint_tiers.tables.store_only(llama3).override(
        {"checkpoint.persist_s": 0, "checkpoint.interval_min": 7.697463}
    )
    before = budget.first_order(run).ettr
    lost = 6 / 419 * run.job_rate_per_h * LATENCY_H
    assert f"cost {points(lost)} of ETTR" in found_late(llama3).text
    assert before - lost > 0.5  # the form still has an answer


def test_checkpoints_to_keep_follow_from_latency_and_interval():
    text = SENTENCES["to_keep"]().text
    assert "185 at one every 7.7 min and 25 at one every 1 h" in text
    slow = SENTENCES["to_keep"]("glm-130b").text
    assert "1.61 h" in slow and "every 1 h" not in slow  # thinning out to less than the interval is none
