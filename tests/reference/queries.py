"""The precision of queries, said row by row and cell by cell."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from fractions import Fraction
from itertools import combinations, product


def order(column):
    """The values of a column: by number if all are, else as the hierarchy has them."""
    hierarchy = column.hierarchy
    leaves = [hierarchy.texts[v] for v in hierarchy.leaf_nodes]
    return sorted(leaves, key=int) if all(leaf.isdigit() for leaf in leaves) else leaves


def stands_for(column, text, has_missing):
    """All values, None being a missing one, that a published text may have been."""
    if text is None:
        return {None}
    hierarchy, leaves = column.hierarchy, order(column)
    code = hierarchy.find(text)
    if code is not None:
        return {hierarchy.texts[v] for v in hierarchy.leaves(code)} | ({None} if has_missing and code == 0 else set())
    if text[0] == "[":
        return set(json.loads(text))
    or_missing = text.endswith(" or missing")
    low, high = text.removesuffix(" or missing").split(" … ")
    return set(leaves[leaves.index(low) : leaves.index(high) + 1]) | ({None} if or_missing else set())


def divergence(shares, answers):
    return math.fsum(
        float(p) * math.log(p / answers[cell]) if answers[cell] else math.inf for cell, p in shares.items()
    )


def names_of(table, level):
    secret = [column.name for column in table.sensitive]
    return [(chosen, [*chosen, *secret]) for chosen in combinations([c.name for c in table.quasi], level)]


def counted(table, names):
    shares = defaultdict(Fraction)
    for row in zip(*(table.column(name).texts() for name in names), strict=True):
        shares[row] += Fraction(1, len(table))
    return shares


def everywhere(table, names, missing):
    return [[*order(table.column(name)), *([None] if missing[name] else [])] for name in names]


def generalized(original, released, level):
    """The divergence of every query of a level."""
    missing = {c.name: None in c.texts() + released.column(c.name).texts() for c in original.columns}
    found = {}
    for chosen, names in names_of(original, level):
        answers = defaultdict(Fraction)
        boxes = [
            [stands_for(released.column(name), text, missing[name]) for name, text in zip(names, row, strict=True)]
            for row in zip(*(released.column(name).texts() for name in names), strict=True)
        ]
        boxes += [everywhere(original, names, missing)] * (len(original) - len(released))
        for box in boxes:
            for cell in product(*box):
                answers[cell] += Fraction(1, len(original) * math.prod(map(len, box)))
        found[chosen] = divergence(counted(original, names), answers)
    return found


def permuted(original, group, level):
    """The same where the sensitive values of a group, the last column, are published for themselves."""
    missing = {c.name: None in c.texts() for c in original.columns}
    rows = list(original.rows())
    found = {}
    for chosen, names in names_of(original, level):
        answers = defaultdict(Fraction)
        values = [[original.column(name).texts()[i] for name in chosen] for i in range(len(rows))]
        for i, own in enumerate(group):
            mates = [j for j, other in enumerate(group) if other == own]
            if own < 0:
                box = everywhere(original, names, missing)
                for cell in product(*box):
                    answers[cell] += Fraction(1, len(rows) * math.prod(map(len, box)))
                continue
            for j in mates:
                answers[(*values[i], rows[j][-1])] += Fraction(1, len(rows) * len(mates))
        found[chosen] = divergence(counted(original, names), answers)
    return found
