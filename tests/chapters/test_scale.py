"""Size and ETTR: put back, each value gives the target; the chart shows ranges and published values."""

from __future__ import annotations

import numpy as np
import pytest

from ettr import evidence, plan
from ettr.plots.size import VALUE, ettr_sources, size_data
from ettr_book.chapters import scale

TARGET = 0.9


def test_the_reach_is_the_size_at_which_the_target_is_met(llama3):
    steady = llama3.override({"job.include_start": False})
    reach = scale.reach_gpus(llama3, TARGET)
    at_reach = steady.override({"cluster.n_gpus": llama3.cluster.nearest_n_gpus(reach["reach"])})
    assert plan.ettr_at_best(at_reach) == pytest.approx(TARGET, abs=1e-3)
    assert reach["low"] < reach["reach"] < reach["high"]


def test_the_answer_has_two_ranges_and_the_measured_value(llama3):
    frame = scale.ettr_of_sizes(llama3, [100_000])
    rows = frame.set_index("n_gpus")
    grown, current = rows.loc[100_000], rows.loc[16_384]
    assert grown["clusters_low"] < grown["low"] < grown["ettr"] < grown["high"] < grown["clusters_high"]
    assert grown["clusters_low"] < evidence.figure("fthsdp_ettr").value < grown["clusters_high"]
    assert np.isnan(current["clusters_low"]) and current["published"] == ""
    answer = scale.answer(llama3, frame, TARGET)
    assert grown["published"] in answer.title and f"{grown['published']}, which failed every 18 min" in answer.text


@pytest.mark.parametrize("n_gpus", [16_384, 100_000])
def test_the_chart_shows_the_range_and_the_published_values(llama3, n_gpus):
    drawn = size_data(llama3.override({"cluster.n_gpus": n_gpus}))
    (here,) = drawn["here"].itertuples()
    assert here.low < here.ettr < here.high
    assert drawn["lines"]["n_gpus"].max() > 131_072
    published = drawn["published"]
    assert published["run"].tolist() == ["Llama 3 405B", "MegaScale", "ByteRobust, dense", "Meta, 100,000 GPUs"]
    assert published[published["bound"] == VALUE][["n_gpus", "ettr"]].to_numpy().tolist() == [[100_000, 0.44]]
    assert ettr_sources() == ["dubey2024", "jiang2024megascale", "wan2025byterobust", "salpekar2026fthsdp"]


def test_each_reported_share_names_its_bound_its_kind_and_its_size():
    rows = scale.reported().frame.set_index("Run or platform")
    assert rows.loc["Llama 3 405B", ["Share", "Size"]].tolist() == ["more than 90%", "16,384 GPUs"]
    assert rows.loc["NVIDIA DGX Cloud", ["Share", "Size"]].tolist() == ["more than 99%", "2,000 to 10,000 GPUs"]
