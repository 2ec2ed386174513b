"""What graphs over a few rows cost, counted the obvious way, and the least that any of them costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

Row = tuple[str | None, ...]


def set_cost(rows: Sequence[Row], sizes: Sequence[int]) -> float:
    """The NCP of these rows as sets of values: nothing for one value, all where some are missing and others are not."""
    total = 0.0
    for c, size in enumerate(sizes):
        values = {row[c] for row in rows}
        if len(values) > 1:
            total += 1.0 if None in values else (len(values) - 1) / max(size - 1, 1)
    return total


def range_cost(rows: Sequence[Row], sizes: Sequence[int]) -> float:
    """The same as ranges of whole numbers from 0 on, by how many of them lie in a range."""
    total = 0.0
    for c, size in enumerate(sizes):
        known = [int(value) for row in rows if (value := row[c]) is not None]
        if known and len(known) < len(rows):
            total += 1.0
        elif known:
            total += (max(known) - min(known)) / max(size - 1, 1)
    return total


def graph_cost(edges: Sequence[Sequence[int]], rows: Sequence[Row], sizes: Sequence[int], cost=set_cost) -> float:
    return sum(cost([rows[i] for i in own], sizes) for own in edges)


def is_regular(edges: Sequence[Sequence[int]], rows: int, k: int) -> bool:
    counts = Counter(i for own in edges for i in own)
    every = all(len(set(own)) == len(own) == k for own in edges)
    return every and len(edges) == rows and all(counts[i] == k for i in range(rows))


def least_cost(rows: Sequence[Row], sizes: Sequence[int], k: int) -> float:
    """The least cost of any k-regular graph: tuples are tried for the first row that is not yet in k of them."""
    tuples = sorted((set_cost([rows[i] for i in own], sizes), own) for own in combinations(range(len(rows)), k))
    # A share of the cheapest tuple that has a row in it is the least that each time it is covered costs.
    cheapest = [min(cost for cost, own in tuples if i in own) / k for i in range(len(rows))]
    best = float("inf")

    def go_on(left: list[int], cost: float, start: int) -> None:
        nonlocal best
        if cost + sum(n * c for n, c in zip(left, cheapest, strict=True)) >= best - 1e-9:
            return
        row = next((i for i, n in enumerate(left) if n), None)
        if row is None:
            best = cost
            return
        for at in range(start, len(tuples)):
            more, own = tuples[at]
            if row in own and all(left[i] for i in own):
                rest = [n - (i in own) for i, n in enumerate(left)]
                go_on(rest, cost + more, at if rest[row] else 0)

    go_on([k] * len(rows), 0.0, 0)
    return best
