"""Parts: what the presets hold, and what a part of one's own may not say."""

from __future__ import annotations

import re

import pytest

from ettr import Gpu, evidence
from ettr.scenario import paths
from refusals import refusal


@pytest.mark.parametrize("name", evidence.gpu_names())
def test_a_preset_reads_back_as_it_was_written_and_every_figure_has_an_origin(name):
    part = Gpu.load(name)
    assert Gpu.parse(part.to_yaml()) == part
    assert set(part.flat()) - {"limits.overshoot"} <= set(part.evidence)
    assert all(origin.source or origin.note for origin in part.evidence.values())


def test_published_figures_of_the_h100():
    part = Gpu.load("h100")
    limits = part.limits
    assert (limits.power_w, limits.throttle_c, limits.slowdown_c, limits.shutdown_c) == (700, 87, 89, 95)
    assert (part.levels.idle_w, part.levels.compute_w) == (72.5, 696)
    assert Gpu.load("gb300").smoothing.storage_j == 65


def changed(path, value):
    raw = Gpu.load("h100").model_dump(exclude={"evidence"})
    paths.assign(raw, path, value, Gpu)
    return raw


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("limits.throttle_c", 400, "limits.throttle_c must be <= 150 °C, got 400"),
        ("limits.shutdown_c", 80, "shutdown_c must be >= 89 °C, the slowdown_c, got 80"),
        ("clock.sustained_mhz", 2500, "sustained_mhz must be <= 1980 MHz"),
        ("levels.compute_w", 800, "levels.compute_w must be <= 700 W, the limits.power_w"),
        ("leakage.power_w", 700, "leakage.power_w must be < 700 W"),
        ("cooling", {}, "cooling needs at least one of air, cold_plate, immersion"),
        ("cooling", {"water": {}}, "unknown field cooling.water"),
    ],
)
def test_what_breaks_a_rule_is_answered_with_its_place(path, value, message):
    assert re.search(rf"{re.escape(message)}.*\(mine\.yml\)", refusal(Gpu.of, changed(path, value), "mine.yml"))


def test_an_unknown_part_and_an_unknown_medium_name_those_that_there_are(tmp_path):
    assert re.search("unknown part 'h1000'.*did you mean 'h100'", refusal(Gpu.load, "h1000"))
    no_air = "gb200 has no figures for cooling by 'air'; it has cold_plate"
    assert no_air in refusal(Gpu.load("gb200").cooled_by, "air")
    missing = tmp_path / "none.yml"
    assert f"cannot read part {missing}: No such file" in refusal(Gpu.load, missing)
    path = tmp_path / "mine.yml"
    path.write_text(Gpu.load("h100").to_yaml(), encoding="utf-8")
    assert Gpu.load(path) == Gpu.load("h100")


def test_a_part_shows_every_figure_with_its_origin_and_its_default_as_assumed():
    frame = Gpu.load("h100").to_frame().set_index("field")
    assert frame.loc["limits.power_w", ["value", "unit", "status"]].tolist() == [700, "W", "secondary"]
    assert frame.loc["limits.overshoot", "status"] == "assumed"
    mine = Gpu.of(Gpu.load("h100").model_dump(exclude={"evidence"})).to_frame().set_index("field")
    assert mine.loc["limits.power_w", "status"] == "given" and (mine["unit"] == frame["unit"]).all()


def test_the_parts_are_told_side_by_side():
    table = Gpu.presets().set_index("name")
    h100 = Gpu.load("h100").to_frame()["status"]
    assert table.loc["h100", ["n_assumed", "n_figures"]].tolist() == [(h100 == "assumed").sum(), len(h100)]
    assert table.loc["gb300", "media"] == "cold_plate"
    fields = Gpu.dictionary().set_index("field")
    assert fields.loc["cooling.air.tau_s", ["unit", "rule"]].tolist() == ["s", ">= 1e-06, <= 1e+13"]
