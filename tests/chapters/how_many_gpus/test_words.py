"""Sentences on the number of GPUs: their numbers, read back from the results."""

from __future__ import annotations

import dataclasses
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest

from ettr import Scenario, evidence, sizing
from ettr.chapters import how_many_gpus
from ettr.chapters.how_many_gpus.scaling_option_tables import ELASTIC, FEW_SPARES

NUMBER = r"-?\d[\d,]*(?:\.\d+)?"


def numbers(pattern: str, text: str) -> list[float]:
    match = re.search(pattern.replace("#", f"({NUMBER})"), text)
    assert match, f"{pattern!r} is not in {text!r}"
    return [float(group.replace(",", "")) for group in match.groups()]


@pytest.fixture(scope="module")
def run():
    return Scenario.load("llama3-405b-tokens")


@pytest.fixture(scope="module")
def answer(run):
    return sizing.make(run)


def test_the_answer_gives_the_next_gpu_the_turning_point_and_the_best_sizes(run, answer):
    finding = how_many_gpus.words.answer(answer)
    share = 100 * sizing.next_gpu(run).share
    assert numbers("With # GPUs, the next one adds #% of", finding.text) == pytest.approx([16384, share], abs=0.5)
    assert numbers("from # on", finding.text) == [sizing.turning_point(run)]
    fastest = answer.best["fastest"]
    assert numbers(r"The fastest size is # GPUs \(# to #\)", finding.text) == pytest.approx(
        [fastest.n_gpus, fastest.n_gpus_low, fastest.n_gpus_high], rel=5e-3
    )
    ends = [float(at.days) for at in (fastest.yields, fastest.low, fastest.high)]
    assert numbers(r"GPUs \([^)]*\): # days \(# to #\)", finding.text) == pytest.approx(ends, abs=0.051)
    assert "The cheapest is the greenest as well" in finding.text


def test_an_answer_beyond_the_turning_point_says_that_gpus_take(run):
    finding = how_many_gpus.words.answer(sizing.make(run.override({"cluster.n_gpus": 229_376})))
    share = sizing.next_gpu(run, 229_376).share
    assert share < 0
    assert numbers("takes away #% of", finding.text) == pytest.approx([-100 * share], abs=0.5)


def test_an_answer_where_the_batch_ends_names_it(run):
    quiet = run.override(
        {"failures": {"rate_per_1000_node_days": 0}, "scaling": {"jitter": 0, "overlap": 1, "latency_us": 0}}
    )
    finding = how_many_gpus.words.answer(sizing.make(quiet))
    assert "where the batch ends" in finding.title
    assert "a batch of 16.8 million tokens leaves nothing" in finding.text


def test_an_answer_without_prices_says_so(run):
    free = sizing.make(run.override({"cost": {"usd_per_gpu_h": 0, "usd_per_kwh": 0}}))
    assert "No size is the cheapest, since nothing has a price here." in how_many_gpus.words.answer(free).text
    assert "USD" not in how_many_gpus.words.answer(free).text


def test_what_was_changed_is_told(run, answer):
    assert "gives its job by tokens" in how_many_gpus.words.given(how_many_gpus.tables.GivenByTokens(run), answer).text
    small = how_many_gpus.tables.given_by_tokens(Scenario.load("rsc-1").override({"cluster.n_gpus": 64}))
    text = how_many_gpus.words.given(small, sizing.make(small.scenario)).text
    assert numbers("# trillion tokens", text) == [15.6]
    assert "70 billion parameters in 72 layers, since 405 billion do not fit" in text


def test_what_is_left_on_a_size_is_its_throughput_and_its_ettr(run, answer):
    text = how_many_gpus.words.returns(run, how_many_gpus.tables.returns_by_size(run, 10), answer).text
    at = sizing.yields(run, np.array([16384.0, 32768.0]))
    assert numbers("failures and stops #% of the rest: # billion", text) == pytest.approx(
        [100 * at.ettr[0], at.useful_tokens_per_day[0] / 1e9], abs=0.51
    )
    twice = at.useful_tokens_per_day[1] / at.useful_tokens_per_day[0]
    assert numbers("Twice this job's GPUs would yield # times", text) == pytest.approx([twice], abs=0.005)
    assert "no section on it" in text


def test_a_step_is_told_by_its_utilisation_and_what_grows(run):
    frame = how_many_gpus.tables.step_by_size(run, [145_488], n_sizes=10)
    text = how_many_gpus.words.step(frame, 16384, 145_488).text
    mfu = 100 * sizing.yields(run, np.array([16384.0, 145_488.0])).mfu
    assert numbers("On 16,384 GPUs, #% of a step", text) == pytest.approx([mfu[0]], abs=0.5)
    assert numbers("that is #%", text) == pytest.approx([mfu[1]], abs=0.5)
    assert "What grows most with more GPUs is the empty pipeline" in text


def test_the_cost_of_being_fast(run, answer):
    frame, in_time = how_many_gpus.tables.cost_by_size(run), how_many_gpus.tables.deadline_size(run, answer)
    marked = how_many_gpus.tables.marked_sizes(answer, in_time, "USD")
    text = how_many_gpus.words.cost(frame, marked, in_time, answer).text
    cheapest = answer.best["cheapest"]
    ratio = float(answer.best["fastest"].yields.usd / cheapest.yields.usd)
    assert numbers("Least cost is at # GPUs", text) == [cheapest.n_gpus]
    assert numbers("as fast for # times the cost", text) == pytest.approx([ratio], abs=0.005)
    carbon = 100 * float(in_time.yields.t_co2 / answer.best["fastest"].yields.t_co2)
    assert numbers("with #% of its carbon", text) == pytest.approx([carbon], abs=0.5)
    free = run.override({"cost": {"usd_per_gpu_h": 0, "usd_per_kwh": 0}})
    sizes, frame = sizing.make(free), how_many_gpus.tables.cost_by_size(free)
    text = how_many_gpus.words.cost(frame, how_many_gpus.tables.marked_sizes(sizes, None, "MWh"), None, sizes).text
    assert text.startswith("Nothing has a price in this scenario")
    assert numbers("Least electricity is at # GPUs", text) == [sizes.best["greenest"].n_gpus]


def test_limits_are_told_and_those_that_no_size_keeps_are_counted(run, answer):
    frame = how_many_gpus.tables.sizes_within_limits(run, answer, [0.01, 10, 100], n_draws=20)
    text = how_many_gpus.words.limits(frame, answer).text
    assert "Budgets and deadlines lie between" in text
    power = frame[(frame["limit"] == "power") & (frame["why"] == "")]
    assert numbers("Within 10 MW the fastest size is # GPUs: # days", text) == pytest.approx(
        [power["n_gpus"].iloc[0], power["days"].iloc[0]], abs=0.5
    )
    times = power["power_mw"].iloc[1] / power["power_mw"].iloc[0]
    assert numbers("for # times the power", text) == pytest.approx([times], rel=0.01)
    assert "1 of the limits is kept by no size" in text
    cells = how_many_gpus.words.limit_cells(frame)
    assert cells.loc[0, "GPUs"] == "none"
    assert cells.loc[0, "Why"].startswith("No size keeps the limits")
    assert "Why" not in how_many_gpus.words.limit_cells(frame[frame["why"] == ""])


def test_only_limits_that_bind_are_told(run, answer):
    takes = float(answer.best["fastest"].yields.power_mw)
    frame = how_many_gpus.tables.sizes_within_limits(run, answer, [30, 1000, 2000], n_draws=10)
    loose = how_many_gpus.words.limits(frame[(frame["limit"] == "power") & (frame["value"] > takes)], answer)
    assert loose.title == "Power does not limit this job"
    assert numbers("its fastest size takes # MW", loose.text) == pytest.approx([takes], rel=5e-3)
    assert "times as fast" not in loose.text and "Budgets" not in loose.text and "eadlines" not in loose.text
    both = how_many_gpus.words.limits(frame, answer)
    assert "times as fast" not in both.text and both.title.startswith("30 MW allow")
    assert numbers("# MW limit nothing: the fastest size takes # MW", both.text)[0] == 1000
    late = frame[frame["limit"] == "deadline"].assign(value=1e6)
    assert (
        numbers("Of the deadlines, # of # do not bind", how_many_gpus.words.limits(late, answer).text)
        == [len(late)] * 2
    )


def test_limits_that_no_size_keeps_have_a_table_of_reasons(run, answer):
    fastest = dataclasses.replace(answer, best={"fastest": answer.best["fastest"]})
    cells = how_many_gpus.words.limit_cells(how_many_gpus.tables.sizes_within_limits(run, fastest, [0.01], n_draws=10))
    assert cells["GPUs"].tolist() == ["none"] and "below the least" in cells["Why"].iloc[0]


def test_the_jobs_own_size_is_told_with_the_layout_that_divides_it(run):
    uneven = run.override({"cluster.n_gpus": 16_408})
    own, layout = 16_408.0, uneven.layout_of_job
    mfu = 100 * float(uneven.throughput.step(own, layout).mfu)
    assert mfu < 0.9 * 100 * float(sizing.yields(uneven, np.array([own])).mfu[0])
    step = how_many_gpus.words.step(how_many_gpus.tables.step_by_size(uneven, [100_000], n_sizes=10), 16_408, 100_000)
    assert numbers("On 16,408 GPUs, #% of a step", step.text) == pytest.approx([mfu], abs=0.5)
    frame = how_many_gpus.tables.returns_by_size(uneven, 2)
    text = how_many_gpus.words.returns(uneven, frame, sizing.make(uneven)).text
    linear = frame[frame["line"] == "linear"].iloc[0]
    waits = uneven.throughput.tokens_per_s(own, layout) * 86400 / (own * linear["tokens_per_day"] / linear["n_gpus"])
    waits *= uneven.throughput.n_tokens / uneven.throughput.tokens_needed
    assert numbers("waiting for each other leaves #%", text) == pytest.approx([100 * float(waits)], abs=0.51)


def test_published_runs_keep_the_aim_or_miss_it():
    frame = how_many_gpus.tables.calibrated_runs()
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


def test_levers_are_told_with_half_and_twice(run):
    frame = how_many_gpus.scaling_option_tables.turning_by_factor(run, (0.5, 1.0, 2.0))
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


def test_levers_that_tie_are_named_together_and_none_twice():
    finding = how_many_gpus.scaling_option_words.turning(levers(rate=2.0, restart=1.0, jitter=1.0))
    assert finding.title == "The turning point follows the rate most, the restart and the jitter least"
    assert "by a factor of 1" not in finding.text
    assert how_many_gpus.scaling_option_words.turning(levers(rate=2.0)).title == "The turning point follows the rate"
    both = how_many_gpus.scaling_option_words.turning(levers(rate=2.0, restart=2.0))
    assert both.title == "The turning point follows the rate and the restart, each as much"


def test_large_jobs_are_told_by_batch_ettr_and_needs(run):
    frame = how_many_gpus.scaling_option_tables.large_jobs(run, [100_000, 1_000_000])
    text = how_many_gpus.scaling_option_words.large(frame).text
    first = frame.iloc[0]
    assert numbers("the best batch has # million tokens and needs # times", text) == pytest.approx(
        [first["batch_tokens"] / 1e6, first["tokens_factor"]], rel=5e-3
    )
    assert "yields fewer useful tokens a day than a smaller one" in text
    first_told, second_told = text.split("On 1,000,000 GPUs the best")
    assert numbers("a failure rate of at most # per 1000 node-days, not #", first_told) == pytest.approx(
        [first["rate_needed"], first["rate_given"]], rel=5e-3
    )
    assert numbers("for an ETTR of 90% no restart is enough: at 0 it would be #%", second_told) == pytest.approx(
        [100 * frame["restart_ettr"].iloc[1]], abs=0.05
    )
    easy = how_many_gpus.scaling_option_words.large(
        how_many_gpus.scaling_option_tables.large_jobs(run, [2048], 0.9)
    ).text
    assert "for an ETTR of 90% the restart of 5 min is enough" in easy


def test_a_job_that_gets_nowhere_says_so():
    frame = how_many_gpus.scaling_option_tables.large_jobs(
        how_many_gpus.tables.given_by_tokens(Scenario.load("opt-175b")).scenario, [100_000, 1_000_000]
    )
    finding = how_many_gpus.scaling_option_words.large(frame)
    assert finding.title == "On 1,000,000 GPUs this job gets nowhere"
    assert how_many_gpus.scaling_option_words.large_cells(frame)["Days"].iloc[-1] == "without end"


def test_ways_are_told_with_their_gain_and_the_price_is_read_from_data(run):
    peaks = how_many_gpus.scaling_option_tables.peaks_of_ways(run, how_many_gpus.scaling_option_tables.ways())
    text = how_many_gpus.scaling_option_words.ways(peaks).text
    gain = 100 * peaks.set_index("way").loc["local SGD", "gain"]
    assert numbers(r"local SGD \+#%", text) == pytest.approx([gain], abs=0.5)
    few = evidence.figure("diloco_10b_4_replicas_tokens_factor").value
    assert numbers("about # times the tokens", text) == [few]
    none = peaks.assign(gain=peaks["gain"].where(peaks["way"] != "local SGD"), n_gpus=peaks["n_gpus"])
    assert "No layout fits the memory with local SGD" in how_many_gpus.scaling_option_words.ways(none).text


def test_elastic_jobs_are_told_beside_those_that_wait(run):
    frame = how_many_gpus.scaling_option_tables.elastic_by_size(run, 131_072, n_runs=10)
    text = how_many_gpus.scaling_option_words.elastic(frame).text
    first = frame[frame["n_gpus"] == frame["n_gpus"].min()].set_index("way")["ettr"]
    assert numbers("a job that waits reaches an ETTR of #%, an elastic one #%", text) == pytest.approx(
        [100 * first[FEW_SPARES], 100 * first[ELASTIC]], abs=0.051
    )
    assert "10 runs each" in text
    assert "nothing to simulate" in how_many_gpus.scaling_option_words.elastic(frame.iloc[:0]).text
    cells = how_many_gpus.scaling_option_words.peak_cells(
        how_many_gpus.scaling_option_tables.peaks_of_ways(run, how_many_gpus.scaling_option_tables.ways()), frame
    )
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


CASES = {
    **{name: (name, {}) for name in evidence.scenario_names()},
    "tiny": ("rsc-1", {"cluster.n_gpus": 64}),
    "one node": ("llama3-405b", {"cluster.n_gpus": 8}),
    "a million": ("megascale", {"cluster.n_gpus": 1_000_000}),
    "no failures": ("llama3-405b-tokens", {"failures": {"rate_per_1000_node_days": 0}}),
    "free": ("llama3-405b-tokens", {"cost": {"usd_per_gpu_h": 0, "usd_per_kwh": 0}, "power": {"g_per_kwh": 0}}),
    "hot": ("rsc-2", {"heat": {"part": "h100", "mean_c": 30}}),
    "no restart": ("rsc-1", {"recovery.restart_min": 0, "recovery.detection_min": 0, "checkpoint.stall_s": 0}),
}


@cache
def job(case: str) -> how_many_gpus.tables.GivenByTokens:
    name, changes = CASES[case]
    return how_many_gpus.tables.given_by_tokens(Scenario.load(name).override(changes))


@pytest.mark.parametrize("case", CASES)
def test_sentences_are_sane_for_every_preset_and_at_the_extremes(case):
    given = job(case)
    run = given.scenario
    sizes = sizing.make(run)
    fastest = sizes.best["fastest"].n_gpus
    costs, in_time = how_many_gpus.tables.cost_by_size(run), how_many_gpus.tables.deadline_size(run, sizes)
    marked = how_many_gpus.tables.marked_sizes(sizes, in_time, costs["unit"].iloc[0])
    peaks = how_many_gpus.scaling_option_tables.peaks_of_ways(run, how_many_gpus.scaling_option_tables.ways())
    elastic = how_many_gpus.scaling_option_tables.elastic_by_size(run, fastest, n_runs=2)
    findings = [
        *(
            how_many_gpus.words.answer(sizes),
            how_many_gpus.words.given(given, sizes),
            how_many_gpus.words.returns(run, how_many_gpus.tables.returns_by_size(run, 10), sizes),
        ),
        how_many_gpus.words.step(how_many_gpus.tables.step_by_size(run, [fastest], 20), run.cluster.n_gpus, fastest),
        *(
            how_many_gpus.words.cost(costs, marked, in_time, sizes),
            how_many_gpus.scaling_option_words.ways(peaks),
            how_many_gpus.scaling_option_words.elastic(elastic),
        ),
        how_many_gpus.words.limits(how_many_gpus.tables.sizes_within_limits(run, sizes, n_draws=10), sizes),
        how_many_gpus.scaling_option_words.turning(
            how_many_gpus.scaling_option_tables.turning_by_factor(run, (0.5, 1.0, 2.0))
        ),
        how_many_gpus.scaling_option_words.large(
            how_many_gpus.scaling_option_tables.large_jobs(run, [100_000, 1_000_000])
        ),
    ]
    cells = how_many_gpus.scaling_option_words.large_cells(
        how_many_gpus.scaling_option_tables.large_jobs(run, [100_000])
    ).to_string(index=False)
    assert not re.search(r"\b(inf|None)\b", cells)
    for finding in findings:
        for text in (finding.title, finding.text):
            assert text
            assert not re.search(r"\b(nan|inf|None|NaN|dtype)\b|  | [.,;]|\.\.|\b(\w+) \2\b", text), text
        assert len(finding.title) < 120
        assert finding.text.endswith(".")


def test_a_size_that_few_layouts_divide_is_told_a_better_one(run):
    odd = run.override({"cluster.n_gpus": 16_408})
    text = how_many_gpus.words.given(how_many_gpus.tables.given_by_tokens(odd), sizing.make(odd)).text
    assert "with 16,384 GPUs it would be 35% faster" in text
    assert (
        "Few layouts divide"
        not in how_many_gpus.words.given(how_many_gpus.tables.given_by_tokens(run), sizing.make(run)).text
    )
