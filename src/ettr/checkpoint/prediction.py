"""Failure prediction: the rate of alarms, and when an alarm is worth acting on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ettr.core.errors import InputError
from ettr.core.validity import above_zero, at_least_zero, plain


def heed_threshold_h(action_h: Any, precision: Any) -> Any:
    r"""Return the unsaved work above which an alarm is worth acting on. [h]

    Parameters
    ----------
    action_h : float or ndarray
        Time for which the action, a checkpoint, stops training. [h]
    precision : float or ndarray
        Share of alarms that a failure follows, in (0, 1].

    Returns
    -------
    float or ndarray
        Productive hours since the newest durable state. [h]

    Raises
    ------
    InputError
        If the time is negative, or the precision is outside (0, 1].

    Notes
    -----
    Acting costs the action; ignoring the alarm costs the unsaved work with probability ``precision``. The two are
    equal at action / precision. Aupy et al. (2014).

    Examples
    --------
    >>> heed_threshold_h(30.0, 0.75)
    40.0
    """
    return plain(at_least_zero("action_h", action_h, unit="h") / _precision(precision))


def alarm_rate_per_h(rate_per_h: Any, recall: Any, precision: Any) -> Any:
    r"""Return the rate of alarms, true and false together. [1/h]

    Parameters
    ----------
    rate_per_h : float or ndarray
        Failure rate. [1/h]
    recall : float or ndarray
        Share of failures that are predicted, in [0, 1].
    precision : float or ndarray
        Share of alarms that a failure follows, in (0, 1].

    Returns
    -------
    float or ndarray
        Broadcast shape, >= 0. [1/h]

    Raises
    ------
    InputError
        If the rate is negative, the recall is outside [0, 1] or the precision is outside (0, 1].

    Notes
    -----
    rate x recall / precision: rate x recall alarms are true, and these are the share ``precision`` of all alarms.

    Examples
    --------
    >>> round(alarm_rate_per_h(0.5, 0.6, 0.75), 4)
    0.4
    """
    true = at_least_zero("rate_per_h", rate_per_h, unit="1/h") * _at_most_one("recall", at_least_zero("recall", recall))
    return plain(true / _precision(precision))


def recall_of(precision: Any, f1: Any) -> Any:
    r"""Return the recall of a predictor with a published precision and F1 score.

    Parameters
    ----------
    precision : float or ndarray
        Share of alarms that are true, P, in (0, 1].
    f1 : float or ndarray
        Harmonic mean of precision and recall, in (0, 2P / (1 + P)].

    Returns
    -------
    float or ndarray
        Broadcast shape, in (0, 1].

    Raises
    ------
    InputError
        If the precision is outside (0, 1], or the F1 score would need a recall above 1.

    Notes
    -----
    :math:`F_1 P / (2P - F_1)`.

    Examples
    --------
    >>> round(recall_of(0.904, 0.893), 3)
    0.882
    """
    share, score = np.broadcast_arrays(_precision(precision), above_zero("f1", f1))
    largest = 2 * share / (1 + share)
    above = score > largest * (1 + 1e-12)
    if np.any(above):
        raise InputError(
            f"f1 must be <= {largest[above].flat[0]:.4g}, its value at recall 1 and precision "
            f"{share[above].flat[0]:g}, got {score[above].flat[0]:g}"
        )
    return plain(np.minimum(score * share / (2 * share - score), 1.0))


def _precision(values: Any) -> np.ndarray:
    """Check a precision, in (0, 1]."""
    return _at_most_one("precision", above_zero("precision", values))


def _at_most_one(name: str, shares: np.ndarray) -> np.ndarray:
    """Check that shares are at most 1."""
    if np.any(shares > 1):
        raise InputError(f"{name} must be <= 1, got {shares.max():g}")
    return shares
