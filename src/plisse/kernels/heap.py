"""A binary heap of numbered items that knows where each one is, so that a price changes in place."""

from typing import NamedTuple

from plisse.core.arrays import Floats, Ints
from plisse.kernels.jit import kernel


class Heap(NamedTuple):
    """Items by price, the cheapest first; of equal prices the lower number."""

    items: Ints  # the heap, shape (k,), its first `size` entries in use
    place: Ints  # of each item in the heap, -1 where it is not in it, shape (k,)
    price: Floats  # of each item, shape (k,)
    size: Ints  # shape (1,)


@kernel
def before(price, a, b):
    """Whether item a comes before item b."""
    return price[a] < price[b] or (price[a] == price[b] and a < b)


@kernel
def rise(heap, at):
    items, place, price = heap.items, heap.place, heap.price
    item = items[at]
    while at > 0:
        parent = (at - 1) >> 1
        other = items[parent]
        if not before(price, item, other):
            break
        items[at] = other
        place[other] = at
        at = parent
    items[at] = item
    place[item] = at


@kernel
def sink(heap, at):
    items, place, price = heap.items, heap.place, heap.price
    size = heap.size[0]
    item = items[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and before(price, items[child + 1], items[child]):
            child += 1
        other = items[child]
        if not before(price, other, item):
            break
        items[at] = other
        place[other] = at
        at = child
    items[at] = item
    place[item] = at


@kernel
def set_price(heap, item, price):
    """Put an item into the heap, or change its price."""
    at = heap.place[item]
    if at < 0:
        at = heap.size[0]
        heap.size[0] += 1
        heap.items[at] = item
        heap.price[item] = price
        rise(heap, at)
        return
    cheaper = price < heap.price[item]
    heap.price[item] = price
    if cheaper:
        rise(heap, at)
    else:
        sink(heap, at)


@kernel
def take_out(heap, item):
    """Remove an item, if it is in the heap."""
    at = heap.place[item]
    if at < 0:
        return
    heap.place[item] = -1
    heap.size[0] -= 1
    last = heap.items[heap.size[0]]
    if last == item:
        return
    heap.items[at] = last
    heap.place[last] = at
    rise(heap, at)
    sink(heap, heap.place[last])


@kernel
def heapify(heap):
    """Make a heap of the first `size` items in any order."""
    for at in range(heap.size[0]):
        heap.place[heap.items[at]] = at
    for at in range(heap.size[0] // 2 - 1, -1, -1):
        sink(heap, at)
