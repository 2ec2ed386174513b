"""The running example of the paper on trees, step by step by the code of the searches, as text, pages and pictures.

O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Figures 4 and 10 to
13. The values are invented; nobody is in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from textwrap import wrap

from treeanon.algorithms.tree.published.candidates import OneCut
from treeanon.algorithms.tree.published.cut_searches import acs, gcs
from treeanon.algorithms.tree.solution import Label, LabelPair, Result, Solution
from treeanon.forest import Forest
from treeanon.io import read
from treeanon.metrics.values import rpd
from treeanon.previews.changes import Record, record_change
from treeanon.privacy import Guarantee
from treeanon.release.reapply import apply
from treeanon.reports.page.elements import Content, Element, Section, counted, el, style, table, text_of
from treeanon.reports.page.hierarchies import DrawnHierarchy, held_by_class, hierarchy_svg
from treeanon.reports.page.page import head
from treeanon.reports.page.trees import record_svg, tree_svg
from treeanon.reports.preview_cells import plain
from treeanon.reports.preview_text import record_lines
from treeanon.reports.synopsis import synopsis_drawing, synopsis_lines, synopsis_view
from treeanon.resources import folder
from treeanon.schema import Schema
from treeanon.verifier.tree import verify

GUARANTEE = Guarantee(k=2, m=2, n=1, as_published=True)

CUT: Mapping[str, Sequence[str]] = {
    "hospital": ("Hospital1", "Hospital2", "Rea", "Gaia"),
    "disease": ("Lung Disease", "Diarrhea", "Gastritis"),
    "treatment": ("Neurological", "Orthopedic", "Medicine"),
}
"""The cut of Figures 12 and 13."""

_RECORD_WIDTH = 96
_MOVED = 3
"""The record in which something moves, counted from 0."""


@dataclass(frozen=True)
class Picture:
    """A drawing with the name of its file, and what it shows."""

    name: str
    caption: str
    drawing: Element


@dataclass(frozen=True)
class Step:
    """One step: where the paper has it, what happens, the text for a terminal, and the drawings or rows for a page."""

    title: str
    section: str
    words: str
    lines: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = field(default_factory=tuple)


def example() -> Forest:
    """Return the records of the example, which come with the package."""
    return read(folder("samples") / "paper.trees.jsonl", Schema.load(folder("schemas") / "paper.toml"))


def steps() -> Iterator[Step]:
    """Yield the steps, from the records to their release."""
    forest = example()
    one = OneCut(forest, GUARANTEE, CUT)
    projected = forest.project(CUT)
    yield _records(forest)
    yield _hierarchies(projected)
    yield _synopsis(forest)
    yield _projected(projected)
    yield _values(forest, projected, one)
    yield _structure(projected, one)
    passes = one.fix()
    yield _repair(forest, projected, one, passes)
    yield _search(forest)
    yield _release(forest, projected.disassociate(one.moves))


def _records(forest: Forest) -> Step:
    lines = [line for number in range(len(forest)) for line in (f"record {number + 1}", *_indented(forest, number))]
    pictures = []
    for number in range(len(forest)):
        nodes, name = Record.of(forest, number).nodes(forest.classes), f"Record {number + 1}"
        pictures.append(Picture(f"record-{number + 1}", name, tree_svg(nodes, name)))
    words = (
        f"{counted(len(forest), 'person')}; below a hospital are the diseases found there, below a disease its"
        " treatments. An attacker may know up to m = 2 labels of a person and up to n = 1 relation between them (II-B);"
        " each such knowledge must fit no record, or at least k = 2 (Definition 1)."
    )
    return Step("The collection", "Section II-A, Figure 10", words, lines, pictures)


def _indented(forest: Forest, number: int) -> Iterator[str]:
    for root in Record.of(forest, number).nodes(forest.classes):
        stack = [(root, 1)]
        while stack:
            node, depth = stack.pop()
            yield f"{'  ' * depth}{node.cls}: {node.value}"
            stack += [(child, depth + 1) for child in reversed(node.children)]


def _hierarchies(projected: Forest) -> Step:
    lines, pictures = [], []
    for name, hierarchy, persons in held_by_class(projected):
        nodes = frozenset(found for text in CUT[name] if (found := hierarchy.find(text)) is not None)
        for node, text in enumerate(hierarchy.texts):
            marked = f"[{text}]" if node in nodes else text
            lines.append(f"{'  ' * int(hierarchy.depth[node])}{marked}  {persons.get(node, '')}".rstrip())
        drawing = hierarchy_svg(DrawnHierarchy(name, hierarchy, nodes, persons))
        pictures.append(Picture(f"hierarchy-{name}", f"The hierarchy of {name}, with the cut through it", drawing))
    words = (
        "A cut takes from each hierarchy nodes that together stand for every value once; each value is published as its"
        " node. Here the cut of Figure 13: lung diseases and medicines are generalized, all else stays. Nodes of the"
        " cut are green, or in [brackets], with the number of records that have them."
    )
    return Step("The hierarchies, and a cut through them", "Section II-A, Figure 4", words, lines, pictures)


def _synopsis(forest: Forest) -> Step:
    view = synopsis_view(forest, GUARANTEE.k, None, ids=True)
    words = (
        "Every path of labels once, with the records that have it; rare, or crossed out, are paths of fewer than k."
        " Whatever is asked of the records can be asked of this tree."
    )
    picture = Picture("synopsis", "The synopsis tree, with the records of each path", synopsis_drawing(view))
    return Step("The synopsis tree", "Section III-A, Figure 11", words, synopsis_lines(view), [picture])


def _projected(projected: Forest) -> Step:
    view = synopsis_view(projected, GUARANTEE.k, None, ids=True)
    words = (
        "Labels become nodes of the cut, equal siblings become one, and their records are united: cuts are tried on the"
        " synopsis tree, never on the records."
    )
    picture = Picture("projected", "The synopsis tree projected to the cut", synopsis_drawing(view))
    title = "The synopsis tree projected to the cut"
    return Step(title, "Section III-A, Figure 12", words, synopsis_lines(view), [picture])


def _values(forest: Forest, projected: Forest, one: OneCut) -> Step:
    held = _holders(projected)
    rows = [(_set(labels), str(len(who)), _ids(who)) for labels, who in held.items()]
    stricter = OneCut(forest, replace(GUARANTEE, k=3), CUT)
    least = min(held.items(), key=lambda found: len(found[1]))
    words = (
        f"Each set of up to m labels must be in no record, or in at least k. With k = 2 the cut {_passes(one)}. With"
        f" k = 3 it {_passes(stricter)}: {_set(least[0])} is in {len(least[1])} records. (Figure 13 is of this cut, and"
        " the paper calls it 3^(2,1)-anonymous.) A cut that fails is dead, with all that specializes it."
    )
    lines = [f"{name:<32}{support:>2}  {who}" for name, support, who in rows]
    return Step("ValueCheck", "Section III-B, Algorithm 1", words, lines, (), ("labels", "records", "which"), rows)


def _passes(one: OneCut) -> str:
    return "passes" if one.values_pass else "fails"


def _structure(projected: Forest, one: OneCut) -> Step:
    rows = []
    for (upper, lower), who in _relations(projected).items():
        verdict = "" if len(who) >= GUARANTEE.k else "fails"
        rows.append((f"{upper[1]} ⇝ {lower[1]}", str(len(who)), _ids(who), verdict))
    failing = one.failing()
    found = "nothing" if failing is None else ", ".join(f"{upper[1]} ⇝ {lower[1]}" for upper, lower in failing[1])
    words = (
        "Labels with up to n relations between them must be in no record, or in at least k. What fails first, in the"
        f" order of lines 2 to 4 of Algorithm 3, is {found}: whoever knows it of a person knows who it is."
    )
    lines = [f"{name:<32}{support:>2}  {who:<16}{verdict}".rstrip() for name, support, who, verdict in rows]
    heads = ("relation", "records", "which", "")
    return Step("StructureCheck", "Section III-B, Algorithm 2", words, lines, (), heads, rows)


def _repair(forest: Forest, projected: Forest, one: OneCut, passes: int) -> Step:
    solution = Solution(GUARANTEE, "gcs", dict(_texts(CUT)), one.moves)
    change = record_change(forest, apply(solution, forest), _MOVED)
    view = synopsis_view(projected.disassociate(one.moves), GUARANTEE.k, None, ids=True)
    ended = ", ".join(f"{upper[1]} ⇝ {lower[1]}" for upper, lower in one.moves)
    words = (
        f"The rarest relation of what fails is disassociated (Definition 2): {ended} ends in every record. The lower"
        " node moves up beside the upper one and becomes a leaf, and equal siblings merge. A disassociation can make"
        f" another relation rare, so passes go on until one finds nothing: here the {_ORDINALS[passes]}. Of the"
        f" {counted(len(forest), 'record')}, one has changed: record {_MOVED + 1}."
    )
    lines = [plain(line) for line in record_lines(change, _RECORD_WIDTH)]
    before = Picture("before", f"Record {_MOVED + 1} as it was", record_svg(change, "before"))
    after = Picture("after", f"Record {_MOVED + 1}, disassociated", record_svg(change, "after"))
    tree = Picture("disassociated", "The synopsis tree, disassociated", synopsis_drawing(view))
    lines += ["", "The synopsis tree of the disassociated records:", *synopsis_lines(view)]
    return Step("FixStructure", "Section III-C, Algorithm 3, Figure 13", words, lines, (before, after, tree))


_ORDINALS = ("none", "first", "second", "third", "fourth")


def _search(forest: Forest) -> Step:
    runs = {
        "ACS": acs(forest, GUARANTEE, scope="hierarchy"),
        "GCS, g = 2": gcs(forest, GUARANTEE, scope="hierarchy"),
        "GCS, g = 2, least RPD": gcs(forest, GUARANTEE, scope="both", choose="rpd"),
    }
    rows = [
        (name, str(found.report["cuts"]), f"{found.report['rpda']:.5f}", f"{rpd(found.forest):.5f}", _general(found))
        for name, found in runs.items()
    ]
    words = (
        "ACS goes from {*} down through every cut, unless ValueCheck ends a branch: 5 cuts of each of three"
        " hierarchies, and {*}, are 5³ + 1. GCS keeps the g cheapest cuts of each step. Both are guided by RPDa,"
        " which the synopsis tree tells; the cost of a release is RPD, and by default the cut of least RPD is taken of"
        " all that were seen."
    )
    lines = [f"{name:<24}{cuts:>4} cuts  RPDa {rpda}  RPD {cost}  {what}" for name, cuts, rpda, cost, what in rows]
    heads = ("search", "cuts seen", "RPDa", "RPD", "generalized or disassociated")
    return Step("ACS and GCS", "Sections III-C and III-D, Algorithm 4", words, lines, (), heads, rows)


def _general(found: Result) -> str:
    """Return what a solution generalizes in the records, and which relations it ends."""
    classes, cut = found.forest.classes, found.solution.cut or {}
    nodes = {label for record in found.forest.records() for label in _labels(record)}
    inner = []
    for name, hierarchy in zip(classes.names, classes.hierarchies, strict=True):
        for text in cut.get(name, ()):
            node = hierarchy.find(text)
            if (name, text) in nodes and node is not None and not hierarchy.is_leaf(node):
                inner.append(text)
    ended = [f"{upper[1]} ⇝ {lower[1]} ended" for upper, lower in found.solution.disassociated]
    return ", ".join([*inner, *ended])


def _release(forest: Forest, published: Forest) -> Step:
    safe = gcs(forest, replace(GUARANTEE, as_published=False))
    verdicts = [
        ("Figure 13, as published", verify(published, GUARANTEE).sentence),
        ("Figure 13, k = 3", verify(published, replace(GUARANTEE, k=3)).sentence),
        ("Figure 13, known of the original", verify(published, replace(GUARANTEE, as_published=False)).sentence),
        ("the default of gcs", verify(safe.forest, replace(GUARANTEE, as_published=False)).sentence),
    ]
    left = ", ".join(f"{lower[1]} below {upper[1]}" for upper, lower, *_ in safe.solution.left_out)
    words = (
        "A release is checked by code that shares nothing with the search. Figure 13 keeps 2^(2,1)-anonymity for what"
        " is known of the published trees. But a medicine that hangs beside a gastritis shows where it came from: for"
        f" what is known of the original, the one record is found. So by default {left} is left out instead of moved."
    )
    lines = [line for name, sentence in verdicts for line in (f"{name}:", f"  {sentence}")]
    lines += ["", f"record {_MOVED + 1} of the release", *_indented(safe.forest, _MOVED)]
    nodes = Record.of(safe.forest, _MOVED).nodes(safe.forest.classes)
    picture = Picture("released", f"Record {_MOVED + 1} as it is released", tree_svg(nodes, "Released record"))
    heads = ("release", "verdict")
    return Step("The release, verified", "Section II-C, Definition 1", words, lines, [picture], heads, verdicts)


def _texts(cut: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, nodes in cut.items():
        yield name, tuple(nodes)


def _labels(record: Iterable[list]) -> Iterator[Label]:  # type: ignore[type-arg]
    for name, value, below in record:
        yield name, value
        yield from _labels(below)


def _pairs(record: Iterable[list], above: tuple[Label, ...] = ()) -> Iterator[LabelPair]:  # type: ignore[type-arg]
    for name, value, below in record:
        yield from ((upper, (name, value)) for upper in above)
        yield from _pairs(below, (*above, (name, value)))


def _holders(forest: Forest) -> dict[tuple[Label, ...], list[int]]:
    """Return the records of every set of up to m labels that some record has."""
    held: dict[tuple[Label, ...], list[int]] = {}
    for number, record in enumerate(forest.records(), start=1):
        labels = sorted(set(_labels(record)), key=lambda label: forest.classes.label(*label))
        for size in range(1, GUARANTEE.m + 1):
            for chosen in combinations(labels, size):
                held.setdefault(chosen, []).append(number)
    return dict(sorted(held.items(), key=lambda found: len(found[0])))


def _relations(forest: Forest) -> dict[LabelPair, list[int]]:
    held: dict[LabelPair, list[int]] = {}
    for number, record in enumerate(forest.records(), start=1):
        for pair in dict.fromkeys(_pairs(record)):
            held.setdefault(pair, []).append(number)
    return held


def _set(labels: Iterable[Label]) -> str:
    return f"{{{', '.join(value for _, value in labels)}}}"


def _ids(records: Iterable[int]) -> str:
    return f"{{{', '.join(map(str, records))}}}"


TITLE = "The running example of the paper on k^(m,n)-anonymity"
SOURCE = (
    "O. Gkountouna, M. Terrovitis: Anonymizing collections of tree-structured data, IEEE TKDE 2015. The persons are"
    " invented; here k = 2, m = 2 and n = 1."
)

_WIDTH = 100
_COLOR = re.compile(r"--([\w-]+): ([^;]+);")


def paper_lines(steps: Sequence[Step]) -> Iterator[str]:
    """Yield the steps as lines of text."""
    yield TITLE
    yield from wrap(SOURCE, _WIDTH)
    for number, step in enumerate(steps, start=1):
        yield from ("", f"{number}. {step.title} ({step.section})", "")
        yield from wrap(step.words, _WIDTH)
        yield ""
        yield from (f"  {line}".rstrip() for line in step.lines)


def paper_page(steps: Sequence[Step]) -> str:
    """Return the steps as a page that loads nothing."""
    sections = [_section(number, step) for number, step in enumerate(steps, start=1)]
    links = el("ul", [el("li", el("a", one.title, href=f"#{one.key}")) for one in sections])
    inner = el(
        "div",
        el("header", el("h1", TITLE), el("p", SOURCE, class_="note")),
        el("nav", links, aria_label="Contents"),
        el("main", [one.element() for one in sections], id="content"),
        class_="paper",
    )
    body = el("body", inner, class_="public")
    return "<!DOCTYPE html>\n" + text_of(el("html", head(TITLE, "public"), body, lang="en")) + "\n"


def _section(number: int, step: Step) -> Section:
    content: list[Content] = [el("p", step.section, class_="note"), el("p", step.words)]
    if step.rows:
        content.append(table(step.title, step.heads, step.rows))
    sides = [el("div", el("h4", one.caption), el("div", one.drawing, class_="scroll")) for one in step.pictures]
    if sides:
        content.append(el("div", sides, class_="sides"))
    return Section(f"step-{number}", f"{number}. {step.title}", content)


def picture_file(picture: Picture) -> str:
    """Return a drawing as a file of its own, on a light ground, with the colors of pages."""
    light = style().split("@media", 1)[0]
    colors = dict(_COLOR.findall(light))
    rules = [line for line in style().splitlines() if line.startswith(".tree") and not line.startswith(".tree.wide")]
    css = re.sub(r"var\(--([\w-]+)\)", lambda found: colors[found[1]], "\n".join(rules))
    drawing: Element = picture.drawing
    drawing.set("xmlns", "http://www.w3.org/2000/svg")
    wide, high = drawing.get("width"), drawing.get("height")
    ground = el("rect", width=wide, height=high, style="fill: #fff; stroke: none")
    drawing.insert(0, ground)
    sheet = el("style")
    sheet.text = css + "\ntext { font-family: system-ui, sans-serif; }"
    drawing.insert(0, sheet)
    return text_of(drawing) + "\n"
