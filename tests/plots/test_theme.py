"""Colours that everybody can tell apart, and what a finished chart carries."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
import pytest

from ettr.core.errors import InputError
from ettr.plots import theme
from ettr_book.chapters import power

SMOOTHING = {name: colour for name, (colour, _) in power.OPTION_LOOKS.items()}
PALETTES = {
    "category": (theme.CATEGORY_COLOURS, 10.0),
    "part": (
        theme.PART_COLOURS,
        6.5,
    ),  # nine colours; the parts stand in a fixed order with a gap between them
    "model": (theme.MODEL_COLOURS, 11.0),
    "smoothing": (SMOOTHING, 6.5),  # each line has a dash of its own as well
}
BACKGROUNDS = ("#ffffff", "#121212")  # the pages' light and dark

# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
SEEN_AS = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}


def linear(colour: str) -> np.ndarray:
    srgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])  # WCAG 2


def contrast(a: str, b: str) -> float:
    dark, light = sorted([luminance(a), luminance(b)])
    return (light + 0.05) / (dark + 0.05)


def oklab(rgb: np.ndarray) -> np.ndarray:  # Ottosson (2020)
    lms = np.array([[0.41222147, 0.53633254, 0.05144599], [0.2119035, 0.68069955, 0.10739696]])
    lms = np.vstack([lms, [0.08830246, 0.28171884, 0.6299787]]) @ rgb
    lab = np.array([[0.21045426, 0.7936178, -0.00407205], [1.9779985, -2.4285922, 0.4505937]])
    return np.vstack([lab, [0.0259040, 0.78277177, -0.80867577]]) @ np.cbrt(np.clip(lms, 0, None))


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("background", BACKGROUNDS)
def test_marks_stand_out_on_light_and_dark(palette, background):
    low = {name: contrast(c, background) for name, c in PALETTES[palette][0].items()}
    assert min(low.values()) >= 3.0, low  # WCAG 2.1, 1.4.11


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("eyes", SEEN_AS)
def test_colours_stay_apart_for_colour_blind_readers(palette, eyes):
    colours, smallest = PALETTES[palette]
    perceived = {name: oklab(np.clip(np.asarray(SEEN_AS[eyes]) @ linear(c), 0, 1)) for name, c in colours.items()}
    apart = {(a, b): 100 * np.linalg.norm(perceived[a] - perceived[b]) for a, b in combinations(perceived, 2)}
    assert min(apart.values()) >= smallest, min(apart, key=apart.get)


def bars() -> alt.Chart:
    frame = pd.DataFrame({"category": ["GPU", "Host"], "n": [2, 1], "cluster": ["A", "B"]})
    return alt.Chart(frame).mark_bar().encode(x="n:Q", y="category:N")


def finished(chart, **options):
    return theme.finish(chart, title="GPUs lead", subtitle="RSC-1", description="Two  bars.\n", **options).to_dict()


@pytest.mark.parametrize("chart", [bars(), bars() + bars().mark_text()], ids=["single", "layered"])
def test_a_single_chart_fills_its_column(chart):
    spec = finished(chart, height=200)
    assert (spec["width"], spec["height"]) == ("container", 200)
    assert spec["title"] == {"text": "GPUs lead", "subtitle": "RSC-1"}
    assert spec["description"] == "Two bars."
    assert spec["config"]["axis"]["labelFontSize"] == theme.LABEL_PX


@pytest.mark.parametrize(
    "chart",
    [
        bars() | bars(),
        bars() & bars(),
        alt.concat(bars(), bars(), columns=2),
        bars().facet("cluster:N", columns=2),
    ],
    ids=["beside", "below", "wrapped", "faceted"],
)
def test_panels_have_widths_of_their_own(chart):
    spec = finished(chart)
    panels = spec.get("hconcat") or spec.get("vconcat") or spec.get("concat") or [spec["spec"]]
    assert all(panel["width"] == theme.PANEL_WIDTH and panel["height"] == theme.PANEL_HEIGHT for panel in panels)
    assert "width" not in spec


def test_finish_leaves_the_chart_it_was_given():
    chart = bars()
    finished(chart)
    assert chart.title is alt.Undefined


@pytest.mark.parametrize("missing", ["title", "description"])
def test_a_chart_needs_a_title_and_a_description(missing):
    texts = {"title": "a", "description": "b", missing: "  "}
    with pytest.raises(InputError, match=f"{missing} must not be empty"):
        theme.finish(bars(), **texts)


def test_a_missing_column_is_an_error():
    with pytest.raises(InputError, match=r"needs column ettr; the frame has: n_gpus$"):
        theme.need(pd.DataFrame({"n_gpus": [1]}), "n_gpus", "ettr")


def test_layers_are_those_of_altair():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    line = alt.Chart(frame).mark_line(clip=True).encode(x=alt.X("a:Q", title="A", scale=alt.Scale(type="log")), y="b:Q")
    typed = alt.Chart(frame.assign(c=["x", "y"])).mark_point().encode(x="a", y="b", color="c")
    for layers in ([line, line.mark_point()], [line, typed], [typed, theme.touchable(line)]):
        assert finished(theme.layered(*layers)) == finished(alt.layer(*layers))


def test_a_touchable_line_answers_by_its_points():
    line = bars().mark_line().encode(strokeDash="cluster:N", tooltip="n:Q")
    spec = finished(theme.touchable(line))
    drawn, unseen = spec["layer"]
    assert (drawn["mark"]["type"], drawn["encoding"]["tooltip"]) == ("line", {"value": None})
    assert (unseen["mark"]["type"], unseen["encoding"]["opacity"]) == ("point", {"value": 0})
    assert unseen["encoding"]["tooltip"] == {"field": "n", "type": "quantitative"}
    assert "strokeDash" not in unseen["encoding"]
    assert "strokeDash" in drawn["encoding"]


def test_dark_pages_brighten_colours_of_the_theme_until_they_can_be_seen():
    """The script of the charts names the colours again, as it cannot ask for them."""
    script = (Path(__file__).parents[2] / "book" / "_static" / "charts.js").read_text(encoding="utf-8")
    (pairs,) = re.findall(r"const BRIGHTER = \{(.*?)\};", script, re.DOTALL)
    brighter = dict(re.findall(r'"(#\w{6})": "(#\w{6})"', pairs))
    named = set(theme.PART_COLOURS.values()) | {value for value in vars(theme).values() if isinstance(value, str)}
    assert len(brighter) >= 12 and set(brighter) <= named
    dark = BACKGROUNDS[1]
    for light, bright in brighter.items():
        assert contrast(bright, dark) > max(4.5, contrast(light, dark)), light
    dim = {colour for colour in theme.PART_COLOURS.values() if contrast(colour, dark) < 3.5}
    assert dim <= set(brighter)
