"""Histograms of risk: by what an attacker knows, and by the size of the groups of rows that look alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from treeanon.reports.page.elements import Cell, Content, Element, bar, counted, el, percent, table
from treeanon.table import Table
from treeanon.verifier.groups import count_groups, group_rows

SIZES = (1, 2, 5, 10, 20, 50)
"""The least sizes of the groups that histograms count persons by."""

COLORS = ("#a8071a", "#d98324", "#9aa5b1")
"""Of persons who are alone, among fewer than k, and among k or more."""

Risks = Sequence[tuple[str, Mapping[str, Any]]]


def by_attacker(found: Risks, k: int, covered: tuple[int, int] | None) -> Element:
    """Return, for each attacker, the shares of persons who are alone, among fewer than k, and among k or more.

    `covered` are the numbers of values and relations that a guarantee of trees covers.
    """
    lines = [_attackers(risk) for _, risk in found]
    rows: list[Sequence[Cell]] = []
    for at, (name, known, _) in enumerate(lines[0]):
        inside = covered is not None and known[0] <= covered[0] and known[1] <= covered[1]
        head = el("span", name, el("small", " within the guarantee", class_="note") if inside else None)
        cells: list[Cell] = [head]
        for line in lines:
            # Of the release fewer sets of columns may have been looked at than of the input.
            cells += _shares(line[at][2]) if at < len(line) and line[at][0] == name else ["", ""]
        rows.append(cells)
    heads = ["Known", *(word for name, _ in found for word in (name, "alone / fewer"))]
    words = ("alone", f"among fewer than {k:,}", f"among {k:,} or more")
    key = [el("li", _stack((0.0, 0.0, 0.0), color), " ", name) for color, name in zip(COLORS, words, strict=True)]
    notes = [el("p", _how(name, risk), class_="note") for name, risk in found if risk["exactness"] != "exact"]
    return el("div", el("ul", key, class_="legend"), table("Persons by attacker", heads, rows), notes)


def _how(name: str, risk: Mapping[str, Any]) -> str:
    return f"{name}: {risk['decided']:,} of {counted(risk['persons'], 'person')} were examined, drawn at random."


def _attackers(risk: Mapping[str, Any]) -> list[tuple[str, tuple[int, int], tuple[float, float]]]:
    """Return each attacker: name, numbers of values and relations, and the shares alone and among fewer than k."""
    thing = "column" if risk["kind"] == "table" else "value"
    found = []
    for below, alone in zip(risk["below_k"], risk["unique"], strict=True):
        m, n = below["m"], below["n"]
        if n <= m * (m - 1) // 2:
            related = f", {counted(n, 'relation')}" if n else ""
            found.append((counted(m, thing) + related, (m, n), (alone["share"], below["share"])))
    whole = risk.get("all_columns")
    if whole is not None:
        found.append(("all columns", (99, 0), (whole["unique"]["share"], whole["below_k"]["share"])))
    return found


def _shares(shares: tuple[float, float]) -> list[Cell]:
    alone, below = shares
    numbers = el("span", f"{percent(alone)} / {percent(below)}", class_="shares")
    return [_stack((alone, below - alone, 1 - below)), numbers]


def _stack(shares: tuple[float, float, float], only: str = "") -> Element:
    """Return a bar of three parts; with a color one of that alone, as the key of a chart has it."""
    if only:
        box = el("rect", x=0, y=0, width=10, height=10, rx=2, fill=only)
        return el("svg", box, width=10, height=10, viewBox="0 0 10 10", aria_hidden="true")
    parts: list[Content] = []
    at = 0.0
    for share, color in zip(shares, COLORS, strict=True):
        if share > 0:
            parts.append(el("rect", x=round(at, 2), y=0, width=round(max(120 * share, 0.6), 2), height=12, fill=color))
        at += 120 * share
    return el("svg", parts, width=120, height=12, viewBox="0 0 120 12", class_="stack", aria_hidden="true")


def sizes_of(table: Table) -> list[int]:
    """Return the number of persons in groups of rows that look alike, by the sizes of `SIZES` from which these are.

    >>> from treeanon.hierarchy import Hierarchy
    >>> sizes_of(Table.of_texts({"age": (["34", "34", "41"], Hierarchy.flat(["34", "41"]))}))
    [1, 2, 0, 0, 0, 0]
    """
    persons = count_groups(table, group_rows(table.quasi, len(table)), None).persons
    place = np.searchsorted(SIZES, persons, side="right") - 1
    return [int(persons[place == at].sum()) for at in range(len(SIZES))]


def by_size(found: Sequence[tuple[str, Sequence[int]]]) -> Element:
    """Return the histogram of persons by the size of the group of rows that look like theirs in all columns."""
    names = [f"{low:,}" if high == low + 1 else f"{low:,} to {high - 1:,}" for low, high in pairwise(SIZES)]
    names.append(f"{SIZES[-1]:,} or more")
    rows: list[Sequence[Cell]] = []
    for at, name in enumerate(names):
        cells: list[Cell] = [name]
        for _, persons in found:
            total = sum(persons)
            cells += [bar(persons[at] / total if total else 0.0), persons[at]]
        rows.append(cells)
    heads = ["Group of", *(word for name, _ in found for word in (name, "persons"))]
    return table("Persons by the size of the group that looks like them in all quasi-identifiers", heads, rows)


def of_whole(found: Risks, k: int) -> Element:
    """Return the risks by the attackers of the literature, who know all quasi-identifiers."""
    known = any(one["journalist"] is not None for _, one in found)
    prosecutor = "prosecutor (knows who is in it), at most" if known else "prosecutor or journalist, at most"
    rows: list[Sequence[Cell]] = [
        [prosecutor, *(percent(one["prosecutor"]) for _, one in found)],
        ["marketer (guesses for all), on average", *(percent(one["marketer"]) for _, one in found)],
        ["smallest group", *(one["smallest"] for _, one in found)],
        [f"persons in groups of fewer than {k:,}", *(one["below_k"]["persons"] for _, one in found)],
    ]
    if known:
        rows.insert(1, ["journalist (does not know it), at most", *(_journalist(one) for _, one in found)])
    return table("Attackers who know all quasi-identifiers", ["", *(name for name, _ in found)], rows)


def _journalist(one: Mapping[str, Any]) -> str:
    return "at most the prosecutor risk" if one["journalist"] is None else percent(one["journalist"])
