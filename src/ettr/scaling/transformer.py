"""Transformers: FLOPs per token, tokens needed by batch size, and the usual width and depth by parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ettr.core.validity import above_zero, plain

WIDTH_PER_LAYER = 128.0
"""Hidden size divided by number of layers, for a model of unknown shape (assumed: that of GPT-3 and Llama 3 405B)."""
_LAYER_MULTIPLE = 8
_PER_LAYER = 12.0
"""Parameters of a layer divided by its hidden size squared: 4 for attention, 8 for the feed-forward part."""
FEWEST, MOST = 0.8, 2.5
"""Parameters of published dense models without embeddings, relative to :func:`layer_parameters`."""
LARGEST_VOCABULARY = 262_144
"""Largest vocabulary of a published model, Gemma 3. [tokens]"""


@dataclass(frozen=True)
class Transformer:
    """Shape of a decoder-only transformer, dense or with a mixture of experts.

    Attributes
    ----------
    n_parameters : float
        Parameters of the model, which memory and exchanges depend on.
    n_layers : int
        Number of layers.
    hidden : float
        Hidden size.
    sequence_tokens : float
        Sequence length. [tokens]
    kv_share : float
        Key-value heads divided by query heads; 1 without grouped-query attention.
    n_active : float, optional
        Parameters that compute each token in a mixture of experts; all of them by default.

    Examples
    --------
    >>> llama = Transformer(405e9, 126, 16384, 8192, kv_share=1 / 16)
    >>> round(llama.flop_per_token / 1e12, 2)  # 6 P = 2.43, and attention
    2.53
    """

    n_parameters: float
    n_layers: int
    hidden: float
    sequence_tokens: float
    kv_share: float = 1.0
    n_active: float | None = None

    @property
    def flop_per_token(self) -> float:
        """Model FLOPs of the forward and backward pass per token. [FLOP]"""
        weights = self.n_parameters if self.n_active is None else self.n_active
        return float(flop_per_token(weights, self.n_layers, self.hidden, self.sequence_tokens))


def flop_per_token(n_parameters: Any, n_layers: Any, hidden: Any, sequence_tokens: Any) -> Any:
    r"""Return the model FLOPs of training on one token. [FLOP]

    Parameters
    ----------
    n_parameters, n_layers, hidden, sequence_tokens : float or ndarray
        Parameters (the active ones of a mixture of experts), layers, hidden size and sequence length.

    Returns
    -------
    float or ndarray
        Broadcast shape.

    Raises
    ------
    InputError
        If a value is not above 0.

    Notes
    -----
    :math:`6 P + 6 L h s`: two operations per weight forward, four backward, and attention over the half of the sequence
    inside the causal mask. This count reproduces the published 59.1% of MegaScale's iteration of 23.66 s (Jiang et al.
    2024). Recomputed activations are not counted, as usual for model FLOPs utilisation.

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
    r"""Return the parameters of all layers of a dense transformer, by the standard count.

    Parameters
    ----------
    n_layers, hidden : float
        Number of layers and hidden size.
    kv_share : float
        Key-value heads divided by query heads; 1 without grouped-query attention.

    Returns
    -------
    float
        Parameters without embeddings.

    Notes
    -----
    :math:`L h^2 (2 + 2 k + 8)`: queries and output of attention, keys and values with a share :math:`k` of the heads,
    and a feed-forward part of width 4h, or a gated one (SwiGLU) of 8h/3. With :math:`k = 1` it is :math:`12 L h^2`
    (Kaplan et al. 2020, arXiv:2001.08361, table 1).

    Examples
    --------
    >>> round(layer_parameters(96, 12288) / 1e9, 1), round(layer_parameters(126, 16384, 1 / 16) / 1e9, 1)
    (173.9, 342.5)
    """
    return n_layers * hidden**2 * (_PER_LAYER - 2 * (1 - kv_share))


def parameter_range(n_layers: float, hidden: float, kv_share: float = 1.0) -> tuple[float, float]:
    """Return the plausible range of parameters of a dense transformer of a shape.

    Parameters
    ----------
    n_layers, hidden, kv_share : float
        As in :func:`layer_parameters`.

    Returns
    -------
    tuple of float
        0.8 times the standard count, and 2.5 times the standard count with input and output embeddings of 262,144
        tokens.

    Notes
    -----
    The shape does not fix the width of the feed-forward part. GPT-3, OPT, BLOOM and GLM-130B use the standard width and
    have 1.01 to 1.03 times the standard count. Llama 3 has a gated part of 3.25h to 3.5h: 1.18 times at 405B, 1.28 at
    70B, and 1.42 at 8B (0.19 of it embeddings). Gemma has a gated part of 8h: 2.5 times at 27B. Grouped-query attention
    that ``kv_share`` does not reflect lowers the count to at least 0.83 times. The active parameters of a mixture of
    experts are in this range as well: DeepSeek-V3 (arXiv:2412.19437)
    has 37 billion, 0.98 times the standard count.

    Examples
    --------
    >>> [round(end / 1e9) for end in parameter_range(126, 16384, 1 / 16)]
    [274, 865]
    """
    count = layer_parameters(n_layers, hidden, kv_share)
    return FEWEST * count, MOST * count + 2 * LARGEST_VOCABULARY * hidden


def usual_hidden(n_parameters: float, n_layers: int | None = None) -> float:
    """Return the usual hidden size of a model with a number of parameters, if its shape is unknown.

    Parameters
    ----------
    n_parameters : float
        Parameters.
    n_layers : int, optional
        Number of layers, if known.

    Returns
    -------
    float
        Hidden size.

    Notes
    -----
    A layer of hidden size h has 12 h² parameters, and h is 128 times the number of layers, as in GPT-3 and nearly in
    Llama 3 405B; embeddings are left out.

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
    """Return the usual number of layers of a model with a number of parameters, if its shape is unknown.

    It is a multiple of 8, so that pipelines divide it, and at least 4; see :func:`usual_hidden`. With a known hidden
    size it follows from 12 h² parameters per layer.

    Examples
    --------
    >>> usual_layers(70e9), usual_layers(70e9, hidden=8192)
    (72, 87)
    """
    if hidden is not None:
        return max(1, round(float(n_parameters) / (_PER_LAYER * hidden**2)))
    return max(4, _LAYER_MULTIPLE * round(usual_hidden(n_parameters) / WIDTH_PER_LAYER / _LAYER_MULTIPLE))


def tokens_factor(batch_tokens: Any, critical_tokens: Any, reference_tokens: Any) -> Any:
    r"""Return the tokens needed with a batch size, relative to a reference batch size, for the same loss.

    Parameters
    ----------
    batch_tokens : float or ndarray
        Batch size. [tokens]
    critical_tokens : float or ndarray
        Critical batch size, at which training needs twice the minimum number of tokens. [tokens]
    reference_tokens : float or ndarray
        Batch size for which the tokens of the job were stated. [tokens]

    Returns
    -------
    float or ndarray
        Broadcast shape; 1 where the two batch sizes are equal.

    Raises
    ------
    InputError
        If a value is not above 0.

    Notes
    -----
    :math:`(1 + B/B_c) / (1 + B_0/B_c)`, from the trade-off between tokens and steps of McCandlish et al. (2018). The
    critical batch size grows during training, so a single value for the run is a mean.

    Examples
    --------
    >>> tokens_factor(32e6, 32e6, 16e6).__round__(3)
    1.333
    """
    critical = above_zero("critical_tokens", critical_tokens, unit="tokens")
    batch = above_zero("batch_tokens", batch_tokens, unit="tokens")
    reference = above_zero("reference_tokens", reference_tokens, unit="tokens")
    return plain((1 + batch / critical) / (1 + reference / critical))
