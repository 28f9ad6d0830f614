"""Which points a grid spans, and what is no grid."""

from __future__ import annotations

import math
import time
import tracemalloc

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ettr.core.errors import InputError
from ettr.sweep import load
from ettr.sweep.grid import key


def points(written, most: int = 10_000) -> list[dict]:
    return [
        dict(point.parameters)
        for point in load(yaml.safe_load(written) if isinstance(written, str) else written, most).points()
    ]


def test_a_mapping_spans_the_product_with_the_last_parameter_fastest():
    assert points("a: [1, 2]\nb: [x, y]") == [{"a": i, "b": j} for i in (1, 2) for j in ("x", "y")]


def test_one_value_needs_no_list_and_a_list_of_mappings_is_values():
    assert points("a: 7\nb: [[1, 2], [3]]\nc: [{k: 1}, {k: 2}]") == [
        {"a": 7, "b": b, "c": {"k": k}} for b in ([1, 2], [3]) for k in (1, 2)
    ]


def test_a_zip_goes_through_its_parameters_together_and_blocks_multiply():
    written = "zip: {a: [1, 2], b: [10, 20]}\nproduct: {c: [0, 1]}"
    assert points(written) == [{"a": a, "b": 10 * a, "c": c} for a in (1, 2) for c in (0, 1)]


def test_points_may_have_names():
    grid = load({"points": {"small": {"a": 1}, "large": {"a": 9}}, "product": {"b": [0, 1]}}, 99)
    assert [(p.name, p.parameters["a"], p.parameters["b"]) for p in grid.points()] == [
        ("small", 1, 0), ("small", 1, 1), ("large", 9, 0), ("large", 9, 1),
    ]  # fmt: skip


def test_a_list_is_points():
    assert points("- {a: 1, b: x}\n- {b: y, a: 2}") == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("{from: 1, to: 60, step: 1}", list(range(1, 61))),
        ("{from: 0, to: 1, count: 5}", [0.0, 0.25, 0.5, 0.75, 1.0]),
        ("{from: 0.1, to: 0.3, step: 0.1}", [0.1, 0.2, 0.3]),
        ("{from: 5, to: 1, step: -2}", [5, 3, 1]),
        ("{from: 1, to: 100, count: 3, scale: log}", [1, 10, 100]),
        ("{from: 1000, to: 100000, count: 3, scale: log, multiple_of: 8}", [1000, 10000, 100000]),
        ("{from: 1000, to: 1020, count: 5, multiple_of: 8}", [1000, 1008, 1016]),
        ("{from: 3, to: 3, count: 1}", [3]),
        ("{from: 1, to: 100000000000000000000, count: 3, scale: log}", [1, 10**10, 10**20]),
        ("{from: 10000000000000000001, to: 10000000000000000003, count: 3}", [10**19 + 1, 10**19 + 2, 10**19 + 3]),
    ],
)
def test_ranges(written, values):
    expanded = [point["a"] for point in points(f"a: {written}")]
    assert expanded == values
    assert [type(value) for value in expanded] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("a: []", "a must have at least one value"),
        ("{}", "must map parameters to values"),
        ("[]", "must be a non-empty list of points"),
        ("- {a: 1}\n- {b: 1}", "must all have the same parameters; not all have a, b"),
        ("a: [1, 2, 1]", "points must be different, got twice a: 1"),
        ("- {a: 1, b: 2}\n- {b: 2, a: 1}", "points must be different, got twice a: 1, b: 2"),
        ("zip: {a: [1, 2], b: [1]}", "equal numbers of values: a has 2, b has 1"),
        ("product: {a: 1}\nzip: {a: [1], b: [2]}", "a must be in one block only"),
        ("product: {a: 1}\nb: [1]", "parameter 'b' next to the block 'product'"),
        ("a: {k: 1}", "must be a list of values or a range such as"),
        ("a: {from: 1, to: 2, count: 2, step: 1}", "needs either count or step"),
        ("a: {from: 1, to: 2, count: 1.5}", "count of a must be a whole number >= 1"),
        ("a: {from: 1, to: 2, step: 0}", "step of a must lead from 1 to 2"),
        ("a: {from: 0, to: 2, count: 3, scale: log}", "a log range must be > 0"),
        ("a: {from: 1, to: 2, count: 3, scale: cubic}", "scale of a must be linear or log"),
        ("a: {from: 1, to: .inf, count: 3}", "to of a must be a number below 1e\\+300, got inf"),
        ("a: {from: 1, to: 2, count: 3, steps: 4}", "must be a list of values or a range"),
        ("a: {from: 1, to: 7, count: 3, multiple_of: 8}", "a has no multiple of 8 between 1 and 7"),
        ("a: {from: 0, to: 1, step: 1.0e-320}", "a must have at most .* values"),
        ("a: {from: 1, to: 2, count: 3, multiple_of: 1.0e-320}", "multiple_of of a must be > "),
        ("a: [1, .inf]", "a.1 must be finite, got inf"),
        ("- {a: 1, b: .nan}", "b must be finite, got nan"),
        ("- {1: 2}", "a point maps parameters to values"),
        ("1: [2]", "the name of a parameter must be text, got 1"),
        ("a: [{1: 2, b: 3}]", "a mapping among the values must have text keys"),
    ],
)
def test_what_is_no_grid_is_refused(written, words):
    with pytest.raises(InputError, match=words):
        points(written)


def test_too_many_points_are_counted_and_not_made():
    side = "{from: 1, to: 1000, step: 1}"
    with pytest.raises(InputError, match=r"at most 100,000 points, got 1,000,000,000 = 1,000 x 1,000 x 1,000"):
        load(yaml.safe_load(f"a: {side}\nb: {side}\nc: {side}"), 100_000)
    with pytest.raises(InputError, match="values, got 1,000,000,000"):
        load({"a": {"from": 0, "to": 1, "count": 10**9}}, 100_000)


LONG = {"from": 1, "to": 60, "count": 200_000}
ROUNDED = {"from": 1, "to": 8_000_000, "count": 2_000, "multiple_of": 8}


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"a": LONG, "b": LONG}, "got 40,000,000,000 = 200,000 x 200,000"),
        ({"a": LONG}, "at most 100,000 points, got 200,000"),
        ({"a": {**LONG, "scale": "log"}, "b": [1, 2]}, "got 400,000 = 200,000 x 2"),
        ({"a": {"from": 0, "to": 1, "step": 5e-6}}, "at most 100,000 points, got 200,001"),
        ({"a": {**LONG, "count": 1e12}}, "a must have at most 10,000,000 values, got 1,000,000,000,000"),
        ({"a": {**LONG, "multiple_of": 8}}, "a must have at most 100,000 values before rounding .*, got 200,000"),
        ({"a": ROUNDED, "b": ROUNDED}, "got 4,000,000 = 2,000 x 2,000"),
        ({"a": ROUNDED, "b": LONG}, "at most 100,000 points, got 200,000"),
        ({"zip": {"a": LONG, "b": LONG}}, "at most 100,000 points, got 200,000"),
        ({"zip": {"a": LONG, "b": {**LONG, "count": 199_999}}}, "a has 200,000, b has 199,999"),
        ({"zip": {"a": LONG, "b": ROUNDED}}, "at most 100,000 points, got 200,000"),
        ({"points": [{"a": 1}, {"a": 2}], "product": {"b": LONG}}, "got 400,000 = 2 x 200,000"),
        ({"product": {"a": LONG}, "zip": {"a": LONG}}, "a must be in one block only"),
        ({"a": range(10**12)}, "a must have at most 10,000,000 values, got 1,000,000,000,000"),
    ],
)
def test_the_number_of_points_is_known_before_their_values_are_made(written, words):
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=words):
            load(written, 100_000)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_repeated_value_is_found_at_the_end_of_a_long_list():
    begun = time.monotonic()
    with pytest.raises(InputError, match="got twice a: 29999"):
        load({"a": [*range(30_000), 29_999]}, 100_000)
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [1\n", "line 2, column 1: broken YAML"),
        (None, "cannot read the grid"),
        (b"\xff", "not"),
    ],
)
def test_a_file_that_is_no_yaml_is_said(tmp_path, text, words):
    path = tmp_path / "grid.yml"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=words):
        load(path, 10)


AXIS = st.lists(st.integers(-9, 9), min_size=1, max_size=4, unique=True)


@given(st.dictionaries(st.sampled_from("abcd"), AXIS, min_size=1), st.lists(st.tuples(AXIS), max_size=1))
def test_columns_are_the_points(product, zipped):
    written: dict = {"product": product}
    if zipped:
        written["zip"] = {"y": zipped[0][0], "z": [str(value) for value in zipped[0][0]]}
    grid = load(written, 10**6)
    listed = list(grid.points())
    assert len(listed) == grid.n_points == math.prod(map(len, product.values())) * (len(zipped[0][0]) if zipped else 1)
    assert len({key(point.parameters) for point in listed}) == len(listed)
    for name, column in grid.columns().items():
        assert column.tolist() == [point.parameters[name] for point in listed]


def test_values_from_python_may_be_arrays():
    assert points({"a": np.array([1, 2]), "b": range(2), "c": ("x",)}) == [
        {"a": a, "b": b, "c": "x"} for a in (1, 2) for b in (0, 1)
    ]


def test_true_is_not_one():
    assert points("a: [1, true]") == [{"a": 1}, {"a": True}]


def test_a_name_with_a_lone_surrogate_is_kept_as_its_escape():
    (point,) = load({"points": {"a\ud800": {"n": 1}}}, 9).points()
    assert point.name == "a\\ud800"
