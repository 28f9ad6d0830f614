"""A dense transformer: what a token costs to train, and how wide and deep one of so many parameters is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ettr.core.validity import above_zero, plain

WIDTH_PER_LAYER = 128.0
"""Hidden size over number of layers of a model whose shape isn't known (assumed: that of GPT-3 and Llama 3 405B)."""
_WHOLE_LAYERS = 8
_PER_LAYER = 12.0
"""Parameters of a layer over the square of its hidden size: four matrices of attention, eight of the rest."""


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


def usual_layers(n_parameters: float) -> int:
    """Depth of a model of so many parameters, if its shape isn't known: a multiple of 8, so that pipelines divide it.

    See :func:`usual_hidden`; small models have 4 layers at least.
    """
    return max(4, _WHOLE_LAYERS * round(usual_hidden(n_parameters) / WIDTH_PER_LAYER / _WHOLE_LAYERS))
