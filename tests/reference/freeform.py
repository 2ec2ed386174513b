"""Regular graphs, perfect matchings and what an attacker finds, said plainly and by trying everything."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations, permutations

import networkx as nx

from tests.reference.onedim import leaves_of, loss


def tuple_loss(table, rows, form, style):
    """What a published tuple loses that covers these rows."""
    texts = [column.texts() for column in table.quasi]
    return sum(
        loss(column, [own[r] for r in rows], form, style) for column, own in zip(table.quasi, texts, strict=True)
    )


def graph_loss(table, edges, form, style):
    return sum(tuple_loss(table, rows, form, style) for rows in edges)


def regular_graphs(rows, k):
    """All k-regular bipartite graphs in which tuple j covers original j, as lists of tuples of originals."""

    def grown(done, left):
        j = len(done)
        if j == rows:
            yield done
            return
        others = [i for i in range(rows) if i != j and left[i] > 0]
        if left[j] < 1 or any(left[i] > rows - j for i in range(rows)):
            return
        for chosen in combinations(others, k - 1):
            rest = list(left)
            for i in (j, *chosen):
                rest[i] -= 1
            yield from grown([*done, (j, *chosen)], rest)

    yield from grown([], [k] * rows)


def least_loss(table, k, form, style):
    """The least that any k-regular graph loses."""
    rows = len(table)
    cost = {own: tuple_loss(table, own, form, style) for own in combinations(range(rows), k)}
    return min(sum(cost[tuple(sorted(own))] for own in edges) for edges in regular_graphs(rows, k))


def greedy_by_originals(rows, k, cost):
    """FREE's Algorithm 1 as it is published: the originals of all tuples, and how many dead ends there were.

    cost(own) is that of a tuple over these originals. None for the originals if going back once was not enough.
    """
    own, dead_ends = [[j] for j in range(rows)], 0

    def cheapest(i, free):
        growth = [(cost([*own[j], i]) - cost(own[j]), j) for j in free if i not in own[j]]
        return min((found for found in growth), default=(None, None))[1]

    for _number in range(1, k):
        free, taken = list(range(rows)), {}
        for i in range(rows):
            taken[i] = cheapest(i, free)
            if taken[i] is None:
                dead_ends += 1
                others = (o for o in reversed(range(i)) if i not in own[taken[o]] and cheapest(o, free) is not None)
                other = next(others, None)
                if other is None:
                    return None, dead_ends
                taken[i], taken[other] = taken[other], cheapest(other, free)
                free.remove(taken[other])
            else:
                free.remove(taken[i])
        for i, j in taken.items():
            own[j].append(i)
    return [tuple(one) for one in own], dead_ends


def perfect_matchings(edges):
    """All ways to give every tuple one of its originals and every original to one tuple."""
    return [
        found for found in permutations(range(len(edges))) if all(i in own for i, own in zip(found, edges, strict=True))
    ]


def is_regular(edges, k):
    counts = Counter(i for own in edges for i in own)
    return all(len(set(own)) == len(own) == k for own in edges) and counts == dict.fromkeys(range(len(edges)), k)


def in_matchings(edges):
    """The pairs of a tuple and an original that some perfect matching has, by taking each for granted."""
    found = set()
    for j, own in enumerate(edges):
        for i in own:
            graph = nx.Graph()
            graph.add_nodes_from(("tuple", t) for t in range(len(edges)) if t != j)
            graph.add_edges_from(
                (("tuple", t), ("row", o)) for t, held in enumerate(edges) if t != j for o in held if o != i
            )
            tops = [node for node in graph if node[0] == "tuple"]
            if len(nx.bipartite.maximum_matching(graph, tops)) == 2 * (len(edges) - 1):
                found.add((j, i))
    return found


def stands_for(column, text, value):
    """Whether a published text of a column stands for a value, either of which may be missing."""
    hierarchy = column.hierarchy
    if text is None:
        return value is None
    if text == hierarchy.root and value is None:
        # Anything may become the root; where a set may hold a missing value, it says so.
        return column.covers is None
    if text in hierarchy.texts:
        return value is not None and hierarchy.code(text) in hierarchy.ancestors(hierarchy.code(value))
    if text.startswith("["):
        return value in json.loads(text)
    ends, missing = text.removesuffix(" or missing"), text.endswith(" or missing")
    if value is None:
        return missing
    low, high = ends.split(" … ")
    order = leaves_of(hierarchy, hierarchy.root)
    if all(leaf.lstrip("-").isdigit() for leaf in order):
        return int(low) <= int(value) <= int(high)
    return order.index(low) <= order.index(value) <= order.index(high)


def compatible(original, released):
    """For every published row the originals whose values it stands for."""
    before = [column.texts() for column in original.quasi]
    after = [column.texts() for column in released.quasi]
    return [
        [
            i
            for i in range(len(original))
            if all(
                stands_for(column, there[j], here[i])
                for column, here, there in zip(released.quasi, before, after, strict=True)
            )
        ]
        for j in range(len(released))
    ]
