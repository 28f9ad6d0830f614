"""Binary heaps in arrays of records: a key, and the item that it belongs to."""

from __future__ import annotations

import numpy as np

from ettr.simulation.compiling import inner, maker

_ONE, _TWO = np.uintp(1), np.uintp(2)
HEAP = np.dtype([("key", "f8"), ("item", "i8")], align=True)


@maker
def new_heap(size: int) -> np.ndarray:
    """Empty heap with room for ``size`` entries."""
    return np.zeros(size, HEAP)


@inner
def push(heap: np.ndarray, n: int, key: float, item: int) -> None:
    """Add an entry to a heap of ``n``; the array must have room."""
    at = np.uintp(n)  # unsigned, so that compiled code need not check for a negative index
    while at > 0:
        above = (at - _ONE) >> _ONE
        if heap[above].key <= key:
            break
        heap[at].key = heap[above].key
        heap[at].item = heap[above].item
        at = above
    heap[at].key = key
    heap[at].item = item


@inner
def remove(heap: np.ndarray, n: int, at: int) -> None:
    """Remove the entry at ``at`` from a heap of ``n``.

    The hole sinks to a leaf, and the last entry rises from there: it mostly belongs near a leaf, so that this takes
    fewer comparisons.
    """
    first, last = np.uintp(at), np.uintp(n - 1)
    key, item = heap[last].key, heap[last].item
    if at > 0 and heap[(first - _ONE) >> _ONE].key > key:
        push(heap, at, key, item)
        return
    hole, below = first, _TWO * first + _ONE
    while below + _ONE < last:
        below = below + _ONE if heap[below + _ONE].key < heap[below].key else below
        heap[hole].key = heap[below].key
        heap[hole].item = heap[below].item
        hole, below = below, _TWO * below + _ONE
    if below < last:
        heap[hole].key = heap[below].key
        heap[hole].item = heap[below].item
        hole = below
    while hole > first:
        above = (hole - _ONE) >> _ONE
        if heap[above].key < key:
            break
        heap[hole].key = heap[above].key
        heap[hole].item = heap[above].item
        hole = above
    heap[hole].key = key
    heap[hole].item = item


@maker
def with_room(heap: np.ndarray, n: int) -> np.ndarray:
    """Heap with room for one more than ``n`` entries: the same, or a copy with twice the room."""
    if n < heap.size:
        return heap
    longer = np.zeros(2 * heap.size, HEAP)
    for i in range(heap.size):
        longer[i] = heap[i]
    return longer
