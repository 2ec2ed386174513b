"""Sections of internal pages on releases of trees: they show original data.

Supports of the ended relations show why the guarantee required to end them.

Also a record as its document, folded, with what changed in its place: for internal pages, as it shows original data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treeanon.arrays import Flags, Longs
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.forest.forest import Label
from treeanon.kernels.tree.losses import count_records_with
from treeanon.metrics import Losses
from treeanon.previews.model import Node, NodeChange, Part, RecordChange, Value, document_of
from treeanon.privacy import Guarantee
from treeanon.release import Release
from treeanon.reports.page.elements import (
    Cell,
    Content,
    Element,
    Section,
    Shaded,
    bar,
    counted,
    el,
    matrix,
    more,
    percent,
    scrolled,
    table,
    value,
)
from treeanon.reports.page.hierarchies import DrawnHierarchy, held_by_class, hierarchy_svg, standing
from treeanon.reports.page.trees import legend, record_svg
from treeanon.reports.preview_cells import cut
from treeanon.reports.preview_text import WORDS
from treeanon.schema import Schema

MOST_PARTS = 6000
"""Parts of documents on a page; of larger documents those with changes are shown first, and the others are counted."""

LEAST_PARTS = 200
"""Parts of each document, however many there are."""


def document(change: RecordChange, schema: Schema, room: int = MOST_PARTS) -> Element | None:
    """Return the document of a record before its release, folded; None for formats without documents.

    `room` is how many of its parts are shown.
    """
    part = document_of(change, schema)
    if part is None:
        return None
    name = "XML" if schema.input.slashed else "JSON"
    shown: set[int] = set()
    _choose(part, max(room, LEAST_PARTS), shown)
    lines = el("div", _part(part, shown, top=True), class_="document")
    inner = scrolled(f"Record {change.number + 1:,} as {name}", lines)
    return more(f"The document ({name}), with what changed", inner, opened=True)


_WORTH = 12
"""With less room than this left, a part that does not fit is counted and not shown in part."""


def _choose(part: Part, room: int, shown: set[int]) -> int:
    """Note which parts to show, changed ones first, in so much room; return how much they take."""
    shown.add(id(part))
    used = 1
    sizes = [sum(1 for _ in one.walk()) for one in part.parts]
    for at in sorted(range(len(sizes)), key=lambda at: (not part.parts[at].changed, at)):
        if sizes[at] <= room - used or room - used >= _WORTH:
            used += _choose(part.parts[at], min(sizes[at], room - used), shown)
    return used


def _part(part: Part, shown: set[int], *, top: bool = False) -> Element:
    if not part.parts:
        return el("div", _line(part), class_="line")
    values = sum(one.value is not None and one.value.is_own for one in part.walk())
    told = [counted(values, "value")] if values else []
    if part.changed:
        told.append(f"{part.changed:,} changed")
    gone = "gone" if part.is_gone else None
    # What an item of a list is, is said by a constant of the schema: the kind of a resource.
    constants = (one.value.before for one in part.walk() if one.value is not None and not one.value.is_own)
    kind = next(constants, None) if part.lead == "{" and not top else None
    said = None if kind is None else el("span", value(kind), class_="constant")
    summary = el("summary", el("code", part.lead + " ", class_=gone), said, el("small", ", ".join(told)))
    inside = [_part(each, shown) for each in part.parts if id(each) in shown]
    inside += _left([each for each in part.parts if id(each) not in shown])
    inner = [el("div", inside, class_="inside"), el("code", part.trail, class_=gone)]
    return el("details", summary, inner, open="open" if top or part.changed else None)


def _left(parts: Sequence[Part]) -> list[Element]:
    """Return a line that counts parts that are not shown, if there are any."""
    if not parts:
        return []
    values = sum(one.value is not None and one.value.is_own for part in parts for one in part.walk())
    changed = sum(part.changed for part in parts)
    told = f"… {counted(len(parts), 'part')} more: {counted(values, 'value')}, {changed:,} changed"
    return [el("div", el("small", told), class_="line")]


def _line(part: Part) -> Content:
    own = part.value
    if own is None:
        return [el("code", part.lead + part.trail)]
    said = ", ".join(word for kind, word in WORDS.items() if kind in own.changes)
    trail = el("code", part.trail) if part.trail else None
    return [el("code", part.lead), _value(own), trail, el("small", said) if said else None]


def _value(own: Value) -> Content:
    if not own.changes:
        return el("span", value(own.before), class_="own" if own.is_own else "constant")
    if own.after is None:
        return el("del", value(own.before), class_="dropped")
    kind = next(kind for kind in ("generalized", "moved", "merged") if kind in own.changes)
    if own.after == own.before:
        return el("span", value(own.before), class_=kind)
    return [el("del", value(own.before), class_=kind), " ", el("ins", value(own.after), class_=kind)]


@dataclass(frozen=True)
class Support:
    """The support of a relation, and the least support of the relation with one further value or relation.

    `with_more` is None if the guarantee covers no further knowledge, or if no holder has any.
    """

    persons: int
    with_more: int | None


def relation_supports(forest: Forest, pairs: Sequence[tuple[Label, Label]], guarantee: Guarantee) -> list[Support]:
    """Return for every (upper, lower) pair of labels the support of the relation.

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "trees"\\n[[class]]\\nname = "hospital"\\n'
    ...     '[[class]]\\nname = "disease"\\nunder = "hospital"')
    >>> flu, acne = ["disease", "flu", []], ["disease", "acne", []]
    >>> forest = Forest.from_records(schema, [[["hospital", "H", [flu]]], [["hospital", "H", [flu, acne]]], [flu]])
    >>> relation_supports(forest, [(("hospital", "H"), ("disease", "flu"))], Guarantee(2, m=3, n=1))
    [Support(persons=2, with_more=1)]
    """
    size, label = len(forest.classes), forest.classes.label
    ends = [(label(*upper), label(*lower)) for upper, lower in pairs]
    held = _relations(forest, np.array([above * size + below for above, below in ends], np.int64))
    found = []
    for above, below in ends:
        start, stop = np.searchsorted(held[:, 0], [above * size + below, above * size + below + 1])
        records = held[start:stop, 1]
        found.append(Support(len(records), _with_more(forest.take(records), above, below, guarantee)))
    return found


def _relations(forest: Forest, wanted: Longs | None = None) -> Longs:
    """Return the distinct relations of every record: upper label * number of labels + lower label, and the record.

    They are in ascending order; `wanted` restricts them.
    """
    record = np.repeat(np.arange(len(forest), dtype=np.int64), np.diff(forest.offsets))
    label = forest.label.astype(np.int64)
    above = np.where(forest.parent < 0, -1, forest.parent + forest.offsets[:-1][record])
    node = np.flatnonzero(above >= 0)
    up = above[node]
    found = [np.zeros((0, 2), np.int64)]
    while len(node):
        code = label[up] * len(forest.classes) + label[node]
        items = slice(None) if wanted is None else np.isin(code, wanted)
        found.append(np.stack([code[items], record[node[items]]], axis=1))
        up = above[up]
        node, up = node[up >= 0], up[up >= 0]
    return np.unique(np.concatenate(found), axis=0)


def _with_more(forest: Forest, above: int, below: int, guarantee: Guarantee) -> int | None:
    """Return the least support, among the records with a relation, of a further value or relation; None if there is
    none.
    """
    if guarantee.m < 3 or not len(forest):
        return None
    size, known = len(forest.classes), _known(forest)
    support = count_records_with(forest.offsets, forest.label, size)
    support[[above, below]] = 0
    counts = [support[known]]
    if guarantee.n >= 2:
        codes, times = np.unique(_relations(forest)[:, 0], return_counts=True)
        ends = np.stack([codes // size, codes % size])
        usual = known[ends].all(axis=0) & (codes != above * size + below)
        if guarantee.m == 3:
            # With three values, another relation shares an end with this one.
            usual &= ((ends == above) | (ends == below)).any(axis=0)
        counts.append(times[usual])
    every = np.concatenate(counts)
    every = every[every > 0]
    return int(every.min()) if len(every) else None


def _known(forest: Forest) -> Flags:
    """Return for every label whether an attacker may know it."""
    roles = {spec.name: spec.role for spec in forest.schema.classes}
    quasi = [roles.get(name, "quasi") == "quasi" for name in forest.classes.names]
    return np.array([*quasi, False])[forest.classes.class_of]


MAX_PAIRS = 100
MAX_CHANGES = 40


def records(changes: Sequence[RecordChange], schema: Schema | None = None) -> Section | None:
    """Return the section of records before and after: their documents, and trees drawn side by side."""
    if not changes:
        return None
    room = MOST_PARTS // len(changes)
    shown = [_record(change, None if schema is None else document(change, schema, room)) for change in changes]
    return Section("records", "Records before and after", [legend(), shown])


def _record(change: RecordChange, written: Element | None) -> Element:
    """Return one record: its document, both drawings, and its changes in words."""
    sides = [
        el(
            "div",
            el("h4", "Before"),
            scrolled(f"Record {change.number + 1:,} before", record_svg(change, "before")),
        ),
        el("div", el("h4", "After"), _after(change)),
    ]
    heading = el("h3", f"Record {change.number + 1:,} of the input", el("small", f"{percent(change.change)} changed"))
    items = list(_sentences(change))
    words = more(f"Changes in words ({len(items):,})", _list(items)) if items else el("p", "Unchanged.")
    trees: Content = el("div", sides, class_="sides")
    if written is not None:
        trees = [written, more("The trees before and after", trees)]
    return el("article", heading, trees, words, class_="record")


def _after(change: RecordChange) -> Element:
    if change.after is None:
        return el("p", "Suppressed: not in the release.", class_="gone")
    return scrolled(f"Record {change.number + 1:,} after", record_svg(change, "after"))


def _list(items: Sequence[Content]) -> Element:
    left = len(items) - MAX_CHANGES
    shown = [el("li", item) for item in items[:MAX_CHANGES]]
    return el("ul", shown, el("li", f"and {left:,} more") if left > 0 else None)


def _sentences(change: RecordChange) -> Iterator[Content]:
    """Yield the changes of the nodes in words."""
    before = {node.id: node for root in change.before for node in root.walk()}
    after = {node.id: node for root in change.after or () for node in root.walk()}
    for fate in change.fates:
        if fate.changes:
            yield _sentence(fate, before[fate.before], after, before)


def _sentence(fate: NodeChange, node: Node, after: dict[int, Node], before: dict[int, Node]) -> Content:
    words: list[Content] = [f"{node.cls} ", value(cut(node.value, 60))]
    if fate.after is None:
        return [*words, " is not published"]
    if "generalized" in fate.changes:
        words += [" is generalized to ", value(cut(after[fate.after].value, 60))]
    if fate.moved_from is not None:
        above = before[fate.moved_from]
        words += [f", disassociated from {above.cls} ", value(cut(above.value, 60))]
    if "merged" in fate.changes:
        words.append(", merged with an equal value")
    return words


def hierarchies(release: Release) -> Section:
    """Return the section of hierarchies with the cut."""
    if STAR in (release.solution.cut or {}):
        return Section(
            "hierarchies", "Hierarchies and the cut", [el("p", "All values are published as ", value(STAR), ".")]
        )
    local = release.solution.cut is None
    notes = "Each record is recoded separately; green nodes are published in some record." if local else (
        "Green nodes are published, with the number of persons. The dashed red line is the cut: values behind it are"
        " generalized to the green node before it."
    )  # fmt: skip
    parts: list[Content] = [el("p", notes)]
    for name, hierarchy, persons in held_by_class(release.forest):
        if name in release.solution.withheld:
            parts.append(el("p", el("b", name), " is withheld: too rare to be published safely."))
            continue
        cut = (release.solution.cut or {}).get(name)
        nodes = list(persons) if cut is None else standing(hierarchy, map(hierarchy.find, cut))
        drawn = hierarchy_svg(DrawnHierarchy(name, hierarchy, frozenset(nodes), persons), line=not local)
        about = f"{len(hierarchy):,} nodes, {len(nodes):,} published"
        parts.append(el("h3", name, el("small", about)))
        parts.append(scrolled(f"Hierarchy of {name}", drawn))
    return Section("hierarchies", "Hierarchies and the cut", parts)


def relations(release: Release, before: Forest | None) -> Section:
    """Return the section of relations: the shares kept by pair of classes, and the ended ones with supports."""
    kept, solution = release.loss.relations_kept, release.solution
    whole = bool(release.forest.classes.types)
    what = "two values in one object of a record" if whole else "one value above another in a record"
    parts: list[Content] = [el("p", f"{percent(kept)} of the relations of the input ({what}) are kept.")]
    shares = release.loss.relations_kept_by_pair
    if shares and whole:
        rows: list[Sequence[Cell]] = [[name, percent(share), bar(1 - share)] for name, share in shares.items()]
        parts.append(table("Relations kept, by classes and type of object", ["Relation", "Kept", ""], rows))
    elif shares:
        parts.append(_kept(release.loss, release.forest.classes.names))
    left_out = [(rule[0], rule[1]) for rule in solution.left_out]
    parts.append(_ended("Disassociated relations", solution.disassociated, release, before))
    taken = "Values left out of objects" if whole else "Relations ended by leaving the lower value out"
    parts.append(_ended(taken, left_out, release, None if whole else before))
    return Section("relations", "Relations", parts)


def _kept(losses: Losses, names: Sequence[str]) -> Element:
    """Return the shares by pair of classes; only classes with relations have a row or a column."""
    pair = {f"{up}>{low}": (up, low) for up in names for low in names}
    shares = {pair[text]: share for text, share in losses.relations_kept_by_pair.items()}
    uppers = [name for name in names if any(up == name for up, _ in shares)]
    lowers = [name for name in names if any(low == name for _, low in shares)]
    cells = {
        (uppers.index(up), lowers.index(low)): Shaded(percent(share), 1 - share) for (up, low), share in shares.items()
    }
    caption = "Relations kept, upper class by lower class (darker: more lost)"
    return matrix(caption, "above \\ below", uppers, lowers, cells)


def _ended(title: str, pairs: Sequence[tuple[Label, Label]], release: Release, before: Forest | None) -> Content:
    if not pairs:
        return None
    guarantee = release.solution.guarantee
    supports = [None] * len(pairs) if before is None else _supports(release, before, pairs)
    order = sorted(range(len(pairs)), key=lambda i: _fewest(supports[i]))
    rows = [_pair(*pairs[i], supports[i], guarantee.k) for i in order[:MAX_PAIRS]]
    left = len(pairs) - len(rows)
    return [
        el("h3", title, el("small", counted(len(pairs), "pair"))),
        el(
            "p",
            "The persons with the relation, between values as general as published, and the least number of them who"
            " share one further value or relation, if the guarantee covers further knowledge. Where both are"
            f" {guarantee.k:,} or more, another part of the guarantee required it, or ending them lost less than"
            " generalizing.",
        ),
        table(f"{title} (k = {guarantee.k:,})", _HEADS, rows),
        el("p", f"and {left:,} more") if left else None,
    ]


_HEADS = ("Upper value", "Lower value", "Persons", "Least with one more", "Rare")


def _supports(release: Release, before: Forest, pairs: Sequence[tuple[Label, Label]]) -> Sequence[Support | None]:
    solution = release.solution
    cut: Any = STAR if STAR in (solution.cut or {}) else solution.cut
    kept = before if release.kept is None else before.take(release.kept)
    published = kept.without(solution.withheld).project(cut)
    return relation_supports(published, pairs, solution.guarantee)


def _fewest(support: Support | None) -> int:
    if support is None:
        return 0
    return support.persons if support.with_more is None else min(support.persons, support.with_more)


def _pair(upper: Label, lower: Label, support: Support | None, k: int) -> Sequence[Cell]:
    ends = [el("span", f"{name} ", value(cut(text, 60))) for name, text in (upper, lower)]
    if support is None:
        return [*ends, "", "", ""]
    more = "" if support.with_more is None else support.with_more
    rare = "alone" if support.persons < k else "with one more" if _fewest(support) < k else ""
    return [*ends, support.persons, more, rare]


def losses(found: Losses) -> Section:
    """Return the section of losses by class."""
    had, has = found.before.values, found.after.values
    rows: list[Sequence[Cell]] = [
        [name, loss, bar(loss), had.get(name, 0), has.get(name, 0)] for name, loss in found.value_loss_by_class.items()
    ]
    heads = ["Class", "Value loss", "", "Values in the input", "Values published"]
    totals: list[Sequence[Cell]] = [
        ["persons", found.before.records, found.after.records],
        ["nodes", found.before.nodes, found.after.nodes],
        ["distinct trees", found.before.trees, found.after.trees],
    ]
    whole: list[Sequence[Cell]] = [
        [name, of.before, of.after, "unknown" if of.whole is None else percent(of.whole)]
        for name, of in found.objects.items()
    ]
    return Section(
        "losses",
        "Losses",
        [
            el(
                "p",
                f"Value loss {found.value_loss:.3f}, from 0 (unchanged) to 1 (any value, or none); relations"
                f" kept {percent(found.relations_kept)}; reverse path domain (RPD) {found.rpd:.5f} (lower is better).",
            ),
            table("Value loss by class", heads, rows),
            table("Objects kept whole", ["Type of object", "Input", "Release", "Kept whole"], whole) if whole else None,
            table("Sizes", ["", "Input", "Release"], totals),
        ],
    )
