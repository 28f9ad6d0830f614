"""YAML of others: without traps, never larger than agreed, and refused with its place."""

from __future__ import annotations

import pytest

from ettr.core.errors import InputError
from ettr.core.yaml_files import load, text_of
from fuzz_yaml import CHAIN, LAUGHS, MERGED


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        load(text, "x.yml")
    assert "\n" not in str(caught.value) and str(caught.value).startswith("x.yml")
    return str(caught.value)


@pytest.mark.parametrize("text", [LAUGHS, MERGED])
def test_aliases_and_merges_count_as_often_as_they_stand(text):
    assert "more than 100,000 values, aliases counted in full" in refused(text.decode())


def test_aliases_and_merges_are_read_where_they_are_few():
    text = "base: &b {x: 1}\nd: {m: &m {<<: *b, x: 2}}\ntop: {<<: *m, y: 3}\nl: [*b, *b]\n"
    assert load(text, "x.yml") == {
        "base": {"x": 1},
        "d": {"m": {"x": 2}},
        "top": {"x": 2, "y": 3},
        "l": [{"x": 1}, {"x": 1}],
    }


@pytest.mark.parametrize("key", ["x", "interval_min"])  # PyYAML 6.0.4 compares keys by identity
def test_of_merged_values_the_own_and_then_the_first_win(key):
    text = f"a: &a {{{key}: 1}}\nb: &b {{{key}: 2, other: 2}}\nboth: {{<<: [*a, *b]}}\nown: {{{key}: 3, <<: *b}}\n"
    merged = load(f"{text}deep: {{<<: {{<<: *a, {key}: 4}}}}\n", "x.yml")
    assert merged["both"] == {key: 1, "other": 2}
    assert merged["own"] == {key: 3, "other": 2} and merged["deep"] == {key: 4}
    assert "<< takes a mapping or a list of mappings" in refused("a: {<<: 1}")


@pytest.mark.parametrize("text", [CHAIN.decode(), "[" * 2000, "[" * 51 + "]" * 51, "{a: " * 2000, "a: " + "[1," * 90])
def test_what_is_deep_is_refused_through_aliases_too(text):
    assert "nested more than 50 deep" in refused(text)


def test_levels_are_read_to_the_limit():
    assert load("[{a: " * 25 + "1" + "}]" * 25, "x.yml")
    assert "nested more than 50 deep" in refused("[" * 51 + "]" * 51)


@pytest.mark.parametrize(
    "value",
    [
        *("!!int ''", "!!python/object/apply:os.system [ls]", "!!omap [a: 1]", "!mine x"),
    ],
)
def test_tags_are_refused_by_name(value):
    assert f"line 1, column 4: broken YAML, the tag {value.split()[0]} is not read" in refused(f"a: {value}")


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "a: &a\n  <<: *a\n"])
def test_what_holds_itself_is_refused(text):
    assert "*a is used inside its own anchor" in refused(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: *b", "found undefined alias 'b'"),
        ("a: \uff11\uff12", "a number must be written with the digits 0 to 9, got '\uff11\uff12': write 12"),
        ("[1, -\u0663.5]", "write -3.5"),
        ('a: "\\ud800"', "found invalid Unicode character escape code"),
        ("{a:, b: 1}", "write a value, or a space, behind ':'"),
        ("%TAG ! tag:x,2000:\n---\na: 1", "%TAG is not read: write values without tags"),
        ("{yes: 1, true: 2}", "key 'true' is repeated"),
        ("a: " + "9" * 301, "a whole number may have 300 digits at most, got 301"),
        ("{a: 1, a: 2}", "key 'a' is repeated"),
        ("[1, 2]: 3", "a key must be a plain word"),
    ],
)
def test_a_sentence_says_where_and_what(text, words):
    assert ": line 1, column " in refused(text) and words in refused(text)


def test_texts_of_any_script_and_signs_are_read():
    assert load("{a: n\uff11, b: '\uff11\uff12', c: 2024-01-01, d: 1:30, e: =}", "") == {
        "a": "n\uff11",
        "b": "\uff11\uff12",
        "c": "2024-01-01",
        "d": "1:30",
        "e": "=",
    }


def test_minus_zero_is_zero():
    assert str(load("[-0.0, -0, -.0, -0e5]", "")) == "[0.0, 0, 0.0, 0.0]"


def test_a_long_file_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "x.yml"
    path.write_text("a: " + "x" * 5_000_000, encoding="utf-8")
    with pytest.raises(InputError, match=r"x.yml has more than 2,000,000 characters; split it"):
        text_of(path, "scenario")


@pytest.mark.parametrize("before", ["", "# c\r", "# c\u2028", "\ufeff"])
def test_a_directive_for_tags_is_found_whatever_ended_the_line_before(before):
    line = len(before.splitlines()) - (before == "\ufeff") + 1
    assert f": line {line}, column 1: broken YAML, %TAG is not read" in refused(
        f"{before}%TAG ! tag:x,2000:\n---\na: 1"
    )


def test_a_lone_surrogate_is_no_text():
    with pytest.raises(InputError, match=r"x.yml: broken YAML, a lone surrogate, such as .ud800, is no text"):
        load("a: \ud800", "x.yml")


@pytest.mark.parametrize("content", [b"\xff", "a: 1".encode("utf-16")])
def test_what_is_no_utf8_is_said(tmp_path, content):
    path = tmp_path / "x.yml"
    path.write_bytes(content)
    with pytest.raises(InputError, match="it is not UTF-8 text"):
        text_of(path, "scenario")
    with pytest.raises(InputError, match="cannot read scenario .*No such file"):
        text_of(tmp_path / "none.yml", "scenario")
