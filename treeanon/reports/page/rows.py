"""Sections of internal pages on releases of tables: they show original data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treeanon.metrics.table import FlatLosses
from treeanon.metrics.table.permuted import PermutedLosses
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
