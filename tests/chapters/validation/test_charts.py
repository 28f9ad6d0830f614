"""The chart of published against computed, by its specification."""

from __future__ import annotations

import pytest

from computed.chapters import published
from ettr_book.chapters import validation


def test_every_result_is_a_dot_on_a_logarithmic_ratio(check_chart, encoding_of, layer_of):
    results = published()
    chart = validation.validation_chart(results, "Most results are reproduced", "All of them").to_dict()
    check_chart(chart)
    dots = encoding_of(chart, "point")
    assert dots["x"]["scale"]["type"] == "log" and dots["x"]["title"] == "Computed / published"
    assert set(dots["color"]["scale"]["domain"]) == set(results["verdict"])
    assert dots["shape"]["field"] == "verdict"  # told apart by more than colour
    rows = layer_of(chart, "point")["rows"]
    assert [row["ratio"] for row in rows] == pytest.approx((results["computed"] / results["published"]).tolist())
    assert "RSC-2, ETTR of 100,000 GPUs" in chart["description"]


def test_nothing_off_is_said():
    results = published()
    good = results[results["verdict"] != "not reproduced"]
    chart = validation.validation_chart(good, "All are reproduced").to_dict()
    assert chart["description"].endswith("not reproduced: none.")
