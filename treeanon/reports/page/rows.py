"""Sections of internal pages on releases of tables: they show original data.

Also the lattice of a full-domain search as a drawing: a node for each choice of levels, the more general ones above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from treeanon.algorithms.table.lattice import FullDomainResult
from treeanon.metrics.table import FlatLosses
from treeanon.metrics.table.measure import PermutedLosses
from treeanon.previews.model import RowChange
from treeanon.reports.page.elements import (
    Cell,
    Content,
    Element,
    Section,
    bar,
    counted,
    el,
    percent,
    scrolled,
    table,
    value,
)
from treeanon.reports.page.hierarchies import DrawnHierarchy, held_in, hierarchy_svg
from treeanon.reports.preview_text import SIGNS
from treeanon.table import Table
from treeanon.table.controls import levels_of


def rows(changes: Sequence[RowChange]) -> Section | None:
    """Return the section of rows before and after, one above the other, with changes marked."""
    if not changes:
        return None
    body = [el("tbody", _before(change), _after(change)) for change in changes]
    heads = ["Row", "", *changes[0].columns, "Group size"]
    head = el("thead", el("tr", [el("th", one, scope="col") for one in heads]))
    caption = f"Rows before and after; changed values are marked {SIGNS['generalized']}"
    return Section(
        "records",
        "Rows before and after",
        [scrolled(caption, el("table", el("caption", caption), head, body, class_="pairs"))],
    )


def _before(change: RowChange) -> Element:
    name = el("th", f"{change.number + 1:,}", scope="rowgroup", rowspan=2)
    return el("tr", name, el("td", "before"), [el("td", value(text, 80)) for text in change.before], el("td"))


def _after(change: RowChange) -> Element:
    if change.after is None:
        left_out = el("td", f"{SIGNS['dropped']} suppressed", class_="gone", colspan=len(change.columns))
        return el("tr", el("td", "after"), left_out, el("td"), class_="after")
    cells = [_became(old, new) for old, new in zip(change.before, change.after, strict=True)]
    return el("tr", el("td", "after"), cells, el("td", f"{change.alike:,}", class_="number"), class_="after")


def _became(old: str | None, new: str | None) -> Element:
    sign = None if old == new else el("span", SIGNS["generalized"], " ", class_="sign generalized")
    return el("td", sign, value(new, 80))


def hierarchies(published: Table, levels: Mapping[str, int]) -> Section | None:
    """Return the section of the quasi-identifiers' hierarchies; None if only ranges or sets are published."""
    parts: list[Content] = []
    for column in published.quasi:
        if column.covers is not None:
            continue
        found = held_in(column)
        level = f"level {levels[column.name]}, " if column.name in levels else ""
        nodes = f"{len(column.hierarchy):,} nodes, {len(found):,} published"
        nodes_drawn = DrawnHierarchy(column.name, column.hierarchy, frozenset(found), found, "rows")
        drawn = hierarchy_svg(nodes_drawn, line=bool(levels))
        parts += [el("h3", column.name, el("small", level + nodes)), scrolled(f"Hierarchy of {column.name}", drawn)]
    if not parts:
        return None
    words = "Green nodes are published, with the number of rows."
    words += (
        " The dashed red line is the cut." if levels else " Each row is recoded separately: there is no common cut."
    )
    return Section("hierarchies", "Hierarchies", [el("p", words), *parts])


def losses(found: FlatLosses, *, alike: bool = True) -> Section:
    """Return the section of losses by column; measures of groups are shown if rows are `alike`."""
    by_column: list[Sequence[Cell]] = [
        [name, loss, bar(loss), found.ncp_set[name]] for name, loss in found.ncp_taxonomy.items()
    ]
    groups: list[Sequence[Cell]] = [
        ["groups", found.groups],
        ["discernibility", found.discernibility],
        ["rows in a group / k", found.average_class_size],
    ]
    totals: list[Sequence[Cell]] = [
        ["rows suppressed", f"{found.suppressed:,} of {found.rows:,}"],
        ["GCP (taxonomy), 0 unchanged, 1 lost", found.gcp_taxonomy],
        ["GCP (set)", found.gcp_set],
        ["precision, 1 unchanged", found.precision],
        ["height", found.height],
        *(groups if alike else ()),
    ]
    if found.classification is not None:
        totals.append(["classification, share of wrong labels", percent(found.classification)])
    return Section(
        "losses",
        "What was lost",
        [
            table("NCP by column", ["Column", "Taxonomy", "", "Set"], by_column),
            table("In all", ["", "Release"], totals),
        ],
    )


def permuted_losses(found: PermutedLosses) -> Section:
    """Return the section of losses of a permuted release."""
    totals: list[Sequence[Cell]] = [
        ["rows left out", f"{found.suppressed:,} of {found.rows:,}"],
        ["groups", found.groups],
        ["rows in a group", found.average_group_size],
        ["rows in the largest group", found.largest_group],
    ]
    sample = f", in a sample of {found.queried:,} rows" if found.queried < found.rows else ""
    for level, loss in found.queries.items():
        totals.append([f"queries by {counted(level, 'column')}, KL divergence, 0 is exact{sample}", loss])
    return Section("losses", "What was lost", [table("In all", ["", "Release"], totals)])


Vector = tuple[int, ...]

MOST_DRAWN = 120
"""Lattices of more nodes are drawn in part: what was found, and what is one step from what was chosen."""

_LETTER, _HIGH, _STEP, _ROW = 7.3, 24, 14, 62


@dataclass(frozen=True)
class DrawnLattice:
    """The levels that columns can have, the choice, and all k-minimal ones where the search finds them.

    `suppressed` has for these how many persons each leaves out.
    """

    names: tuple[str, ...]
    lowest: Vector
    highest: Vector
    chosen: Vector
    suppressed: Mapping[Vector, int]
    all_minimal: bool

    @classmethod
    def of(cls, table: Table, found: FullDomainResult) -> DrawnLattice:
        """Return the lattice of a release and what its search has found in it."""
        names = tuple(column.name for column in table.quasi)
        levels = [levels_of(column) for column in table.quasi]
        vectors = {tuple(levels[name] for name in names): lost for levels, lost in found.minimal}
        chosen = tuple(found.vector[name] for name in names)
        lowest, highest = zip(*levels, strict=True)
        return cls(names, lowest, highest, chosen, {chosen: found.suppressed, **vectors}, bool(found.minimal))

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return prod(high - low + 1 for low, high in zip(self.lowest, self.highest, strict=True))

    def drawn(self) -> list[Vector]:
        """Return the nodes to draw: all of a small lattice.

        >>> some = DrawnLattice(("age", "sex"), (0, 0), (1, 1), (0, 1), {(0, 1): 0}, True)
        >>> some.drawn()
        [(0, 0), (0, 1), (1, 0), (1, 1)]
        """
        if self.size <= MOST_DRAWN:
            ranges = [range(low, high + 1) for low, high in zip(self.lowest, self.highest, strict=True)]
            return list(product(*ranges))
        near = [vector for vector in _steps(self.chosen) if self._has(vector)]
        return sorted({self.lowest, self.highest, self.chosen, *near, *sorted(self.suppressed)[:MOST_DRAWN]})

    def _has(self, vector: Vector) -> bool:
        return all(low <= one <= high for low, one, high in zip(self.lowest, vector, self.highest, strict=True))

    def state(self, vector: Vector) -> str:
        """Return what is known of a node: it was found, is above or below what was found, fails, or is open."""
        if vector == self.chosen:
            return "chosen"
        if vector in self.suppressed:
            return "minimal"
        if any(_is_above(vector, found) for found in self.suppressed):
            return "above"
        if self.all_minimal:
            return "fails"
        return "below" if _is_above(self.chosen, vector) else "open"


def _steps(vector: Vector) -> Iterator[Vector]:
    for at, level in enumerate(vector):
        for other in (level - 1, level + 1):
            yield (*vector[:at], other, *vector[at + 1 :])


def _is_above(vector: Vector, other: Vector) -> bool:
    return all(one >= two for one, two in zip(vector, other, strict=True))


_WORDS = {
    "chosen": "chosen",
    "minimal": "also k-minimal: nothing below it satisfies the models",
    "above": "more general than one that satisfies the models",
    "fails": "does not satisfy the models, or only with more persons left out than allowed",
    "below": "more specific than the one chosen",
    "open": "not told",
}


def lattice_section(released: Table, found: FullDomainResult) -> Section:
    """Return the section of a full-domain search: the levels of each column, and the lattice."""
    lattice = DrawnLattice.of(released, found)
    rows: list[Sequence[Cell]] = [
        [name, level, high, bar(level / high if high else 0.0)]
        for name, level, high in zip(lattice.names, lattice.chosen, lattice.highest, strict=True)
    ]
    nodes = lattice.drawn()
    part = "" if len(nodes) == lattice.size else f" Drawn are {len(nodes):,}: what was found, and what is next to it."
    checked = found.counts.get("checked")
    looked = "" if checked is None else f" The search evaluated {checked:,}."
    words = (
        "Each node is a choice of one level for every column, in the order of the table:"
        f" {counted(lattice.size, 'node')} in all.{looked}{part}"
    )
    states = {lattice.state(node) for node in nodes}
    key = [el("li", _sample(name), " ", text) for name, text in _WORDS.items() if name in states]
    drawing = scrolled("Lattice of levels", lattice_svg(lattice, nodes))
    least: Content = _minimal(lattice) if lattice.all_minimal else None
    return Section(
        "lattice",
        "The lattice of levels",
        [table("Levels", ["Column", "Chosen", "Highest", ""], rows), el("p", words), el("ul", key, class_="legend"),
         drawing, least],
    )  # fmt: skip


_MOST_LISTED = 40


def _minimal(lattice: DrawnLattice) -> list[Content]:
    rows: list[Sequence[Cell]] = [
        [" ".join(map(str, vector)), sum(vector), lost, "chosen" if vector == lattice.chosen else ""]
        for vector, lost in sorted(lattice.suppressed.items(), key=lambda one: (sum(one[0]), one))
    ]
    left = len(rows) - _MOST_LISTED
    shown = table("k-minimal choices", ["Levels", "Height", "Persons left out", ""], rows[:_MOST_LISTED])
    return [shown, el("p", f"and {left:,} more") if left > 0 else None]


def _sample(state: str) -> Element:
    box = el("rect", x=1, y=1, width=18, height=12, rx=3)
    return el("svg", box, width=20, height=14, viewBox="0 0 20 14", class_=f"lattice {state}", aria_hidden="true")


def lattice_svg(lattice: DrawnLattice, nodes: Sequence[Vector]) -> Element:
    """Return nodes by the sum of their levels, the most general on top, and the steps between them."""
    by_height: dict[int, list[Vector]] = {}
    for node in nodes:
        by_height.setdefault(sum(node), []).append(node)
    heights = sorted(by_height, reverse=True)
    wide = max(len(_label(node)) for node in nodes) * _LETTER + 16
    width = max(len(row) for row in by_height.values()) * (wide + _STEP) + _STEP
    place: dict[Vector, tuple[float, float]] = {}
    for line, height in enumerate(heights):
        row = by_height[height]
        start = (width - len(row) * (wide + _STEP) + _STEP) / 2
        for at, node in enumerate(row):
            place[node] = start + at * (wide + _STEP) + wide / 2, 20 + line * _ROW
    lines = [
        el("path", d=f"M{x:.1f} {y:.1f}L{place[up][0]:.1f} {place[up][1]:.1f}", class_="edge")
        for node, (x, y) in place.items()
        for up in _steps(node)
        if up in place and sum(up) > sum(node)
    ]
    boxes = [_box(lattice, node, *place[node], wide) for node in nodes]
    high = 20 + (len(heights) - 1) * _ROW + 20
    title = f"Lattice of the levels of {', '.join(lattice.names)}"
    return el(
        "svg", el("title", title), lines, boxes, role="img", width=round(width), height=high,
        viewBox=f"0 0 {round(width)} {high}", class_="lattice", aria_label=title,
    )  # fmt: skip


def _label(node: Vector) -> str:
    return " ".join(map(str, node))


def _box(lattice: DrawnLattice, node: Vector, x: float, y: float, wide: float) -> Element:
    state = lattice.state(node)
    named = ", ".join(f"{name} {level}" for name, level in zip(lattice.names, node, strict=True))
    lost = lattice.suppressed.get(node)
    told = "" if lost is None else f"; {counted(lost, 'person')} left out"
    return el(
        "g",
        el("title", f"{named}: {_WORDS[state]}{told}"),
        el("rect", x=round(x - wide / 2, 1), y=y - _HIGH / 2, width=round(wide, 1), height=_HIGH, rx=6),
        el("text", _label(node), x=round(x, 1), y=y + 4),
        class_=f"level {state}",
    )
