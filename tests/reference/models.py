"""Privacy models by obvious code: fractions, whole powers instead of logarithms, and mass that really is transported.

A group is a list of rows (person, value); a value is any code, None where it is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import lcm, log, log2, prod
from typing import Any

import networkx as nx

from treeanon.hierarchy import Hierarchy

Value = int | None
Row = tuple[int, Value]
Group = Sequence[Row]
Ground = Callable[[Value, Value], Fraction]


def counts(rows: Group) -> Counter[Value]:
    """How many persons have each value."""
    return Counter(value for _, value in set(rows))


def size(rows: Group) -> int:
    return len({person for person, _ in rows})


def frequency(rows: Group, least: Fraction) -> bool:
    return all(Fraction(count, size(rows)) <= 1 / least for count in counts(rows).values())


def entropy(rows: Group, least: Fraction) -> bool:
    """-Σ p log p ≥ log least, both sides as powers with the number of all values."""
    found = list(counts(rows).values())
    total = sum(found)
    return Fraction(total**total, prod(count**count for count in found)) >= least**total


def recursive(rows: Group, c: Fraction, least: int) -> bool:
    found = sorted(counts(rows).values(), reverse=True)
    return found[0] < c * sum(found[least - 1 :])


def alpha_k(rows: Group, alpha: Fraction, k: int, having: Callable[[Value], bool] | None) -> bool:
    found = counts(rows)
    if having is None:
        shares = [Fraction(count, size(rows)) for count in found.values()]
    else:
        shares = [Fraction(sum(count for value, count in found.items() if having(value)), size(rows))]
    return size(rows) >= k and all(share <= alpha for share in shares)


def earth_mover(rows: Group, everybody: Group, ground: Ground) -> Fraction:
    """The least work that turns the one distribution into the other: a flow of least cost."""
    own, whole = counts(rows), counts(everybody)
    here, there = sum(own.values()), sum(whole.values())
    scale = lcm(*(ground(v, w).denominator for v in own for w in whole))
    graph: Any = nx.DiGraph()
    for value, count in own.items():
        graph.add_node(("own", value), demand=-count * there)
    for value, count in whole.items():
        graph.add_node(("whole", value), demand=count * here)
    for v in own:
        for w in whole:
            graph.add_edge(("own", v), ("whole", w), weight=int(ground(v, w) * scale))
    return Fraction(nx.min_cost_flow_cost(graph), scale * here * there)


def equal(v: Value, w: Value) -> Fraction:
    return Fraction(v != w)


def hierarchical(hierarchy: Hierarchy) -> Ground:
    """How far up the lowest common ancestor is, of a height that every hierarchy of more than a value has."""

    def ground(v: Value, w: Value) -> Fraction:
        if v == w:
            return Fraction(0)
        if v is None or w is None:
            return Fraction(1)
        common = next(node for node in hierarchy.ancestors(v) if node in hierarchy.ancestors(w))
        return Fraction(hierarchy.height - int(hierarchy.depth[common]), hierarchy.height)

    return ground


def ordered(keys: Mapping[Value, Any]) -> Ground:
    """How many steps apart, of all steps, where each value that occurs has a key to sort by; a missing one is last."""
    line = sorted({key for value, key in keys.items() if value is not None})
    place = {value: line.index(key) for value, key in keys.items() if value is not None}
    place[None] = len(line)
    last = len(line) if None in keys else len(line) - 1

    def ground(v: Value, w: Value) -> Fraction:
        return Fraction(abs(place[v] - place[w]), max(last, 1))

    return ground


def gains(rows: Group, everybody: Group) -> dict[Value, Fraction]:
    """By what factor each value of all persons is more frequent in a group."""
    own, whole = counts(rows), counts(everybody)
    here, there = sum(own.values()), sum(whole.values())
    return {v: Fraction(own[v], here) / Fraction(count, there) for v, count in whole.items()}


def likeness(rows: Group, everybody: Group, beta: Fraction, *, enhanced: bool) -> bool:
    """(q - p) / p ≤ β, or min(β, -ln p), for every value that is more frequent in the group."""
    whole = counts(everybody)
    p = {v: Fraction(count, sum(whole.values())) for v, count in whole.items()}
    bounds = {v: min(float(beta), -log(p[v])) if enhanced else beta for v in whole}
    return all(gain <= 1 or gain - 1 <= bounds[v] for v, gain in gains(rows, everybody).items())


def disclosure(rows: Group, everybody: Group, delta: float) -> bool:
    """|log2(q / p)| < δ for every value of all persons; that of nothing is infinite."""
    return all(gain > 0 and abs(log2(gain)) < delta for gain in gains(rows, everybody).values())
