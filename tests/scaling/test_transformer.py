"""Work of a token, shapes that are not known, and what a larger batch costs in tokens."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ettr.core.errors import InputError
from ettr.scaling import (
    Transformer,
    flop_per_token,
    layer_parameters,
    parameter_range,
    tokens_factor,
    usual_hidden,
    usual_layers,
)

GPT3 = Transformer(175e9, 96, 12288, 2048)


@pytest.mark.parametrize(
    ("n_gpus", "iteration_s", "mfu"),
    [(3072, 23.66, 0.591), (12288, 6.34, 0.552)],
)
def test_iterations_of_megascale_are_the_utilisation_that_it_prints(n_gpus, iteration_s, mfu):
    """Jiang et al. (2024), table 2: 6,144 sequences a step, three digits printed."""
    assert GPT3.flop_per_token * 6144 * 2048 / (n_gpus * 312e12 * iteration_s) == pytest.approx(mfu, abs=1.5e-3)


def test_work_is_six_a_weight_and_half_the_attention():
    assert flop_per_token(1.0, 1, 1, 1) == 12
    assert GPT3.flop_per_token == 6 * 175e9 + 6 * 96 * 12288 * 2048


def test_a_mixture_of_experts_computes_with_its_active_parameters():
    """DeepSeek-V3 (arXiv:2412.19437): 671 billion parameters, 37 billion of them active, 61 layers of width 7,168."""
    deepseek = Transformer(671e9, 61, 7168, 4096, n_active=37e9)
    assert deepseek.flop_per_token == 6 * 37e9 + 6 * 61 * 7168 * 4096
    assert Transformer(175e9, 96, 12288, 2048, n_active=175e9).flop_per_token == GPT3.flop_per_token


def test_the_usual_shape_has_as_many_weights_as_asked_for():
    for weights in (7e9, 70e9, 405e9, 1e12):
        layers, hidden = usual_layers(weights), usual_hidden(weights)
        assert 12 * (hidden / 128) * hidden**2 == pytest.approx(weights)
        assert abs(layers - hidden / 128) <= 4 and layers % 8 == 0
        assert 12 * layers * usual_hidden(weights, layers) ** 2 == pytest.approx(weights)
    assert (usual_layers(405e9), usual_layers(1e3)) == (128, 4)


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_parameters", 0), ("hidden", float("nan"))],
)
def test_a_shape_is_above_zero(name, value):
    shape = {"n_parameters": 1.0, "n_layers": 1.0, "hidden": 1.0, "sequence_tokens": 1.0}
    with pytest.raises(InputError, match=f"{name} must be"):
        flop_per_token(**{**shape, name: value})


PUBLISHED = {
    "GPT-3 175B": (175e9, 96, 12288, 1.0),  # Brown et al. (2020), table 2.1
    "OPT-175B": (175e9, 96, 12288, 1.0),  # Zhang et al. (2022), table 1
    "BLOOM": (176.247e9, 70, 14336, 1.0),  # Scao et al. (2022), table 3
    "GLM-130B": (130e9, 70, 12288, 1.0),  # Zeng et al. (2022), table 11; GeGLU of 32,768
    "Llama 3 405B": (404.650e9, 126, 16384, 8 / 128),  # Dubey et al. (2024), table 3
    "Llama 3 8B": (8.030e9, 32, 4096, 8 / 32),
    "Gemma 2 27B": (27.227e9, 46, 4608, 16 / 32),  # SwiGLU of eight widths, 256,128 tokens
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_dense_models_have_as_many_weights_as_their_shapes_allow(name):
    weights, layers, hidden, kv_share = PUBLISHED[name]
    for share in (kv_share, 1.0):  # also where nobody says that heads are grouped
        low, high = parameter_range(layers, hidden, share)
        assert low < weights < high


def test_the_standard_count_is_twelve_a_layer_and_square_of_the_width():
    assert layer_parameters(3, 10) == 12 * 3 * 100
    assert layer_parameters(3, 10, 0.25) == (12 - 1.5) * 3 * 100
    for name in ("GPT-3 175B", "OPT-175B", "BLOOM", "GLM-130B"):  # with a feed-forward part of the usual width
        weights, *shape = PUBLISHED[name]
        assert layer_parameters(*shape) == pytest.approx(weights, rel=0.03)


positive = st.floats(1e3, 1e12)


@settings(max_examples=40)
@given(positive, positive, positive)
def test_a_larger_batch_never_needs_fewer_tokens(batch, critical, reference):
    factor = tokens_factor(batch, critical, reference)
    assert tokens_factor(batch, critical, batch) == 1
    assert tokens_factor(1.1 * batch, critical, reference) > factor * (1 - 1e-12)
    assert factor * tokens_factor(reference, critical, batch) == pytest.approx(1)
    assert tokens_factor(2 * batch, 2 * critical, 2 * reference) == pytest.approx(factor)


def test_the_critical_batch_needs_twice_the_least_number_of_tokens():
    assert tokens_factor(1.0, 1.0, 1e-12) == pytest.approx(2)
    with pytest.raises(InputError, match="critical_tokens must be > 0 tokens and finite, got 0"):
        tokens_factor(1, 0, 1)
