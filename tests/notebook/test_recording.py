"""Values handed out of a notebook come back as they were, by any runner."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import papermill
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ettr import notebook
from ettr.core.errors import InputError
from notebooks import written

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=4), SCALARS | st.lists(SCALARS, max_size=4), max_size=4))
def test_what_goes_in_comes_out(values):
    document = {"cells": [{"outputs": [{"data": {"application/vnd.ettr.record+json": {
        "values": list(notebook.plain(values).items())}}}]}]}  # fmt: skip
    back = notebook.recorded(document)
    assert list(back) == list(values)
    assert repr(back) == repr(values)  # also -0.0, and NaN, which equals nothing


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (np.float64(0.1), 0.1),
        (np.int32(7), 7),
        (np.bool_(True), True),
        (np.array([[1.5, math.inf]]), [[1.5, math.inf]]),
        (pd.Series([1, 2]), [1, 2]),
        ((1, 2), [1, 2]),
        (np.array("text"), "text"),
    ],
)
def test_arrays_and_columns_become_lists(value, kept):
    assert notebook.restored(notebook.plain({"x": value})) == {"x": kept}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"x": {1: 2}}, "x must be a number, text.*got dict"),
        ({"x": 1j}, "got complex"),
        ({"x": [object()]}, "got object"),
        ({"x": np.zeros(10_001)}, "x must have at most 10,000 elements, got 10,001"),
        ({"status": 1}, "'status' is a reserved column"),
    ],
)
def test_what_a_table_cannot_hold_is_refused(values, words):
    with pytest.raises(InputError, match=words):
        notebook.record(**values)


def test_outside_a_notebook_nothing_happens(capsys):
    notebook.record(x=1)
    assert capsys.readouterr().out == ""


def test_plain_papermill_keeps_what_is_recorded(tmp_path):
    path = written(
        tmp_path / "a.ipynb",
        "import ettr, math\nettr.record(b=0.1 + 0.2, a=[1, math.nan])",
        "ettr.record(b=3, c='x'); ettr.record(d=[[True]])",
    )
    papermill.execute_notebook(str(path), str(tmp_path / "b.ipynb"), progress_bar=False, kernel_name="python3")
    notebook.run(path, tmp_path / "c.ipynb")
    for name in ("b.ipynb", "c.ipynb"):
        recorded = notebook.recorded(notebook.read(tmp_path / name))
        assert list(recorded) == ["b", "a", "c", "d"]
        assert repr(recorded) == "{'b': 3, 'a': [1, nan], 'c': 'x', 'd': [[True]]}"
