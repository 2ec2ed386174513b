"""How many persons had a relation, and how few had it with something more: the same as by looking at each record."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import treeanon as ta
from tests.support.page_worlds import random_forest
from tests.support.strategies import properties
from treeanon.forest.forest import Label, Tree
from treeanon.privacy import Guarantee
from treeanon.reports.page.internal import Support, relation_supports

Relation = tuple[Label, Label]


def known_in(tree: Tree, above: tuple[Label, ...] = ()) -> tuple[set[Label], set[Relation]]:
    """The labels and the relations of a record."""
    labels: set[Label] = set()
    relations: set[Relation] = set()
    for name, text, children in tree:
        own = (name, text)
        labels.add(own)
        relations |= {(up, own) for up in above}
        below = known_in(children, (*above, own))
        labels, relations = labels | below[0], relations | below[1]
    return labels, relations


def slow_support(forest: ta.Forest, pair: Relation, m: int, n: int, hidden: str) -> Support:
    records = [one for one in map(known_in, forest.records()) if pair in one[1]]
    more: list[int] = []
    if m >= 3:
        labels = {label for one in records for label in one[0] if label not in pair and label[0] != hidden}
        more += [sum(label in one[0] for one in records) for label in labels]
    if m >= 3 and n >= 2:
        relations = {found for one in records for found in one[1] if found != pair}
        relations = {r for r in relations if hidden not in (r[0][0], r[1][0]) and len({*r, *pair}) <= m}
        more += [sum(found in one[1] for one in records) for found in relations]
    return Support(len(records), min(more, default=None))


def check_supports(rnd: Random) -> None:
    forest = random_forest(rnd)
    hidden = rnd.choice(["", "kind", "cure"])
    classes = tuple(replace(c, role="keep") if c.name == hidden else c for c in forest.schema.classes)
    forest = ta.Forest.from_records(ta.Schema(forest.schema.input, classes), list(forest.records()))
    every = sorted({found for one in forest.records() for found in known_in(one)[1]})
    pairs = [pair for pair in every if rnd.random() < 0.3 and hidden not in (pair[0][0], pair[1][0])]
    m, n = rnd.randint(2, 5), rnd.randint(1, 3)
    slow = [slow_support(forest, pair, m, n, hidden) for pair in pairs]
    assert relation_supports(forest, pairs, Guarantee(2, m=m, n=n)) == slow


test_supports, test_supports_of_many = properties(check_supports, 30, 1000)
