"""Sentences on the number of GPUs: their numbers, read back from the results."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from ettr.chapters.how_many_gpus.scaling_option_tables import ELASTIC, FEW_SPARES

from computed.how_many_gpus import (
    JOBS,
    LARGE_MW,
    LOOSE_MW,
    NEVER_MW,
    SMALL_MW,
    TOKENS,
    answer,
    fastest_gpus,
    job,
    run,
    table,
)
from ettr import evidence, sizing
from ettr.chapters import how_many_gpus
from ettr.chapters.how_many_gpus import scaling_option_tables as options
from ettr.core.sentences import Finding
from sentences_read import check_words, numbers

ORDINARY = (TOKENS, "opt-175b", "one node", "a million", "no failures", "free", "hot", "no restart")
"""Jobs that differ in what there is to say."""


def findings(name: str) -> list[Finding]:
    """All that the chapter says of a job, in its order."""
    sizes, fastest = answer(name), fastest_gpus(name)
    return [
        how_many_gpus.words.answer(sizes),
        how_many_gpus.words.given(job(name), sizes),
        how_many_gpus.words.returns(run(name), table("returns", name), sizes),
        how_many_gpus.words.step(table("step", name), run(name).cluster.n_gpus, fastest),
        how_many_gpus.words.cost(table("cost", name), table("marked", name), table("in_time", name), sizes),
        how_many_gpus.words.limits(table("limits", name), sizes),
        how_many_gpus.scaling_option_words.turning(table("turning", name)),
        how_many_gpus.scaling_option_words.large(table("large", name)),
        how_many_gpus.scaling_option_words.ways(table("peaks", name)),
        how_many_gpus.scaling_option_words.elastic(table("elastic", name)),
    ]


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in ORDINARY else pytest.mark.slow) for n in JOBS])
def test_sentences_are_sane_for_every_preset_and_at_the_extremes(name):
    for finding in findings(name):
        check_words(finding.title, signed=True)
        check_words(finding.text, signed=True)
        assert len(finding.title) < 120
        assert finding.text.endswith(".")
    cells = how_many_gpus.scaling_option_words.large_cells(table("large", name)).to_string(index=False)
    assert not re.search(r"\b(inf|None)\b", cells)


def test_the_answer_gives_the_next_gpu_the_turning_point_and_the_best_sizes():
    text, fastest = how_many_gpus.words.answer(answer()).text, answer().best["fastest"]
    share = 100 * sizing.next_gpu(run()).share
    assert numbers("With # GPUs, the next one adds #% of", text) == pytest.approx([16384, share], abs=0.5)
    assert numbers("from # on", text) == [sizing.turning_point(run())]
    assert numbers(r"The fastest size is # GPUs \(# to #\)", text) == pytest.approx(
        [fastest.n_gpus, fastest.n_gpus_low, fastest.n_gpus_high], rel=5e-3
    )
    ends = [float(at.days) for at in (fastest.yields, fastest.low, fastest.high)]
    assert numbers(r"GPUs \([^)]*\): # days \(# to #\)", text) == pytest.approx(ends, abs=0.051)
    assert "The cheapest is the greenest as well" in text


def test_an_answer_beyond_the_turning_point_says_that_gpus_take():
    finding = how_many_gpus.words.answer(sizing.make(run().override({"cluster.n_gpus": 229_376})))
    share = sizing.next_gpu(run(), 229_376).share
    assert share < 0
    assert numbers("takes away #% of", finding.text) == pytest.approx([-100 * share], abs=0.5)


def test_an_answer_where_the_batch_ends_names_it():
    finding = how_many_gpus.words.answer(answer("perfect"))
    assert "where the batch ends" in finding.title
    assert "a batch of 16.8 million tokens leaves nothing" in finding.text


def test_an_answer_without_prices_says_so():
    text = how_many_gpus.words.answer(answer("no prices")).text
    assert "No size is the cheapest, since nothing has a price here." in text and "USD" not in text


def test_what_was_changed_is_told():
    assert "gives its job by tokens" in how_many_gpus.words.given(job(), answer()).text
    text = how_many_gpus.words.given(job("tiny"), answer("tiny")).text
    assert numbers("# trillion tokens", text) == [15.6]
    assert "70 billion parameters in 72 layers, since 405 billion do not fit" in text


def test_what_is_left_on_a_size_is_its_throughput_and_its_ettr():
    text = how_many_gpus.words.returns(run(), table("returns"), answer()).text
    at = sizing.yields(run(), np.array([16384.0, 32768.0]))
    assert numbers("failures and stops #% of the rest: # billion", text) == pytest.approx(
        [100 * at.ettr[0], at.useful_tokens_per_day[0] / 1e9], abs=0.51
    )
    twice = at.useful_tokens_per_day[1] / at.useful_tokens_per_day[0]
    assert numbers("Twice this job's GPUs would yield # times", text) == pytest.approx([twice], abs=0.005)
    assert "no section on it" in text


def test_a_step_is_told_by_its_utilisation_and_what_grows():
    fastest = fastest_gpus(TOKENS)
    text = how_many_gpus.words.step(table("step"), 16384, fastest).text
    mfu = 100 * sizing.yields(run(), np.array([16384.0, fastest])).mfu
    assert numbers("On 16,384 GPUs, #% of a step", text) == pytest.approx([mfu[0]], abs=0.5)
    assert numbers("that is #%", text) == pytest.approx([mfu[1]], abs=0.5)
    assert "What grows most with more GPUs is the empty pipeline" in text


def test_the_cost_of_being_fast():
    text = how_many_gpus.words.cost(table("cost"), table("marked"), table("in_time"), answer()).text
    fastest, cheapest = answer().best["fastest"].yields, answer().best["cheapest"]
    ratio = float(fastest.usd / cheapest.yields.usd)
    assert numbers("Least cost is at # GPUs", text) == [cheapest.n_gpus]
    assert numbers("as fast for # times the cost", text) == pytest.approx([ratio], abs=0.005)
    carbon = 100 * float(table("in_time").yields.t_co2 / fastest.t_co2)
    assert numbers("with #% of its carbon", text) == pytest.approx([carbon], abs=0.5)
    sizes = answer("no prices")
    marked = how_many_gpus.tables.marked_sizes(sizes, None, "MWh")
    text = how_many_gpus.words.cost(table("cost", "no prices"), marked, None, sizes).text
    assert text.startswith("Nothing has a price in this scenario")
    assert numbers("Least electricity is at # GPUs", text) == [sizes.best["greenest"].n_gpus]


def test_limits_are_told_and_those_that_no_size_keeps_are_counted():
    frame = table("limits")
    frame = frame[(frame["limit"] != "power") | (frame["value"] < LOOSE_MW)]
    text = how_many_gpus.words.limits(frame, answer()).text
    assert "Budgets and deadlines lie between" in text
    power = frame[(frame["limit"] == "power") & (frame["why"] == "")]
    assert power["value"].tolist() == [SMALL_MW, LARGE_MW]
    assert numbers("Within 10 MW the fastest size is # GPUs: # days", text) == pytest.approx(
        [power["n_gpus"].iloc[0], power["days"].iloc[0]], abs=0.5
    )
    times = power["power_mw"].iloc[1] / power["power_mw"].iloc[0]
    assert numbers("for # times the power", text) == pytest.approx([times], rel=0.01)
    assert "1 of the limits is kept by no size" in text
    cells = how_many_gpus.words.limit_cells(frame)
    assert cells["Limit"].tolist()[:2] == ["power 0.01 MW", "power 10 MW"]
    assert cells.loc[0, "GPUs"] == "none"
    assert cells.loc[0, "Why"].startswith("No size keeps the limits") and "below the least" in cells.loc[0, "Why"]
    assert "Why" not in how_many_gpus.words.limit_cells(frame[frame["why"] == ""])


def test_only_limits_that_bind_are_told():
    frame, takes = table("limits"), float(answer().best["fastest"].yields.power_mw)
    loose = how_many_gpus.words.limits(frame[(frame["limit"] == "power") & (frame["value"] > takes)], answer())
    assert loose.title == "Power does not limit this job"
    assert numbers("its fastest size takes # MW", loose.text) == pytest.approx([takes], rel=5e-3)
    assert "times as fast" not in loose.text and "Budgets" not in loose.text and "eadlines" not in loose.text
    both = how_many_gpus.words.limits(frame[frame["value"] >= LARGE_MW], answer())
    assert "times as fast" not in both.text and both.title.startswith("30 MW allow")
    assert numbers("# MW limit nothing: the fastest size takes # MW", both.text)[0] == LOOSE_MW
    late = frame[frame["limit"] == "deadline"].assign(value=1e6)
    text = how_many_gpus.words.limits(late, answer()).text
    assert numbers("Of the deadlines, # of # do not bind", text) == [len(late)] * 2


def test_limits_that_no_size_keeps_have_a_table_of_reasons():
    fastest = dataclasses.replace(answer(), best={"fastest": answer().best["fastest"]})
    frame = how_many_gpus.tables.sizes_within_limits(run(), fastest, [NEVER_MW], n_draws=10)
    cells = how_many_gpus.words.limit_cells(frame)
    assert cells["GPUs"].tolist() == ["none"] and "below the least" in cells["Why"].iloc[0]


def test_the_jobs_own_size_is_told_with_the_layout_that_divides_it():
    uneven, own = run("uneven"), 16_408.0
    through, layout = uneven.throughput, uneven.layout_of_job
    mfu = 100 * float(through.step(own, layout).mfu)
    assert mfu < 0.9 * 100 * float(sizing.yields(uneven, np.array([own])).mfu[0])
    step = how_many_gpus.words.step(table("step", "uneven"), own, 100_000)
    assert numbers("On 16,408 GPUs, #% of a step", step.text) == pytest.approx([mfu], abs=0.5)
    frame = table("returns", "uneven")
    text = how_many_gpus.words.returns(uneven, frame, answer("uneven")).text
    linear = frame[frame["line"] == "linear"].iloc[0]
    waits = through.tokens_per_s(own, layout) * 86400 / (own * linear["tokens_per_day"] / linear["n_gpus"])
    waits *= through.n_tokens / through.tokens_needed
    assert numbers("waiting for each other leaves #%", text) == pytest.approx([100 * float(waits)], abs=0.51)


def test_a_size_that_few_layouts_divide_is_told_a_better_one():
    assert "with 16,384 GPUs it would be 35% faster" in how_many_gpus.words.given(job("uneven"), answer("uneven")).text
    assert "Few layouts divide" not in how_many_gpus.words.given(job(), answer()).text


def test_published_runs_keep_the_aim_or_miss_it():
    frame = table("calibrated")
    text = how_many_gpus.words.calibrated(frame).text
    used = frame["used"]
    most, mean = frame.loc[used, "residual_points"].abs().max(), frame.loc[~used, "residual_points"].abs().mean()
    assert numbers("The aim of # points on these is kept, the worst of them being off by #", text) == pytest.approx(
        [3, most], abs=0.05
    )
    assert numbers("in the mean they are off by # points", text) == pytest.approx([mean], abs=0.05)
    assert "Llama 3.1 8B with sharded weights on 128 GPUs*, by -7.3 points" in text
    assert "the nodes of that run vary less" in text
    assert numbers(r"from # \(eos\) to # \(megascale\)", text) == pytest.approx([0.526, 0.813], abs=0.006)
    assert numbers("The rows moved the efficiency of kernels in # of # studies", text) == [4, 5]
    assert "overlap in 1 of 5 studies (eos)" in text
    # the best constants of fsdp lie at a kink of the step, so that it depends on the last bits whether rows moved them
    hops = frame.loc[frame["moved"].str.contains("latency_us"), "study"].unique().tolist()
    assert hops in ([], ["fsdp"]) and ("the latency of a hop in 1 of 5 studies (fsdp)" in text) is bool(hops)
    assert "and nowhere jitter" in text
    assert "The rows moved none of them" in how_many_gpus.words.calibrated(frame.assign(moved="")).text
    off = frame.assign(residual_points=frame["residual_points"].where(~used, 4.0))
    assert "is missed" in how_many_gpus.words.calibrated(off).text
    plain = frame[frame["relative_to"] == ""]
    assert "vary less" not in how_many_gpus.words.calibrated(plain).text


def test_levers_are_told_with_half_and_twice():
    frame = table("turning")
    text = how_many_gpus.scaling_option_words.turning(frame).text
    rate = frame[frame["what"] == "failure rate"].set_index("factor")["n_gpus"]
    assert numbers("it lies, in GPUs, at # and # for the failure rate", text) == pytest.approx(
        [rate[0.5], rate[2.0]], rel=5e-3
    )
    assert "moves most with the failure rate" in text


def levers(ends: bool = True, **spans: float) -> pd.DataFrame:
    rows = [
        {"what": what, "factor": by, "n_gpus": 8192.0 * span ** (i - 1), "tokens_per_day": 1e9, "ends": ends}
        for what, span in spans.items()
        for i, by in enumerate((0.5, 1.0, 2.0))
    ]
    return pd.DataFrame(rows)


def test_a_point_that_nothing_moves_is_set_by_the_batch():
    finding = how_many_gpus.scaling_option_words.turning(levers(restart=1.0, jitter=1.005, bandwidth=1.0))
    assert finding.title == "The batch sets the size: nothing that was tried moves it"
    assert "most" not in finding.text and "factor" not in finding.text
    still = how_many_gpus.scaling_option_words.turning(levers(ends=False, restart=1.0, jitter=1.0))
    assert still.title == "Nothing that was tried moves the turning point"
    moved = how_many_gpus.scaling_option_words.turning(levers(ends=False, restart=1.03, jitter=1.0))
    assert moved.title == "The turning point follows the restart most, the jitter least"


def test_levers_that_tie_are_named_together_and_none_twice():
    finding = how_many_gpus.scaling_option_words.turning(levers(rate=2.0, restart=1.0, jitter=1.0))
    assert finding.title == "The turning point follows the rate most, the restart and the jitter least"
    assert "by a factor of 1" not in finding.text
    assert how_many_gpus.scaling_option_words.turning(levers(rate=2.0)).title == "The turning point follows the rate"
    both = how_many_gpus.scaling_option_words.turning(levers(rate=2.0, restart=2.0))
    assert both.title == "The turning point follows the rate and the restart, each as much"


def test_large_jobs_are_told_by_batch_ettr_and_needs():
    frame = table("large")
    text = how_many_gpus.scaling_option_words.large(frame).text
    first = frame.iloc[0]
    assert numbers("the best batch has # million tokens and needs # times", text) == pytest.approx(
        [first["batch_tokens"] / 1e6, first["tokens_factor"]], rel=5e-3
    )
    assert "yields fewer useful tokens a day than a smaller one" in text
    first_told, second_told = text.split("On 1,000,000 GPUs the best")
    assert numbers("a failure rate of at most # per 1,000 node-days, not #", first_told) == pytest.approx(
        [first["rate_needed"], first["rate_given"]], rel=5e-3
    )
    assert numbers("for an ETTR of 90% no restart is enough: at 0 it would be #%", second_told) == pytest.approx(
        [100 * frame["restart_ettr"].iloc[1]], abs=0.05
    )
    easy = how_many_gpus.scaling_option_words.large(options.large_jobs(run(), [2048], 0.9))
    assert "for an ETTR of 90% the restart of 5 min is enough" in easy.text


def test_a_job_that_gets_nowhere_says_so():
    frame = table("large", "opt-175b")
    finding = how_many_gpus.scaling_option_words.large(frame)
    assert finding.title == "On 1,000,000 GPUs this job gets nowhere"
    assert how_many_gpus.scaling_option_words.large_cells(frame)["Days"].iloc[-1] == "without end"


def test_ways_are_told_with_their_gain_and_the_price_is_read_from_data():
    peaks = table("peaks")
    text = how_many_gpus.scaling_option_words.ways(peaks).text
    gain = 100 * peaks.set_index("way").loc["local SGD", "gain"]
    assert numbers(r"local SGD \+#%", text) == pytest.approx([gain], abs=0.5)
    few = evidence.figure("diloco_10b_4_replicas_tokens_factor").value
    assert numbers("about # times the tokens", text) == [few]
    none = peaks.assign(gain=peaks["gain"].where(peaks["way"] != "local SGD"), n_gpus=peaks["n_gpus"])
    assert "No layout fits the memory with local SGD" in how_many_gpus.scaling_option_words.ways(none).text


def test_elastic_jobs_are_told_beside_those_that_wait():
    frame = table("elastic")
    text = how_many_gpus.scaling_option_words.elastic(frame).text
    first = frame[frame["n_gpus"] == frame["n_gpus"].min()].set_index("way")["ettr"]
    assert numbers("a job that waits reaches an ETTR of #%, an elastic one #%", text) == pytest.approx(
        [100 * first[FEW_SPARES], 100 * first[ELASTIC]], abs=0.051
    )
    assert "20 runs each" in text
    assert "nothing to simulate" in how_many_gpus.scaling_option_words.elastic(frame.iloc[:0]).text
    cells = how_many_gpus.scaling_option_words.peak_cells(table("peaks"), frame)
    assert cells["Way"].tolist()[-2:] == [FEW_SPARES, ELASTIC]


def pair(size: float, waits: float, goes_on: float, closed: float, half: float = 0.01, spares: int = 5) -> list[dict]:
    return [
        {"way": way, "n_gpus": size, "tokens_per_day": 1e9 * ettr, "low": 1e9 * (ettr - half), "ettr": ettr}
        | {"high": 1e9 * (ettr + half), "closed_ettr": closed, "n_spares": spares, "n_runs": 20}
        for way, ettr in ((FEW_SPARES, waits), (ELASTIC, goes_on))
    ]


def test_spares_that_hardly_ever_run_out_leave_nothing_to_win_back():
    frame = pd.DataFrame(pair(1024.0, 0.95, 0.951, 0.955, spares=1))
    finding = how_many_gpus.scaling_option_words.elastic(frame)
    assert "with 1 spare node a job" in finding.text
    assert "spares hardly ever run out" in finding.text and "spares hardly ever run out" in finding.title
    assert "wins back" not in finding.text and "planned restarts" not in finding.text


def test_only_intervals_that_do_not_overlap_tell_elastic_jobs_from_those_that_wait():
    alike = how_many_gpus.scaling_option_words.elastic(pd.DataFrame(pair(1024.0, 0.80, 0.815, 0.95)))
    assert "overlap, so that no difference is told" in alike.text
    assert "no clear gain" in alike.title
    mixed = [*pair(1024.0, 0.80, 0.92, 0.95), *pair(2048.0, 0.60, 0.65, 0.90), *pair(4096.0, 0.30, 0.20, 0.5)]
    finding = how_many_gpus.scaling_option_words.elastic(pd.DataFrame(mixed))
    assert numbers(r"# points of ETTR on 1,024 GPUs", finding.title) == pytest.approx([12])
    assert "On 1,024 GPUs going on without replicas wins back most" in finding.text
    assert "On 2,048 GPUs going on without replicas wins back part" in finding.text
    assert "On 4,096 GPUs the planned restarts, by which nodes rejoin, cost more" in finding.text
