"""The causes of a run's stops, by the specification of their charts."""

from __future__ import annotations

import pandas as pd
import pytest

from computed.logs import fit
from ettr import Scenario, evidence, failures, make_plan
from ettr.plots import failure_breakdown, theme
from ettr_book.chapters import what_failed

COUNTS = evidence.table("llama3_interruptions")


def test_the_breakdown_has_bars_from_zero_and_exact_intervals(check_chart, encoding_of, chart_values):
    spec = failure_breakdown(COUNTS, subtitle="Whose counts", sources=["dubey2024"]).to_dict()
    check_chart(spec, "Whose counts; lines: exact 95% CI")
    bars, whiskers = encoding_of(spec, "bar"), encoding_of(spec, "rule")
    assert bars["x"]["scale"]["zero"] is True and set(bars["color"]["scale"]["domain"]) == set(COUNTS["category"])
    assert bars["y"]["sort"][:2] == ["Faulty GPU", "GPU HBM3 Memory"]
    assert (whiskers["x"]["field"], whiskers["x2"]["field"]) == ("low", "high")
    assert spec["description"].endswith("Most failures: Faulty GPU 148, GPU HBM3 Memory 72, Software Bug 54.")
    first = chart_values(spec)[0]
    assert (first["low"], first["high"]) == pytest.approx(failures.poisson_interval(148))
    assert set(COUNTS["category"]) <= set(theme.CATEGORY_COLOURS)


@pytest.mark.parametrize("name", ["rich", "2 failures", "no components", "a day"])
def test_the_breakdown_of_a_log_has_the_counts_of_its_components(name, check_chart, chart_values):
    spec = failure_breakdown(fit(name)).to_dict()
    check_chart(spec, "my/faults.csv")
    table = fit(name).components.sort_values("n_events", ascending=False, kind="stable").head(20)
    assert [row["n_events"] for row in chart_values(spec)] == table["n_events"].tolist()
    assert len(spec["title"]["text"]) < 120


def test_a_log_without_failures_or_without_components_says_so():
    assert failure_breakdown(fit("0 failures")) == theme.NoChart("nothing failed.")
    assert failure_breakdown(fit("no components")).title.text == "The log has no component names"


def test_the_mtbf_without_one_category(check_chart):
    without = failures.without_each(COUNTS, 54 * 24.0)
    spec = what_failed.without_category(without, subtitle="Whose counts").to_dict()
    check_chart(spec, "Whose counts; lines: 95% CI")
    assert spec["title"]["text"] == "Without any GPU failure the run would still stop every 8.6 h"
    share = COUNTS.loc[COUNTS["category"] == "GPU", "n_events"].sum() / COUNTS["n_events"].sum()
    mtbf_h = without.set_index("category")["mtbi_h"]
    assert mtbf_h["GPU"] == pytest.approx(mtbf_h["nothing"] / (1 - share))


def test_the_scenario_of_the_book(plain_run):
    mttf_h = make_plan(plain_run).wall_mttf_h
    assert f"{mttf_h:.2g} h" in what_failed.of_scenario(make_plan(plain_run)).text
    never = Scenario.load("llama3-405b").override({"failures.rate_per_1000_node_days": 0})
    assert what_failed.of_scenario(make_plan(never)).text.endswith("has no failures: its rate is 0.")


def test_causes_elsewhere_add_up():
    shares = evidence.table("failure_causes").groupby("study")["share_pct"].sum()
    assert shares.round().tolist() == pytest.approx([100, 100], abs=1)
    assert isinstance(what_failed.elsewhere().frame, pd.DataFrame)
