"""The script of the pages gives the answers of the package."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import Scenario, budget, evidence, mitigation, plan, ranges, spares
from ettr.budget.intervals import any_interval, best_h
from ettr.core.errors import EttrError, InputError
from ettr.failures import poisson_interval
from ettr.plan.unexplained import unexplained
from ettr.recommendation import recommend
from ettr_book.chapters.scale import reach_gpus
from ettr_book.publish import page_data
from ettr_book.validation import CALCULATORS
from script.comparing import MODEL, compare, plain
from written_scenarios import scenarios, with_tiers

pytestmark = pytest.mark.browser

PRESETS = evidence.scenario_names()
STORY = {
    "cluster.n_gpus": 4096,
    "failures.job_mttf_h": 9,
    "checkpoint.stall_s": 90,
    "recovery.restart_min": 12,
    "cost.usd_per_gpu_h": 2.5,
}
DATE_APART, CHANCE_APART = 5e-4, 0.005
"""Of a run that somebody reported: less than the digits of its page, 0.1 days of 50, and a percent."""
COMPLETE = "([written, defaults, changes]) => ettr.complete(ettr.override(written, changes), defaults)"


@pytest.fixture(scope="module")
def data():
    return page_data.page_data(Scenario.load("llama3-405b"))


def nested(paths):
    made = {}
    for path, value in paths.items():
        section, field = path.split(".")
        made.setdefault(section, {})[field] = value
    return made


def as_written(changes):
    """The scenario of somebody who says only this much, as on the command line; the example is that of 4,096 GPUs."""
    rates = any(path.startswith("failures.") for path in changes)
    observed_nodes = 4096 // changes.get("cluster.gpus_per_node", 8)
    example = {"failures.job_mttf_h": 20, "failures.observed_nodes": observed_nodes}
    base = {"cluster.n_gpus": 4096} | ({} if rates else example)
    return Scenario.of(nested({**base, **{path: value for path, value in changes.items() if value is not None}}))


def test_it_is_a_plain_script_that_a_page_can_afford():
    import gzip

    text = MODEL.read_text(encoding="utf-8")
    assert len(gzip.compress(text.encode())) < 20_500
    assert "import " not in text and "export " not in text and "fetch(" not in text and "eval(" not in text


def test_scenarios_at_random_have_the_same_answers(page):
    some = [*scenarios(120, 27)]
    apart = compare(page, some[:90], whole=False, apart=compare(page, some[90:]))
    assert apart.n == 120 and apart.answered > 100
    assert {"date", *(f"calculator: {name}" for name in CALCULATORS)} < set(apart.farthest)
    assert apart.unlike == []
    assert apart.too_far() == {}, str(apart)


@pytest.mark.slow
def test_thousands_of_scenarios_have_the_same_answers(page):
    page.set_default_timeout(0)
    apart = compare(page, scenarios(2500, 2027), whole=False)
    print(apart)
    assert apart.unlike == []
    assert apart.too_far() == {}, str(apart)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_the_same_answers_as_it_is_written(page, data, name):
    started = page_data.start(page_data.preset(name))
    scenario = Scenario.of(started["written"])
    complete = page.evaluate(COMPLETE, [started["written"], data["defaults"], {}])
    of_script = page.evaluate("run => ettr.exact(ettr.inHours(run)).ettr", complete)
    assert of_script == pytest.approx(float(budget.exact(scenario).ettr), rel=1e-12)
    apart = compare(page, [scenario])
    assert apart.answered == 1 and apart.unlike == [] and apart.too_far() == {}
    assert apart.farthest.get("date", (0.0,))[0] < DATE_APART
    assert apart.farthest.get("chance by a date", (0.0,))[0] < CHANCE_APART


def test_tiers_and_warnings_have_the_hours_of_the_steady_state(page):
    random, some = np.random.default_rng(3), []
    while len(some) < 60:
        try:
            some.append(Scenario.of(with_tiers(random)))
        except InputError:
            continue
    apart = compare(page, some, whole=False)
    assert apart.unlike == [] and apart.too_far() == {}, str(apart)
    best_ettrs = page.evaluate(
        "runs => runs.map(run => { try { return ettr.best(ettr.inHours(run)).ettr } catch (error) { return null } })",
        [plain(scenario) for scenario in some],
    )
    for scenario, ettr in zip(some, best_ettrs, strict=True):
        ours = best_h(any_interval(scenario))[1]
        if np.isfinite(ours):
            assert ettr == pytest.approx(float(ours), rel=1e-6)


@pytest.mark.parametrize("name", ["llama3-405b", page_data.MINE])
@pytest.mark.parametrize(
    "changes",
    [
        STORY,
        {"failures.node_mttf_h": 20_000, "cluster.n_gpus": 512},
        {"failures.rate_per_1000_node_days": 4.5, "failures.rate_clock": "exposed"},
        {"failures.n_events": 12, "failures.node_days": 3000.0, "failures.rate_clock": "wall", "failures.modes": []},
        {"measured.ettr": 0.6},
        {"cluster.n_gpus": 8192, "maintenance": None},
        {"cluster.n_gpus": 100_000, "cluster.gpus_per_node": 4, "recovery.init_s_per_1000_gpus": 2.0},
        {"checkpoint.interval_min": "best", "checkpoint.persist_s": 30, "recovery.queue_min": 2},
        {"job.productive_h": 900, "maintenance.per_day": 0.5, "maintenance.duration_min": 20},
    ],
    ids=",".join,
)
def test_an_input_changes_what_an_override_changes(page, data, name, changes):
    started = data["starts"][name]
    changed = as_written(changes) if name == page_data.MINE else Scenario.of(started["written"]).override(changes)
    if name == page_data.MINE and changes.keys() & {"failures.node_mttf_h", "failures.n_events"}:
        changes = {**changes, "failures.observed_nodes": None}  # as the page says it: the example's size is no source
    complete = page.evaluate(COMPLETE, [started["written"], data["defaults"], changes])
    ours = plan.make(changed, simulate=False)
    of_script = page.evaluate(
        "run => ettr.exact(ettr.withTau(ettr.inHours(run), ettr.best(ettr.inHours(run)).tau))", complete
    )
    assert of_script["ettr"] == pytest.approx(float(ours.budget.ettr), rel=1e-12)
    assert of_script["n_failures"] == pytest.approx(float(ours.budget.n_failures), rel=1e-12)
    assumed = page.evaluate("([run, inputs]) => ettr.overAssumed(run, inputs)", [complete, started["assumed"]])
    assert {entry["field"] for entry in assumed["inputs"]} == {entry.field for entry in ours.assumptions.inputs}
    assert [assumed["low"], assumed["high"]] == pytest.approx(list(ours.assumptions.range or (None, None)), rel=1e-9)


@pytest.mark.parametrize("name", ["llama3-405b", "rsc-1", "h100-100k", page_data.MINE])
def test_another_size_has_the_range_across_clusters_of_the_package(page, data, name):
    started, changes = data["starts"][name], {"cluster.n_gpus": 65_536}
    ours = ranges.across_clusters(Scenario.of(started["written"]).override(changes))
    complete = page.evaluate(COMPLETE, [started["written"], data["defaults"], changes])
    across = "([run, inputs, rate]) => ettr.acrossClusters(run, inputs, rate)"
    of_script = page.evaluate(across, [complete, started["assumed"], data["clusters"]])
    assert (of_script is None) is (ours is None) is (name == page_data.MINE)
    if ours is not None:
        assert [of_script["low"], of_script["high"]] == pytest.approx(list(ours.range), rel=1e-9)
        assert of_script["leading"]["field"] == ours.leading.field


@pytest.mark.parametrize(("write_s", "n_left"), [(40, 4096), (1e6, 0)])
def test_draws_that_break_a_rule_of_the_tiers_are_redrawn_as_in_the_package(page, write_s, n_left):
    """The assumed write to the store is drawn from 20 to 200 s, and may not be shorter than that of the faster tier."""
    tier = {"name": "peer", "interval_s": 60, "stall_s": 0.1, "write_s": 40, "load_s": 5, "survives": 0.9}
    write = {"checkpoint.persist_s": 60, "checkpoint.tiers": [tier], "checkpoint.interval_min": 30}
    assumed = {"evidence": {"checkpoint.persist_s": {"status": "assumed", "note": "for this test"}}}
    run = Scenario.of(nested(STORY | write) | assumed)
    ours, inputs = ranges.assumptions(run), page_data.start(run)["assumed"]
    assert "checkpoint.persist_s" in [entry["field"] for entry in inputs]
    changed = plain(run)
    changed["checkpoint"]["tiers"][0]["write_s"] = write_s  # the longest is refused by the package itself
    of_script = page.evaluate("([run, inputs]) => ettr.overAssumed(run, inputs)", [changed, inputs])
    assert of_script["n"] == n_left
    if n_left:
        assert of_script["nRedrawn"] == ours.n_redrawn > 0
        assert [of_script["low"], of_script["high"]] == pytest.approx(list(ours.range), rel=1e-9)


@pytest.mark.parametrize("name", [*PRESETS, "story"])
def test_the_recommended_set_is_the_same(page, data, name):
    scenario = Scenario.of(nested(STORY)) if name == "story" else Scenario.of(data["starts"][name]["written"])
    ours = recommend(scenario)
    of_script = page.evaluate(
        "([run, catalogue]) => ettr.recommend(run, catalogue)", [plain(scenario), data["catalogue"]]
    )
    assert [step["id"] for step in of_script["steps"]] == list(ours.ids)
    for step, other in zip(ours.steps, of_script["steps"], strict=True):
        assert other["ettr"] == pytest.approx(step.ettr, rel=1e-7)
        assert [other["h"], other["totalH"]] == pytest.approx([step.saved_h, step.total_h], rel=1e-4)
        assert (other["price"], other["effect"], other["pays"]) == (step.price_usd, step.effect, True)
    assert [(entry["id"], tuple(entry["replaces"]), entry["effect"]) for entry in of_script["alternatives"]] == [
        (entry.id, entry.replaces, entry.effect) for entry in ours.alternatives
    ]
    assert of_script["months"] == pytest.approx(ours.months, rel=1e-7)


def test_the_steps_of_a_chosen_set_do_not_depend_on_the_order_of_clicks(page, data):
    """The steps of a set that is not the recommended one, with a redundant mitigation that does not pay."""
    run, ids = (
        plain(Scenario.load("llama3-405b")),
        ["parallel-checkpoint", "replica-recovery", "faulty-machine-detection"],
    )
    steps = "([run, catalogue, ids]) => ettr.setsOf(run, catalogue).stepsOf(ids)"
    first = page.evaluate(steps, [run, data["catalogue"], ids])
    assert page.evaluate(steps, [run, data["catalogue"], ids[::-1]]) == first
    assert [step["id"] for step in first if not step["pays"]] == ["parallel-checkpoint"]


def test_a_part_of_a_mitigation_moves_numbers_a_part_of_the_way(page, data):
    run = Scenario.load("llama3-405b")
    for strength in (0.3, 1.0):
        for entry in data["catalogue"]:
            try:
                ours = mitigation.apply(run, entry["id"], strengths={entry["id"]: strength})
                expected = float(budget.exact(ours).ettr)
            except EttrError:
                continue
            arguments = [plain(run), entry, {entry["id"]: strength}]
            changed = page.evaluate("([run, entry, strengths]) => ettr.apply(run, [entry], strengths)", arguments)
            if not page.evaluate("run => ettr.refused(run)", changed):
                assert page.evaluate("run => ettr.exact(ettr.inHours(run)).ettr", changed) == pytest.approx(
                    expected, rel=1e-12
                )


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"spares": {"n_nodes": 9}, "repair": {"manual_h": 24}}, "spares"),
        ({"heat": {"mean_c": 20}}, "heat"),
        ({"failures.lifetime": {"shape": 0.7}}, "failures.lifetime"),
        ({"failures.modes.NIC.latency_h": 2}, "failures.modes.NIC.latency_h"),
        ({"slow_nodes": {"per_1000_node_days": 1, "loss": 0.1, "detection_h": 1}}, "slow_nodes"),
        ({"recovery.false_alarms_per_day": 1}, "recovery.false_alarms_per_day"),
        ({"recovery.exposed": False}, "recovery.exposed"),
        ({"failures.burn_in": {"factor": 3, "decay_days": 9}}, "failures.burn_in"),
        ({"failures.lemons": {"share": 0.1, "factor": 2, "cured_manual": 0.5}}, "failures.lemons"),
        (
            {"checkpoint.tiers": [{"name": "a", "interval_s": 60, "survives": 0.9, "corrupt": 0.1}]},
            "checkpoint.tiers.a.corrupt",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_the_script_has_no_form_for_it_refuses_by_name(page, changes, named):
    of_script = plain(Scenario.load("llama3-405b").override(changes))
    assert named in page.evaluate("run => ettr.refused(run)", of_script)
    refusal = "run => { try { ettr.inHours(run) } catch (error) { return error.message } }"
    assert named in page.evaluate(refusal, of_script)


@pytest.mark.parametrize("measured", [0.5, 0.8, 0.902, 0.95, 0.98])
def test_what_a_measured_ettr_leaves_unexplained(page, measured):
    scenario = Scenario.load("llama3-405b").override({"measured.ettr": measured})
    modelled = float(budget.exact(scenario).ettr)
    of_script = page.evaluate("([run, ettr_]) => ettr.unexplained(run, ettr_)", [plain(scenario), modelled])
    if modelled < measured - 0.005:  # what the inputs do not allow
        with pytest.raises(InputError) as caught:
            unexplained(scenario, modelled)
        named = str(caught.value).count(", or ") + ("it needs" in str(caught.value))
        could = page.evaluate("([run, measured]) => ettr.couldBe(run, measured)", [plain(scenario), measured])
        assert named == len(could) and of_script["share"] < 0
        return
    ours = unexplained(scenario, modelled)
    assert (ours is None) == (of_script is None)
    if ours is not None:
        assert (of_script["share"], of_script["usd"]) == pytest.approx((ours.share, ours.usd_per_month), rel=1e-12)


def test_intervals_of_counts_are_exact(page):
    counts = [0, 1, 2, 5, 11, 47, 419, 5000, 2.5]
    of_script = page.evaluate("counts => counts.map(ettr.poissonInterval)", counts)
    low, high = poisson_interval(np.array(counts), 0.95)
    assert np.array(of_script) == pytest.approx(np.column_stack([low, high]), rel=1e-9)


def test_pools_have_the_same_sizes(page):
    random = np.random.default_rng(5)
    levels, in_repair = random.choice([0.5, 0.9, 0.99, 0.999, 0.9999], 300), 10 ** random.uniform(-3, 3, 300)
    pairs = np.column_stack([in_repair, levels]).tolist()
    of_script = page.evaluate("pairs => pairs.map(([a, level]) => ettr.enoughSpares(a, level))", pairs)
    assert of_script == [spares.enough_spares(a, level) for a, level in pairs]
    pools = np.column_stack([random.integers(0, 2000, 300), in_repair]).tolist()
    of_script = page.evaluate("pairs => pairs.map(([s, a]) => ettr.waitingShare(s, a))", pools)
    assert of_script == pytest.approx([spares.waiting_share(s, a) for s, a in pools], rel=1e-9, abs=1e-12)
    run = Scenario.load("llama3-405b").override({"spares": {"n_nodes": 17}, "repair": {"manual_h": 24}})
    bare = plain(run.override({"spares": None, "repair": None}))
    assert page.evaluate("run => ettr.inRepair(run, 24)", bare) == pytest.approx(
        spares.demand(run).in_repair, rel=1e-12
    )


def test_the_largest_size_that_reaches_a_target(page):
    run = Scenario.load("llama3-405b")
    of_script = page.evaluate("run => ettr.largestSize(run, 0.85)", plain(run))
    assert of_script == reach_gpus(run, 0.85)["reach"]
    at = [float(best_h(any_interval(run, {"cluster.n_gpus": np.array([n])}))[1][0]) for n in (of_script, of_script + 8)]
    assert of_script % 8 == 0 and at[0] >= 0.85 > at[1]
