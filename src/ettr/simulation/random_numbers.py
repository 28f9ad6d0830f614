"""Counter-based random numbers: they depend only on seed, run, purpose and index, in whatever order they are drawn.

Philox-4x64-10 (Salmon et al. 2011) makes a block of four words from a key and a counter, without any state to pass on.
Exponential and normal variates take one word each, by the ziggurat of Marsaglia and Tsang (2000).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ettr.core import extras
from ettr.simulation.compiling import inner

with extras.needed("simulate"):
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

Block = tuple[np.uint64, np.uint64, np.uint64, np.uint64]

# purpose of a block; its index counts the failures, nodes, repairs or events of the run
FAILURE = 0  # next failure, repair, mode
RECOVERY = 1  # person, latency, announced
PLANNED = 2  # maintenance
SOFT = 3  # false alarms, nodes that become slow, and their detection
LEAVING = 4  # which node leaves; lemons at the start
REPAIR = 5  # stages after the first
SPARES = 7  # failures of spares, and which one is taken
FIRST = 8  # failures of nodes that never failed; one purpose for each kind of node
LIFETIME = 10  # of a new node
KIND = 11  # lemon or not
_TAIL = 64  # further draws for the rare variates that need more than one word

_LAYERS = 256
_EXPONENTIAL_EDGE, _EXPONENTIAL_AREA = 7.69711747013104972, 0.0039496598225815571993
_NORMAL_EDGE, _NORMAL_AREA = 3.6541528853610087963519472518, 0.0049286732339746519


def _ziggurat(edge: float, area: float, density: Any, inverse: Any) -> tuple[np.ndarray, np.ndarray]:
    """Right ends of the layers, widest first, and the density there."""
    ends = [area / density(edge), edge]
    while len(ends) < _LAYERS:
        ends.append(inverse(area / ends[-1] + density(ends[-1])))
    ends.append(0.0)
    heights = [density(end) for end in ends]
    heights[0] = 0.0
    return np.array(ends), np.array(heights)


_E_X, _E_Y = _ziggurat(
    _EXPONENTIAL_EDGE, _EXPONENTIAL_AREA, lambda x: math.exp(-x), lambda y: -math.log(y) if y < 1 else 0.0
)
_N_X, _N_Y = _ziggurat(
    _NORMAL_EDGE, _NORMAL_AREA, lambda x: math.exp(-x * x / 2), lambda y: math.sqrt(-2 * math.log(y)) if y < 1 else 0.0
)

_M0, _M1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_W0, _W1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_UNIT = 2.0**-53


@intrinsic
def _high_word(typing_context: Any, a: Any, b: Any) -> Any:
    """Upper 64 bits of a product of two 64-bit words."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@inner
def block(seed: int, run: int, index: int, purpose: int, attempt: int) -> Block:
    """Four random words of 64 bits: ten rounds of Philox on the counter, with the seed as key."""
    c0, c1, c2, c3 = np.uint64(index), np.uint64(run), np.uint64(purpose), np.uint64(attempt)
    k0, k1 = np.uint64(seed), np.uint64(0)
    for _ in range(10):
        h0, l0 = _high_word(_M0, c0), _M0 * c0
        h1, l1 = _high_word(_M1, c2), _M1 * c2
        c0, c1, c2, c3 = h1 ^ c1 ^ k0, l1, h0 ^ c3 ^ k1, l0
        k0 += _W0
        k1 += _W1
    return c0, c1, c2, c3


@inner
def uniform(word: np.uint64) -> float:
    """Uniform variate in [0, 1), from the upper 53 bits."""
    return (word >> np.uint64(11)) * _UNIT


@inner
def exponential(word: np.uint64, seed: int, run: int, index: int, purpose: int) -> float:
    """Exponential variate of mean 1; the last four arguments are those of the block that the word is from."""
    # the layer from the lower 8 bits, x from the upper 53; inside the rectangle of the layer, x is accepted at once
    layer = np.int64(word & np.uint64(255))
    x = uniform(word) * _E_X[layer]
    if x < _E_X[layer + 1]:
        return x
    return _exponential_edge(x, layer, word, seed, run, index, purpose)


@inner
def _exponential_edge(x: float, layer: int, word: np.uint64, seed: int, run: int, index: int, purpose: int) -> float:
    """Rest of the ziggurat: accept or reject near the curve, and the tail, until a variate is accepted."""
    beyond = 0.0
    attempt = np.uint64(word | np.uint64(1))  # a different counter for every word
    while True:
        w0, w1, _, _ = block(seed, run, index, purpose + _TAIL, attempt)
        if layer == 0:
            beyond += _EXPONENTIAL_EDGE  # memoryless: the tail is the same distribution, shifted
        elif _E_Y[layer] + uniform(w0) * (_E_Y[layer + 1] - _E_Y[layer]) < math.exp(-x):
            return beyond + x
        layer = np.int64(w1 & np.uint64(255))
        x = uniform(w1) * _E_X[layer]
        if x < _E_X[layer + 1]:
            return beyond + x
        attempt += np.uint64(2)


@inner
def normal(word: np.uint64, seed: int, run: int, index: int, purpose: int) -> float:
    """Standard normal variate."""
    layer = np.int64(word & np.uint64(255))
    x = uniform(word) * _N_X[layer]
    if x >= _N_X[layer + 1]:
        x = _normal_edge(x, layer, word, seed, run, index, purpose)
    return x * (1.0 - 2.0 * ((word >> np.uint64(8)) & np.uint64(1)))


@inner
def _normal_edge(x: float, layer: int, word: np.uint64, seed: int, run: int, index: int, purpose: int) -> float:
    """Rest of the ziggurat for the normal distribution; its tail by Marsaglia's method."""
    attempt = np.uint64(word & ~np.uint64(1))
    while True:
        w0, w1, _, _ = block(seed, run, index, purpose + _TAIL, attempt)
        if layer == 0:
            x = -math.log1p(-uniform(w0)) / _NORMAL_EDGE
            if -2 * math.log1p(-uniform(w1)) > x * x:
                return _NORMAL_EDGE + x
        else:
            if _N_Y[layer] + uniform(w0) * (_N_Y[layer + 1] - _N_Y[layer]) < math.exp(-x * x / 2):
                return x
            layer = np.int64(w1 & np.uint64(255))
            x = uniform(w1) * _N_X[layer]
            if x < _N_X[layer + 1]:
                return x
        attempt += np.uint64(2)


@inner
def lognormal(mean: float, sigma: float, word: np.uint64, seed: int, run: int, index: int, purpose: int) -> float:
    """Log-normal variate with this mean; the mean itself if ``sigma`` is 0."""
    if sigma == 0.0:
        return mean
    return mean * math.exp(sigma * normal(word, seed, run, index, purpose) - 0.5 * sigma * sigma)
