"""The truth about queries, from an original: each record by itself, its values read as plainly as can be."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treeanon.forest.forest import Tree
from treeanon.queries.grammar import Both, Condition, Formula, Not, Under


def day_or_number(text: str) -> float | tuple[int, ...]:
    """A number as it is, a date by its parts."""
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return tuple(map(int, text.split("-")))
    return float(text)


def fits(condition: Condition, value: str | None, is_below: Callable[[str, str, str], bool]) -> bool:
    """Whether one value satisfies one condition; `is_below` says for a class whether a value lies below a node."""
    if value is None or condition.operator == "missing":
        return value is None and condition.operator == "missing"
    for one in condition.constants:
        if condition.operator == "in":
            if one.text in ("*", value) or is_below(condition.name, value, one.text):
                return True
            if one.span is not None:
                low, high = map(day_or_number, one.span)
                if low <= day_or_number(value) <= high:  # type: ignore[operator]
                    return True
        else:
            here, there = day_or_number(value), day_or_number(one.text)
            known: dict[str, bool] = {
                "<": here < there,  # type: ignore[operator]
                "<=": here <= there,  # type: ignore[operator]
                ">": here > there,  # type: ignore[operator]
                ">=": here >= there,  # type: ignore[operator]
            }
            if known[condition.operator]:
                return True
    return False


def row_satisfies(formula: Formula, row: Mapping[str, str | None], is_below: Callable[[str, str, str], bool]) -> bool:
    """Whether a row of an original satisfies a formula."""
    if isinstance(formula, Condition):
        return fits(formula, row[formula.name], is_below)
    if isinstance(formula, Not):
        return not row_satisfies(formula.part, row, is_below)
    assert isinstance(formula, Both)
    sides = [row_satisfies(side, row, is_below) for side in (formula.left, formula.right)]
    return all(sides) if formula.joined == "and" else any(sides)


Place = tuple[tuple[str, str], tuple[tuple[str, str], ...], int]


def nodes_of(tree: Tree) -> list[tuple[str, str, list[int]]]:
    """All nodes of a record, each with its class, its value, and the numbers of the nodes above it."""
    out: list[tuple[str, str, list[int]]] = []

    def walk(nodes: Sequence[Any], above: list[int]) -> None:
        for name, value, below in nodes:
            out.append((name, value, above))
            walk(below, [*above, len(out) - 1])

    walk(tree, [])
    return out


def tree_satisfies(formula: Formula, tree: Tree, is_below: Callable[[str, str, str], bool], *, whole: bool) -> bool:
    """Whether a record of an original satisfies a formula; where objects stay `whole`, relations are about those."""
    nodes = nodes_of(tree)

    def having(condition: Condition) -> list[int]:
        return [
            i for i, (name, value, _) in enumerate(nodes) if name == condition.name and fits(condition, value, is_below)
        ]

    if isinstance(formula, Condition):
        if formula.operator == "missing":
            return not any(name == formula.name for name, _, _ in nodes)
        return bool(having(formula))
    if isinstance(formula, Under):
        for upper in having(formula.upper):
            top = nodes[upper][2][-1] if whole else upper
            if any(top in nodes[lower][2] for lower in having(formula.lower)):
                return True
        return False
    if isinstance(formula, Not):
        return not tree_satisfies(formula.part, tree, is_below, whole=whole)
    sides = [tree_satisfies(side, tree, is_below, whole=whole) for side in (formula.left, formula.right)]
    return all(sides) if formula.joined == "and" else any(sides)
