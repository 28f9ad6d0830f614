"""Numbers as people read them."""

from __future__ import annotations

import html
import math
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from ettr.core import sentences
from ettr.core.sentences import Finding

UNITS = {"s": 1 / 3600, "min": 1 / 60, "h": 1.0, "days": 24.0}


WRITTEN = {
    sentences.duration: {
        0: "0 s",
        2.5 / 3600: "2.5 s",
        59 / 3600: "59 s",
        1 / 60: "1 min",
        7.7 / 60: "7.7 min",
        1.0: "1 h",
        3.0931: "3.09 h",
        71.9: "71.9 h",
        72.0: "3 days",
        54 * 24: "54 days",
        1e30: "more than a thousand years",
    },
    sentences.number: {
        0: "0",
        3.789: "3.79",
        0.87: "0.87",
        12.34: "12.3",
        99.96: "100",
        1234.5: "1,234",
        0.00381: "0.00381",
    },
    sentences.points: {
        0.013: "1.3 points",
        0.01: "1.0 point",
        -0.01: "-1.0 point",
        0.0104: "1.0 point",
        0.0: "0.0 points",
        0.0004: "less than 0.1 points",
        0.0005: "0.1 points",
    },
    sentences.gpus: {
        8: "8 GPUs",
        16_384: "16,384 GPUs",
        131_072.0: "131,072 GPUs",
        50_612.3: "50,600 GPUs",
        2_865.4: "2,865 GPUs",
        1_234_567: "1,230,000 GPUs",
        math.inf: "any number of GPUs",
    },
    sentences.listed: {("a",): "a", ("a", "b"): "a and b", ("a", "b", "c"): "a, b and c"},
    sentences.pct: {268 / 419: "64.0%"},
    sentences.count: {16_384.4: "16,384"},
}


@pytest.mark.parametrize(
    ("write", "value", "text"), [(write, *pair) for write, pairs in WRITTEN.items() for pair in pairs.items()]
)
def test_numbers_are_written_as_people_read_them(write, value, text):
    assert write(value) == text


@given(hours=st.floats(1e-6, 1e6))
@settings(max_examples=80)
def test_a_duration_can_be_read_back(hours):
    value, unit = sentences.duration(hours).split()
    # three digits above 0.1 of the unit, and at least two decimals of a digit below
    assert float(value.replace(",", "")) * UNITS[unit] == pytest.approx(hours, rel=0.051)


@given(value=st.floats(1e-4, 1e9))
@settings(max_examples=80)
def test_a_number_has_three_digits_and_no_exponent(value):
    text = sentences.number(value)
    assert re.fullmatch(r"\d{1,3}(,\d{3})*(\.\d+)?", text)
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.051)
    if value >= 1:
        assert float(text.replace(",", "")) == pytest.approx(value, rel=5.1e-3)


def test_no_word_is_ever_infinite():
    """A sentence about what never happens is written as one; a number that is not finite is a fault."""
    assert sentences.listed([])
    with pytest.raises(ValueError, match="finite"):
        sentences.duration(math.inf)
    assert "e" not in sentences.count(3e60) and len(sentences.count(3e60)) < 10


def test_a_finding_shows_its_text():
    finding = Finding("title", "**text**")
    assert str(finding) == finding._repr_mimebundle_()[0]["text/markdown"] == "**text**"


def test_jupyter_shows_a_finding_without_the_signs_of_the_book():
    text = r"**[91%]{#q-ettr}** by {doc}`the model </book/a>`, see {doc}`scale`; \[kept\]"
    data, metadata = Finding("title", text)._repr_mimebundle_()
    assert data["text/markdown"] == r"**91%** by the model, see scale; \[kept\]"
    assert data["text/plain"] == "**91%** by the model, see scale; [kept]"
    assert metadata[sentences.MYST] == text


# --------------------------------------------------------------------------- templates


@pytest.mark.parametrize("missing", [None, math.nan, np.float64("inf")])
def test_a_missing_number_gives_the_fallback(missing):
    text = sentences.say("{n:gpus} reach {ettr:share}", "{n:gpus} have no answer", n=8, ettr=missing)
    assert text == "8 GPUs have no answer"
    assert sentences.say(" Beyond {end:gpus} it ends.", end=missing) == ""


def test_a_value_that_only_the_fallback_lacks_does_no_harm():
    assert sentences.say("{a:number}", "{b:number}", a=1.0, b=None) == "1"
    with pytest.raises(ValueError, match="b is None"):
        sentences.say("{a:number}", "{b:number}", a=None, b=None)


def test_a_value_that_is_not_given_is_a_mistake_of_the_template():
    with pytest.raises(KeyError, match="ettr"):
        sentences.say("{ettr:share}", "nothing")
    with pytest.raises(ValueError, match="Invalid format specifier"):
        sentences.say("{ettr:sharez}", ettr=0.5)


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        ("count", 16384, "16,384"),
        ("duration", 0.5, "30 min"),
        ("gpus", 50_123.4, "50,100 GPUs"),
        ("gpus2", 50_123.4, "50,000 GPUs"),
        ("list", ["a", "b", "c"], "a, b and c"),
        ("number", 3.789, "3.79"),
        ("points", 0.013, "1.3 points"),
        ("at most points", 0.013, "at most 1.3 points"),
        ("at most points", 0.0002, "less than 0.1 points"),
        ("share", 0.6399, "64.0%"),
        ("share0", 0.6399, "64%"),
        (".1f", 0.25, "0.2"),
        ("about", 3.789, "3.8"),
        ("gpus_span", (18_000, 21_000), "18,000-21,000 GPUs"),
        ("mw", 16.78, "17 MW"),
        ("roughly", 3.093, "3.1 h"),
        ("shares", (0.897, 0.931), "90-93%"),
        ("shares", (0.999, 1.0), "99.9-100%"),
        ("span", (0.0767, 0.217), "4.6-13 min"),
        ("usd", 2_640_000, "2.6 million USD"),
    ],
)
def test_every_form_writes_numbers_as_people_read_them(form, value, text):
    assert sentences.say(f"{{value:{form}}}", value=value) == text


def test_every_form_is_tested_here():
    (mark,) = test_every_form_writes_numbers_as_people_read_them.pytestmark
    assert {form for form, _, _ in mark.args[1]} >= set(sentences.FORMS)


CONFIG = yaml.safe_load((Path(__file__).parents[2] / "_config.yml").read_text(encoding="utf-8"))
PAGES = create_md_parser(MdParserConfig(enable_extensions=CONFIG["parse"]["myst_enable_extensions"]), RendererHTML)


@given(st.text(st.characters(codec="ascii", exclude_categories=["C"]), min_size=1).map(str.strip).filter(bool))
def test_a_literal_text_is_what_a_page_shows(text):
    page_text = html.unescape(re.sub("<[^>]*>", "", PAGES.render(f"So *{sentences.literal(text)}* it is.")))
    assert page_text.strip() == f"So {text} it is."
    assert sentences.plain(sentences.literal(text)) == text


@pytest.mark.parametrize(
    ("sign", "escape"),
    [
        ("\x1b", r"\x1b"),
        ("\r", r"\r"),
        ("\n", r"\n"),
        ("\x9b", r"\x9b"),
        ("\u2028", r"\u2028"),
        ("\u202e", r"\u202e"),
        ("\udcff", r"\udcff"),
    ],
)
def test_a_sign_that_moves_the_terminal_becomes_its_escape(sign, escape):
    assert sentences.printable(f"a{sign}b") == f"a{escape}b"


@pytest.mark.parametrize("text", ["Grüße, 東京", "10\u00a0000 GPUs", "at 3.00\u202fPM", "", "a\\nb", "😀"])
def test_words_and_spaces_of_any_kind_stay(text):
    assert sentences.printable(text) == text
