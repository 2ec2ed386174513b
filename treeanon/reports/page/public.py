"""Sections of public pages: functions of the published data alone, of nothing else in a release object.

Not shown, although they reveal little: the number of suppressed persons, what was withheld or disassociated (this names
rare values), losses and shares kept (they compare with the input), nodes of hierarchies without persons (hierarchies
can be built from the values of the input), and what reading dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from treeanon.forest import Forest
from treeanon.hierarchy import Hierarchy
from treeanon.metrics import relation_counts
from treeanon.metrics.measure import relation_name
from treeanon.previews.changes import Record
from treeanon.randomness import chance
from treeanon.reports.page.elements import (
    Cell,
    Content,
    Element,
    Section,
    Shaded,
    counted,
    el,
    matrix,
    scrolled,
    table,
    value,
)
from treeanon.reports.page.hierarchies import held_by_class, held_in, hierarchy_svg, published_alone
from treeanon.reports.page.statement import AnyVerdict
from treeanon.reports.page.trees import tree_svg
from treeanon.reports.preview_cells import cut
from treeanon.table import Column, Table
from treeanon.verifier.freeform import FreeformVerdict
from treeanon.verifier.table import TableVerdict

NEAREST = (
    "A value to the left of others is a generalization of them; where both occur, it means another value of its kind."
)
"""The meaning of a generalized value if every value is published as its nearest published ancestor."""

ALONE = "A value to the left of others is a generalization of them, and may stand for any of them."
"""Its meaning if each record or row is recoded separately."""

DRAWN = 4
ROWS = 12
MAX_VALUES = 12


def sentence(verdict: AnyVerdict, table: Table | None = None) -> str:
    """Return the verdict, as far as the release itself shows it."""
    if isinstance(verdict, FreeformVerdict):
        # How many tuples match each original row depends on the original data.
        return f"{verdict.k}-anonymity by freeform generalization {'holds' if verdict.holds else 'does not hold'}."
    if isinstance(verdict, TableVerdict) and table is not None and table.person is not None:
        # Which rows belong to one person is not published.
        return " ".join(f"{one.model} {'holds' if one.holds else 'does not hold'}." for one in verdict.checked)
    return verdict.sentence


def tree_sections(forest: Forest, seed: int | None = None, *, nearest: bool) -> Iterator[Section]:
    """Yield sections with random records, the published values by class, and the published relations.

    `nearest` says whether every value is published as its nearest published ancestor, in every record.
    """
    # The forest keeps the order of the input, which the release does not: the choice must be random.
    chosen = chance(seed).sample(range(len(forest)), min(DRAWN, len(forest)))
    some = forest.take(chosen).in_text_order()
    name = "A record of the release"
    trees = [tree_svg(Record.of(some, row).nodes(some.classes), name) for row in range(len(some))]
    drawn = [scrolled(name, tree) for tree in trees]
    words = "Drawn at random, in random order."
    yield Section("records", "Records of the release", [el("p", words), el("div", drawn, class_="sides")])
    meaning = el("p", "Each with its number of persons. ", NEAREST if nearest else ALONE)
    yield Section("values", "Published values", [meaning, *_values(forest)])
    yield _relations(forest)


def _values(forest: Forest) -> Iterator[Content]:
    """Yield the occurring values of every class, generalizations to the left."""
    for name, hierarchy, persons in held_by_class(forest):
        yield from _published(name, hierarchy, persons)


def _published(
    name: str, hierarchy: Hierarchy, persons: Mapping[int, int], things: str = "persons"
) -> Iterator[Content]:
    if persons:
        drawn = hierarchy_svg(published_alone(name, hierarchy, persons, things), line=False)
        yield el("h3", name, el("small", counted(len(persons), "value")))
        yield scrolled(f"Published values of {name}", drawn)


def _relations(forest: Forest) -> Section:
    """Return the section of relations: counts by pair of classes, and nodes that are not under their upper class."""
    counts, names = relation_counts(forest), forest.classes.names
    if forest.classes.types:
        found: list[Sequence[Cell]] = [
            [relation_name(forest.classes, *pair), int(counts[tuple(pair)])] for pair in np.argwhere(counts).tolist()
        ]
        heads = ["Two values in one object", "Relations"]
        return Section("relations", "Relations", [table("Relations in the release", heads, found)])
    uppers, lowers = np.flatnonzero(counts.any(axis=1)).tolist(), np.flatnonzero(counts.any(axis=0)).tolist()
    largest = int(counts.max(initial=0))
    cells = {
        (i, j): Shaded(f"{counts[up, low]:,}", float(counts[up, low]) / largest)
        for i, up in enumerate(uppers)
        for j, low in enumerate(lowers)
        if counts[up, low]
    }
    shown = matrix(
        "Relations in the release, upper class by lower class",
        "above \\ below",
        [names[up] for up in uppers],
        [names[low] for low in lowers],
        cells,
    )
    away = _elsewhere(forest)
    explanation = [
        el(
            "p",
            "Some values are not under a value of their upper class in the schema: they were disassociated from it, or"
            " had none.",
        ),
        table("Values not under their upper class", ["Class", "Values"], away),
    ]
    return Section("relations", "Relations", [shown if cells else el("p", "None."), explanation if away else None])


def _elsewhere(forest: Forest) -> list[Sequence[Cell]]:
    """Return by class the number of nodes that are not under a node of their upper class."""
    classes = forest.classes
    of = classes.class_of[forest.label]
    start = np.repeat(forest.offsets[:-1], np.diff(forest.offsets))
    above = np.where(forest.parent < 0, -1, of[np.maximum(forest.parent, 0) + start] if len(of) else -1)
    # `*`, which stands for everything, has class -1.
    wrong = of[(of >= 0) & (np.array([*classes.parents, -1], np.int64)[of] != above)]
    counts = np.bincount(wrong, minlength=len(classes.names)).tolist()
    return [[name, count] for name, count in zip(classes.names, counts, strict=True) if count]


def row_sections(tables: Sequence[tuple[str, Table]], seed: int | None = None) -> Iterator[Section]:
    """Yield sections with random rows and the published values by column, of each named table."""
    drawn: list[Content] = [el("p", "Drawn at random, in random order.")]
    columns: list[Content] = [el("p", "Each with its number of rows. ", ALONE)]
    for name, found in tables:
        chosen = chance(seed).sample(range(len(found)), min(ROWS, len(found)))
        rows = found.take(np.array(chosen, np.int64)).rows()
        heads = [column.header for column in found.columns]
        drawn.append(rows_table(f"Rows of {name}", heads, rows))
        for column in found.columns:
            columns += _of_column(column)
    yield Section("records", "Rows of the release", drawn)
    yield Section("values", "Published values", columns)


def rows_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str | None]]) -> Element:
    """Return rows of a table."""
    head = el("thead", el("tr", [el("th", one, scope="col") for one in heads]))
    body = [el("tr", [el("td", value(text, 80)) for text in row]) for row in rows]
    return scrolled(caption, el("table", el("caption", caption), head, el("tbody", body)))


def _of_column(column: Column) -> Iterator[Content]:
    rows = held_in(column)
    if column.role != "quasi":
        yield el("h3", column.name, el("small", f"{column.role}, {counted(len(rows), 'value')}"))
    elif column.covers is None:
        yield from _published(column.name, column.hierarchy, rows, "rows")
    else:
        most = sorted(rows, key=lambda code: (-rows[code], code))[:MAX_VALUES]
        left = len(rows) - len(most)
        yield el("h3", column.name, el("small", counted(len(rows), "value")))
        listed: list[Sequence[Cell]] = [[value(cut(column.values[code], 60)), rows[code]] for code in most]
        yield table(f"Published values of {column.name}", ["Value", "Rows"], listed)
        yield el("p", f"and {left:,} more") if left > 0 else None
