"""What operators reported, beside runs whose diary is public."""

from __future__ import annotations

from ettr import evidence
from ettr.plots.size import ettr_sources
from ettr.scenario import Scenario
from ettr_book.chapters import scale, what_if


def test_each_reported_share_names_its_bound_its_kind_and_its_size():
    rows = scale.charts.reported(evidence.published_ettr()).frame.set_index("Run or platform")
    assert rows.loc["Llama 3 405B", ["Share", "Size"]].tolist() == ["more than 90%", "16,384 GPUs"]
    assert rows.loc["SIGMA", ["Share", "Quantity", "Size"]].tolist() == [
        "94.45%",
        "utilisation of a cluster",
        "not stated",
    ]
    assert rows.loc["NVIDIA DGX Cloud", ["Share", "Size"]].tolist() == ["more than 99%", "2,000 to 10,000 GPUs"]


def test_only_an_ettr_of_a_job_is_drawn_over_size():
    drawn = what_if.tables.ALL["scale"](Scenario.load("llama3-405b"))["published"]
    assert drawn["run"].tolist() == ["Llama 3 405B", "MegaScale", "ByteRobust, dense", "Meta, 100,000 GPUs"]
    assert drawn["ettr"].tolist() == [0.9, 0.9, 0.97, 0.44]
    assert ettr_sources() == [
        "dubey2024",
        "jiang2024megascale",
        "wan2025byterobust",
        "salpekar2026fthsdp",
    ]
