"""Binary heaps in arrays of records: a key, and what it belongs to."""

from __future__ import annotations

import numpy as np

from ettr.simulation.compiling import inner, maker

HEAP = np.dtype([("key", "f8"), ("item", "i8")], align=True)


@maker
def new_heap(size: int) -> np.ndarray:
    """An empty heap with room for so many."""
    return np.zeros(size, HEAP)


@inner
def push(heap: np.ndarray, n: int, key: float, item: int) -> None:
    """Add to a heap of ``n``; the array must have room."""
    at = n
    while at > 0:
        above = (at - 1) >> 1
        if heap[above].key <= key:
            break
        heap[at].key = heap[above].key
        heap[at].item = heap[above].item
        at = above
    heap[at].key = key
    heap[at].item = item


@inner
def remove(heap: np.ndarray, n: int, at: int) -> None:
    """Take the entry at ``at`` out of a heap of ``n``."""
    last = n - 1
    key, item = heap[last].key, heap[last].item
    if at > 0 and heap[(at - 1) >> 1].key > key:
        push(heap, at, key, item)
        return
    while True:
        below = 2 * at + 1
        if below >= last:
            break
        if below + 1 < last and heap[below + 1].key < heap[below].key:
            below += 1
        if heap[below].key >= key:
            break
        heap[at].key = heap[below].key
        heap[at].item = heap[below].item
        at = below
    heap[at].key = key
    heap[at].item = item


@maker
def with_room(heap: np.ndarray, n: int) -> np.ndarray:
    """The same heap if there is room for one more than ``n``, else one twice as long."""
    if n < heap.size:
        return heap
    longer = np.zeros(2 * heap.size, HEAP)
    for i in range(heap.size):
        longer[i] = heap[i]
    return longer
