"""What a batch larger than the loss can use costs in tokens."""

from __future__ import annotations

from typing import Any

from ettr.core.validity import above_zero, plain


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
