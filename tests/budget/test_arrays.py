"""Arrays: equal to single runs, in any shape and block, with products and swept columns; and refused input."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ettr import Scenario, budget
from ettr.budget import blocks as budget_blocks
from ettr.core.errors import InputError
from ettr.core.results import PARTS
from ettr.core.validity import ValidityWarning
from ettr.scenario.fields import given_at

FORMULAS = pytest.mark.parametrize("formula", budget.FORMULAS.values(), ids=budget.FORMULAS)
MODES = [{"name": "bug", "share": 0.4, "detection_min": 20, "restart_min": 15}]
N, T, R = "cluster.n_gpus", "checkpoint.interval_min", "recovery.restart_min"
BLOCK = budget_blocks._BLOCK_POINTS


def grid(shape: tuple[int, ...], start: float, end: float, axes: tuple[int, ...]) -> np.ndarray:
    """Values that vary along some axes only, all different."""
    lengths = [length if axis in axes else 1 for axis, length in enumerate(shape)]
    return np.linspace(start, end, math.prod(lengths)).reshape(lengths)


def lean(values: np.ndarray) -> np.ndarray:
    """Without leading axes of length 1, as users give arrays."""
    while values.ndim > 1 and values.shape[0] == 1:
        values = values[0]
    return values


@pytest.fixture
def moded_run(plain_run) -> Scenario:
    """A mode with times of its own, and a start-up that grows with the size."""
    return plain_run.override({"failures.observed_nodes": 500, "failures.modes": MODES})


SHAPES = {
    "1-d": ((23,), (0,), (0,)),
    "one": ((1,), (0,), (0,)),
    "n x 1": ((23, 1), (0,), (0,)),
    "n x 1 x m": ((5, 1, 9), (0,), (2,)),
    "long middle axis": ((2, 19, 3), (0, 2), (1,)),
    "both along the cut axis": ((4, 11), (0, 1), (1,)),
    "four axes": ((2, 1, 7, 3), (2,), (0, 3)),
}


@FORMULAS
@pytest.mark.parametrize("shape", SHAPES)
def test_blocks_give_what_a_loop_over_single_runs_gives(moded_run, monkeypatch, formula, shape):
    """Blocks of seven points cut all of these shapes, most of them unevenly."""
    monkeypatch.setattr(budget_blocks, "_BLOCK_POINTS", 7)
    points, n_axes, t_axes = SHAPES[shape]
    at = {N: 8 * np.round(grid(points, 100, 2000, n_axes)), T: lean(grid(points, 10, 90, t_axes)), R: 12.0}
    form = formula(moded_run, at)
    assert form.total_h.shape == points
    sizes, intervals = np.broadcast_to(at[N], points), np.broadcast_to(at[T], points)
    for index in np.ndindex(points):
        single = formula(moded_run.override({N: int(sizes[index]), T: float(intervals[index]), R: 12.0}))
        for part in (*PARTS, "n_failures", "total_h"):
            assert getattr(form, part)[index] == pytest.approx(getattr(single, part), rel=1e-12), part


LARGE = {
    "1-d": ((BLOCK + 1,), (0,), (0,)),
    "n x 1 x m": ((5, 1, BLOCK - 1), (0,), (2,)),
    "long first axis": ((BLOCK + 7, 3), (0,), (1,)),
    "square": ((301, 211), (0,), (1,)),
}


@pytest.mark.parametrize(
    "formula",
    [budget.exact, *(pytest.param(each, marks=pytest.mark.slow) for each in (budget.first_order, budget.rsc))],
)
@pytest.mark.parametrize("shape", LARGE)
def test_arrays_beyond_a_block_are_evaluated_as_if_in_one(moded_run, monkeypatch, formula, shape):
    points, n_axes, t_axes = LARGE[shape]
    at = {N: grid(points, 800, 16_000, n_axes), T: lean(grid(points, 10, 90, t_axes))}
    blocks = list(budget_blocks._blocks(points))
    assert len(blocks) > 1
    form = formula(moded_run, at)
    # a few single points on both sides of each cut
    axis = int(np.argmax(points))
    for block in blocks[:2]:
        for place in (block[-1].start, min(block[-1].stop, points[axis]) - 1):
            index = tuple(place if i == axis else length // 2 for i, length in enumerate(points))
            single = {path: np.broadcast_to(values, points)[index] for path, values in at.items()}
            assert form.total_h[index] == pytest.approx(formula(moded_run, single).total_h, rel=1e-12)
    monkeypatch.setattr(budget_blocks, "_BLOCK_POINTS", 10**9)
    assert len(list(budget_blocks._blocks(points))) == 1
    at_once = formula(moded_run, at)
    for part in (*PARTS, "n_failures"):
        assert np.array_equal(getattr(form, part), getattr(at_once, part)), part


def test_points_without_an_answer_are_counted_over_all_blocks_and_warned_of_once(plain_run, monkeypatch):
    sizes = 8.0 * np.arange(1, 1001) * 50
    monkeypatch.setattr(budget_blocks, "_BLOCK_POINTS", 33)
    with pytest.warns(ValidityWarning) as caught:
        form = budget.rsc(plain_run, {N: sizes})
    lost = np.isnan(form.total_h)
    assert 0 < lost.sum() < 1000
    assert [str(warning.message) for warning in caught] == [
        f"budget.rsc holds only for λ(u₀ + Δ/2) < 1: {lost.sum()} of 1000 points are NaN"
    ]
    assert (lost == (sizes > sizes[~lost].max())).all()  # beyond one size there is no answer


@FORMULAS
def test_a_warning_points_at_the_caller(plain_run, formula):
    with pytest.warns(ValidityWarning) as caught:
        formula(plain_run, {N: [80, 8e9]})
    assert [warning.filename for warning in caught] == [__file__]


# --------------------------------------------------------------------------- edges and refusals


@FORMULAS
@pytest.mark.parametrize("shape", [(0,), (0, 3), (4, 0), (1, 0, 1)])
def test_an_empty_array_gives_an_empty_budget(plain_run, formula, shape):
    form = formula(plain_run, {N: np.ones(shape), T: 30.0})
    for part in (*PARTS, "n_failures", "total_h", "ettr"):
        assert np.shape(getattr(form, part)) == shape, part


@FORMULAS
def test_a_single_value_gives_plain_numbers(plain_run, formula):
    form = formula(plain_run, {N: 16_000, T: np.float64(30)})
    assert form == formula(plain_run.override({N: 16_000, T: 30}))
    assert all(isinstance(getattr(form, part), float) for part in (*PARTS, "n_failures"))


PRODUCT = {N: [8000, 16_000], T: [20.0, 40.0, 60.0], R: 10.0}


@FORMULAS
def test_a_product_has_every_combination(plain_run, formula):
    hours = formula(plain_run, PRODUCT, product=True)
    shaped = formula(plain_run, {N: [[8000], [16_000]], T: [20.0, 40.0, 60.0], R: 10.0})
    assert hours.ettr.shape == (2, 3) and (hours.ettr == shaped.ettr).all()
    frame = hours.to_frame()
    assert list(frame.columns[:4]) == ["point", N, T, R] and len(frame) == 6
    assert frame[N].tolist() == [8000] * 3 + [16_000] * 3 and frame[T].tolist() == [20.0, 40.0, 60.0] * 2
    for point, row in enumerate(frame.itertuples(index=False)):
        single = formula(plain_run.override({N: int(row[1]), T: row[2], R: row[3]}))
        assert frame["ettr"][point] == pytest.approx(single.ettr, rel=1e-12)


def test_other_answers_over_a_product_have_its_shape(plain_run):
    at = {N: [8000, 16_000], R: [5.0, 10.0, 20.0]}
    mean_h = budget.finishing(plain_run, at, product=True).mean_h
    assert mean_h.shape == (2, 3)
    assert mean_h[1, 2] == pytest.approx(budget.finishing(plain_run.override({N: 16_000, R: 20.0})).mean_h, rel=1e-9)
    assert budget.best_interval_min(plain_run, {N: [[8000], [16_000]], R: [5.0, 10.0, 20.0]}) == pytest.approx(
        budget.best_interval_min(plain_run, at, product=True), rel=1e-12
    )


def test_a_searched_interval_does_not_depend_on_the_other_points(plain_run):
    """Sizes far apart, whose searches end after a different number of steps."""
    run = plain_run.override({"checkpoint.tiers": [{"name": "peer", "interval_s": 60, "stall_s": 1, "survives": 0.9}]})
    sizes = [64, 2048, 65_536]
    alone = [budget.best_interval_min(run, {N: [size]})[0] for size in sizes]
    np.testing.assert_allclose(budget.best_interval_min(run, {N: sizes}), alone, rtol=1e-13)


def test_swept_values_are_columns_for_each_field_that_can_be_swept(plain_run):
    for path in plain_run.swept:
        value = given_at(plain_run, path) or 0.0
        frame = budget.exact(plain_run, {path: [value, value]}).to_frame()
        assert frame[path].tolist() == [value, value], path


BAD = {
    "text": ({T: ["five"]}, f"{T} must be numbers, got ['five']"),
    "nothing among numbers": ({T: [5, None]}, f"{T} must be finite, got nan"),
    "ragged": ({T: [[1, 2], [3]]}, f"{T} must be numbers, got [[1, 2], [3]]"),
    "not finite": ({T: [5, math.inf]}, f"{T} must be finite, got inf"),
    "beyond reason": ({R: [5, 1.1e11, 2e11]}, f"{R} must be <= 1e+11 min, got 1.1e+11"),
    "no whole slowdown": ({"checkpoint.persist_slowdown": [0.5, 1]}, "checkpoint.persist_slowdown must be < 1, got 1"),
    "not of one shape": (
        {N: [8, 16], R: [1, 2, 3]},
        f"arrays must broadcast against each other, got {N} (2,), {R} (3,); for every combination pass product=True to "
        "the function of ettr.budget",
    ),
}


@pytest.mark.parametrize("fault", BAD)
def test_bad_arrays_are_refused_with_path_and_value_or_shape(plain_run, fault):
    at, message = BAD[fault]
    with pytest.raises(InputError) as caught:
        budget.exact(plain_run, at)
    assert str(caught.value) == message
