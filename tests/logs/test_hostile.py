"""Logs of a known truth, written as people write them: the truth is read, or refused, or put in doubt."""

from __future__ import annotations

from functools import cache

import pytest

from hostile_logs import GENERATORS, PAIRS, TRUTH, WRONG, as_json, as_table, halves, outcome, truth_log, variants

MAY_REFUSE = {
    *("every row a warning", "start and node swapped", "row numbers taken for times", "start and end swapped"),
    *("half with a zone", "fewer nodes than failed", "a paragraph before the header"),
}
MAY_DOUBT = {
    *("severities without a known order", "two systems, not said", "two thirds without a cause", "cut short, packed"),
    *("three quarters on the last day", "three quarters at one second", "dates cut by a spreadsheet"),
    *("most rows broken", "cut in the middle of a line", "planned work, not said", "a table of progress"),
    *("one year mistyped, the last", "one year mistyped, the next"),
}


@cache
def drawn(generator: str):
    return truth_log(generator)


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize(("name", "kind"), variants())
def test_a_mishap_is_never_wrong_in_silence(tmp_path, generator, name, kind):
    came, detail = outcome(*variants()[name, kind](drawn(generator)), kind, tmp_path)
    assert came != WRONG, detail
    # what can be read is read: a refusal, or a doubt, is no way out
    assert came == TRUTH or name in MAY_REFUSE | MAY_DOUBT, detail


@pytest.mark.parametrize("kind", ["csv", "events"])
@pytest.mark.parametrize(("down", "up"), PAIRS)
def test_words_for_down_and_up_make_outages(tmp_path, down, up, kind):
    for generator in GENERATORS:
        hostile = halves(drawn(generator), down, up)
        text = (as_table if kind == "csv" else as_json)(hostile)
        came, detail = outcome(hostile, text, kind, tmp_path)
        assert came == TRUTH, f"{generator}: {detail}"


def test_there_are_as_many_mishaps_as_are_promised():
    assert len({name for name, _ in variants()}) >= 40 and len(PAIRS) >= 20 and len(GENERATORS) == 5
