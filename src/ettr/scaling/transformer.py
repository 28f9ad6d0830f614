"""A dense transformer: what a token costs, how many a batch needs, and how wide and deep a model usually is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ettr.core.validity import above_zero, plain

WIDTH_PER_LAYER = 128.0
"""Hidden size over number of layers of a model whose shape isn't known (assumed: that of GPT-3 and Llama 3 405B)."""
_WHOLE_LAYERS = 8
_PER_LAYER = 12.0
"""Parameters of a layer over the square of its hidden size: four matrices of attention, eight of the rest."""
FEWEST, MOST = 0.8, 2.5
"""Parameters of published dense models over :func:`layer_parameters`, those of their embeddings left out."""
LARGEST_VOCABULARY = 262_144
"""Tokens of the largest vocabulary of a published model, that of Gemma 3."""


@dataclass(frozen=True)
class Transformer:
    """A dense decoder.

    Attributes
    ----------
    n_parameters : float
        Weights of the whole model.
    n_layers : int
        Depth.
    hidden : float
        Width, the size of a token's state between layers.
    sequence_tokens : float
        Tokens of a sequence. [tokens]
    kv_share : float
        Key and value heads over query heads; 1 without grouped queries.
    """

    n_parameters: float
    n_layers: int
    hidden: float
    sequence_tokens: float
    kv_share: float = 1.0

    @property
    def flop_per_token(self) -> float:
        """Forward and backward pass of a token, as counted for the model FLOPs utilisation. [FLOP]"""
        return float(flop_per_token(self.n_parameters, self.n_layers, self.hidden, self.sequence_tokens))


def flop_per_token(n_parameters: Any, n_layers: Any, hidden: Any, sequence_tokens: Any) -> Any:
    r"""Work of training on one token [FLOP].

    Parameters
    ----------
    n_parameters, n_layers, hidden, sequence_tokens : float or ndarray
        Weights, depth, width and tokens of a sequence.

    Returns
    -------
    float or ndarray
        Broadcast shape.

    Raises
    ------
    InputError
        A value that is not above 0.

    Notes
    -----
    :math:`6 P + 6 L h s`: two operations a weight forward, four backward, and attention over the half of the sequence
    that a causal mask leaves. With it MegaScale's iteration of 23.66 s is its printed 59.1% (Jiang et al. 2024).
    Recomputed activations are not counted, as usual for model FLOPs utilisation.

    Examples
    --------
    >>> work = flop_per_token(175e9, 96, 12288, 2048) * 6144 * 2048
    >>> round(work / (3072 * 312e12 * 23.66), 3)
    0.591
    """
    weights = above_zero("n_parameters", n_parameters)
    layers, width = above_zero("n_layers", n_layers), above_zero("hidden", hidden)
    return plain(6 * weights + 6 * layers * width * above_zero("sequence_tokens", sequence_tokens, unit="tokens"))


def layer_parameters(n_layers: float, hidden: float, kv_share: float = 1.0) -> float:
    r"""Return the weights of all layers of a dense transformer, by the standard count.

    Parameters
    ----------
    n_layers, hidden : float
        Depth and width.
    kv_share : float
        Key and value heads over query heads; 1 without grouped queries.

    Returns
    -------
    float
        Weights, without embeddings.

    Notes
    -----
    :math:`L h^2 (2 + 2 k + 8)`: queries and output of attention, keys and values of a share :math:`k`, and a
    feed-forward part four times as wide, or a gated one (SwiGLU) of 8/3. With :math:`k = 1` it is :math:`12 L h^2`
    (Kaplan et al. 2020, arXiv:2001.08361, table 1).

    Examples
    --------
    >>> round(layer_parameters(96, 12288) / 1e9, 1), round(layer_parameters(126, 16384, 1 / 16) / 1e9, 1)
    (173.9, 342.5)
    """
    return n_layers * hidden**2 * (_PER_LAYER - 2 * (1 - kv_share))


def parameter_range(n_layers: float, hidden: float, kv_share: float = 1.0) -> tuple[float, float]:
    """Return the fewest and the most weights that a dense transformer of a shape can have.

    Parameters
    ----------
    n_layers, hidden, kv_share : float
        As of :func:`layer_parameters`.

    Returns
    -------
    tuple of float
        0.8 times the standard count, and 2.5 times the standard count with input and output embeddings of 262,144
        tokens.

    Notes
    -----
    What the shape leaves open is the width of the feed-forward part. It is the standard one in GPT-3, OPT, BLOOM and
    GLM-130B, which have 1.01 to 1.03 times the count. Llama 3 gates a part of 3.25 to 3.5 widths: 1.18 times at 405B,
    1.28 at 70B, and 1.42 at 8B, 0.19 of that its embeddings. Gemma gates one of eight widths: 2.5 times at 27B. Keys
    and values that are grouped, and not said to be, leave 0.83 at least. Mixtures of experts have more weights than
    any of these, and are not modelled.

    Examples
    --------
    >>> [round(end / 1e9) for end in parameter_range(126, 16384, 1 / 16)]
    [274, 865]
    """
    count = layer_parameters(n_layers, hidden, kv_share)
    return FEWEST * count, MOST * count + 2 * LARGEST_VOCABULARY * hidden


def usual_hidden(n_parameters: float, n_layers: int | None = None) -> float:
    """Width of a model of so many parameters, if its shape isn't known.

    Parameters
    ----------
    n_parameters : float
        Weights.
    n_layers : int, optional
        Depth, if known.

    Returns
    -------
    float
        Hidden size.

    Notes
    -----
    A layer has 12 weights a square of its width, and the width is 128 times the depth, as in GPT-3 and nearly in Llama
    3 405B; embeddings are left out.

    Examples
    --------
    >>> round(usual_hidden(405e9)), usual_layers(405e9)
    (16287, 128)
    """
    weights = float(above_zero("n_parameters", n_parameters))
    if n_layers is not None:
        return float((weights / (_PER_LAYER * n_layers)) ** 0.5)
    return float((WIDTH_PER_LAYER * weights / _PER_LAYER) ** (1 / 3))


def usual_layers(n_parameters: float, hidden: float | None = None) -> int:
    """Depth of a model of so many parameters, if its shape isn't known: a multiple of 8, so that pipelines divide it.

    See :func:`usual_hidden`; small models have 4 layers at least. Where the width is known, the depth follows from it.
    """
    if hidden is not None:
        return max(1, round(float(n_parameters) / (_PER_LAYER * hidden**2)))
    return max(4, _WHOLE_LAYERS * round(usual_hidden(n_parameters) / WIDTH_PER_LAYER / _WHOLE_LAYERS))


def tokens_factor(batch_tokens: Any, critical_tokens: Any, reference_tokens: Any) -> Any:
    r"""Tokens needed with one batch over those needed with another, to the same loss.

    Parameters
    ----------
    batch_tokens : float or ndarray
        Batch of a step. [tokens]
    critical_tokens : float or ndarray
        Critical batch, at which twice the least number of tokens is needed. [tokens]
    reference_tokens : float or ndarray
        Batch for which the tokens of the job were stated. [tokens]

    Returns
    -------
    float or ndarray
        Broadcast shape; 1 where the two batches are equal.

    Raises
    ------
    InputError
        A value that is not above 0.

    Notes
    -----
    :math:`(1 + B/B_c) / (1 + B_0/B_c)`, from the trade of tokens against steps of McCandlish et al. (2018). The
    critical batch grows while the loss falls, so that one value for a whole run is a mean.

    Examples
    --------
    >>> tokens_factor(32e6, 32e6, 16e6).__round__(3)
    1.333
    """
    critical = above_zero("critical_tokens", critical_tokens, unit="tokens")
    batch = above_zero("batch_tokens", batch_tokens, unit="tokens")
    reference = above_zero("reference_tokens", reference_tokens, unit="tokens")
    return plain((1 + batch / critical) / (1 + reference / critical))
