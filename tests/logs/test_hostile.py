"""Logs of a known truth, written as people write them: the truth is read, or refused, or put in doubt."""

from __future__ import annotations

from functools import cache

import pytest

from hostile_logs import GENERATORS, PAIRS, TRUTH, WRONG, as_json, as_table, halves, outcome, truth_log, variants

MAY_REFUSE = {
    *("start and node swapped", "row numbers taken for times", "start and end swapped"),
    "a paragraph before the header",
}
MAY_DOUBT = {
    *("severities without a known order", "two systems, not said", "cut short, packed", "cut in the middle of a line"),
    *("three quarters on the last day", "three quarters at one second", "dates cut by a spreadsheet"),
    *("most rows broken", "one year mistyped, the last"),
}


@cache
def drawn(generator: str):
    return truth_log(generator)


RULES = [next(iter(GENERATORS)), *(pytest.param(name, marks=pytest.mark.slow) for name in [*GENERATORS][1:])]


@pytest.mark.parametrize("generator", RULES)
@pytest.mark.parametrize(("name", "kind"), variants())
def test_a_mishap_is_never_wrong_in_silence(tmp_path, generator, name, kind):
    came, detail = outcome(*variants()[name, kind](drawn(generator)), kind, tmp_path)
    assert came != WRONG, detail
    # what can be read is read: a refusal, or a doubt, is no way out
    assert came == TRUTH or name in MAY_REFUSE | MAY_DOUBT, detail


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize(("kind", "write"), [("csv", as_table), ("events", as_json)])
def test_words_for_down_and_up_make_outages(tmp_path, generator, kind, write):
    """Each rule of failure with a fifth of the words."""
    first = [*GENERATORS].index(generator)
    for down, up in PAIRS[first :: len(GENERATORS)]:
        hostile = halves(drawn(generator), down, up)
        came, detail = outcome(hostile, write(hostile), kind, tmp_path)
        assert came == TRUTH, f"{down}, {up}: {detail}"
