"""Drawings of records and hierarchies: boxes do not lie over each other, the cut goes where it is, much is folded."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest

from tests.support.strategies import properties
from treeanon.hierarchy import Hierarchy
from treeanon.previews.model import Node, NodeChange, RecordChange
from treeanon.reports.page.elements import Element, text_of
from treeanon.reports.page.hierarchies import DrawnHierarchy, hierarchy_svg, published_alone
from treeanon.reports.page.trees import HIGH, MAX_NODES, Box, place, record_svg

SVG = "svg"


def random_boxes(rnd: Random, depth: int = 0) -> list[Box]:
    count = rnd.randint(0 if depth else 1, 4 - depth)
    return [Box("x" * rnd.randint(0, 40), children=random_boxes(rnd, depth + 1)) for _ in range(count)]


def check_places(rnd: Random) -> None:
    placed = place(random_boxes(rnd))
    for i, one in enumerate(placed):
        for other in placed[:i]:
            apart = abs(one.y - other.y) >= HIGH or one.right < other.x or other.right < one.x
            assert apart, (one, other)
        if one.up is not None:
            assert one.x > one.up.right
            siblings = [other.y for other in placed if other.up is one.up]
            assert one.up.y == (min(siblings) + max(siblings)) / 2


test_boxes_do_not_touch, test_boxes_do_not_touch_of_many = properties(check_places, 50, 2000)


def nodes_of(drawing: Element, *css: str) -> list[str]:
    """The texts of the boxes of a drawing that have these classes."""
    boxes = [one for one in drawing.iter(SVG) if set(css) | {"node"} <= set((one.get("class") or "").split())]
    return ["|".join(text.text or "" for text in box.iter("text")) for box in boxes]


@pytest.fixture
def change() -> RecordChange:
    before = (
        Node(0, "hospital", "H1", (Node(1, "illness", "flu", (Node(2, "drug", "A"),)), Node(3, "illness", "cold"))),
        Node(4, "note", "secret"),
    )
    after = (Node(0, "hospital", "H1", (Node(1, "illness", "lung"),)), Node(2, "drug", "A"))
    fates = (
        NodeChange(0, 0),
        NodeChange(1, 1, frozenset({"generalized", "merged"})),
        NodeChange(2, 2, frozenset({"moved"}), 0),
        NodeChange(3, 1, frozenset({"generalized", "merged"})),
        NodeChange(4, None, frozenset({"dropped"})),
    )
    return RecordChange(0, before, after, fates, 0.4)


def test_what_became_of_nodes_has_signs(change: RecordChange) -> None:
    before, after = record_svg(change, "before"), record_svg(change, "after")
    assert nodes_of(before, "dropped") == ["note|secret|x"]
    assert nodes_of(before, "moved") == ["drug|A|>"]
    assert nodes_of(after, "generalized", "merged") == ["illness|lung|~="]
    assert nodes_of(after, "moved") == ["drug|A|>"]
    assert nodes_of(after) == ["hospital|H1", "illness|lung|~=", "drug|A|>"]


def test_moved_edges_are_drawn(change: RecordChange) -> None:
    edges = [[path.get("class") for path in record_svg(change, side).iter("path")] for side in ("before", "after")]
    assert edges[0].count("edge gone") == 2 and "edge from" not in edges[0]
    assert edges[1].count("edge moved") == 1 and edges[1].count("edge from") == 1 and edges[1].count("arrow") == 1


def test_drawings_have_titles(change: RecordChange) -> None:
    drawing = record_svg(change, "after")
    assert drawing.get("role") == "img" and drawing[0].tag == "title"
    assert drawing.get("aria-label") == drawing[0].text == "Published record: 3 values"


def test_a_record_that_is_left_out_is_drawn(change: RecordChange) -> None:
    gone = RecordChange(
        0, change.before, None, tuple(NodeChange(i, None, frozenset({"dropped"})) for i in range(5)), 1.0
    )
    assert nodes_of(record_svg(gone, "after")) == []
    assert len(nodes_of(record_svg(gone, "before"), "dropped")) == 5


def test_escapes_in_names_of_classes_have_room() -> None:
    named, plain = (place([Box("v", above=name)])[0].width for name in ("\x1b" * 4, "\\x1b" * 4))
    assert named == plain


def test_of_large_records_what_changed_is_drawn() -> None:
    many = tuple(Node(1 + i, "drug", f"d{i}") for i in range(10_000))
    record = (Node(0, "hospital", "H1", many),)
    fates = tuple(NodeChange(i, i, frozenset({"generalized"}) if i == 9_999 else frozenset()) for i in range(10_001))
    drawing = record_svg(RecordChange(0, record, record, fates, 0.0), "before")
    drawn = nodes_of(drawing)
    assert len(drawn) == MAX_NODES + 1 and "drug|d9998|~" in drawn and "… 9,941 more" in drawn
    assert "9,941 of them not drawn" in (drawing.get("aria-label") or "")


def lungs() -> Hierarchy:
    return Hierarchy.from_paths(
        [["flu", "lung", "any"], ["asthma", "lung", "any"], ["eczema", "skin", "any"], ["acne", "skin", "any"]]
    )


def drawn_of(hierarchy: Hierarchy, *published: str) -> Element:
    nodes = frozenset(hierarchy.code(text) for text in published)
    return hierarchy_svg(DrawnHierarchy("illness", hierarchy, nodes, dict.fromkeys(nodes, 5)))


def cut_of(drawing: Element) -> str:
    """The line of the cut: in which direction it goes from row to row."""
    (line,) = [path for path in drawing.iter("path") if path.get("class") == "cut"]
    return line.get("d") or ""


def test_the_cut_goes_behind_what_is_published() -> None:
    drawing = drawn_of(lungs(), "lung", "eczema", "acne")
    assert nodes_of(drawing, "published") == ["lung|5", "eczema|5", "acne|5"]
    assert nodes_of(drawing, "below") == ["2 values: flu, asthma"]
    columns = [float(x) for x in re.findall(r"H([0-9.]+)", cut_of(drawing))]
    assert len(columns) == 3 and columns[0] < columns[1] == columns[2]


def test_the_cut_goes_around_a_published_descendant() -> None:
    """With `lung` beside `flu`, asthma is published as lung."""
    drawing = drawn_of(lungs(), "lung", "flu", "skin")
    columns = [float(x) for x in re.findall(r"H([0-9.]+)", cut_of(drawing))]
    assert nodes_of(drawing, "below") == ["asthma", "2 values: eczema, acne"]
    assert columns[0] > columns[1] == columns[2]


def check_cut_of_random_hierarchies(rnd: Random) -> None:
    """Every value has its row before or behind the line, and nothing below a published node is drawn as published."""
    paths = [[f"{i}-{j}", f"group {i}", "any"] for i in range(rnd.randint(1, 12)) for j in range(rnd.randint(1, 12))]
    hierarchy = Hierarchy.from_paths(paths)
    published = {node for node in range(1, len(hierarchy)) if rnd.random() < 0.4} | {0}
    drawing = hierarchy_svg(DrawnHierarchy("x", hierarchy, frozenset(published), dict.fromkeys(published, 1)))
    texts = {text.split("|")[0] for text in nodes_of(drawing, "published")}
    assert texts <= {hierarchy.texts[node] for node in published}
    assert sum(1 for _ in drawing.iter(SVG)) < 200


test_random_cuts, test_random_cuts_of_many = properties(check_cut_of_random_hierarchies, 30, 1000)


@pytest.mark.parametrize("shape", ["flat", "deep", "wide"])
def test_large_hierarchies_are_folded(shape: str) -> None:
    size = 50_000
    parents = {
        "flat": np.zeros(size, np.int64),
        "deep": np.arange(size) // 2 * 2 - 2 + np.arange(size) % 2,
        "wide": np.where(np.arange(size) % 100 == 1, 0, np.arange(size) - (np.arange(size) - 1) % 100),
    }[shape]
    parents[0] = -1
    if shape == "deep":
        parents[1:] = np.minimum(np.arange(size - 1), 600)
    hierarchy = Hierarchy(tuple(f"v{i}" for i in range(size)), parents)
    leaves = frozenset(hierarchy.leaf_nodes.tolist())
    drawing = hierarchy_svg(DrawnHierarchy("x", hierarchy, leaves, dict.fromkeys(leaves, 7)))
    assert len(text_of(drawing)) < 60_000
    assert any("more published" in text or "published" in text for text in nodes_of(drawing, "more"))
    alone = published_alone("x", hierarchy, dict.fromkeys(leaves, 7))
    assert len(text_of(hierarchy_svg(alone, line=False))) < 60_000


def test_published_nodes_alone_name_no_others() -> None:
    alone = published_alone("illness", lungs(), {lungs().code("flu"): 5, lungs().code("skin"): 6})
    assert set(nodes_of(hierarchy_svg(alone, line=False))) == {"any illness", "flu|5", "skin|6"}


def test_a_value_named_like_the_root_is_itself() -> None:
    hierarchy = Hierarchy.flat(["any illness", "flu"])
    alone = published_alone("illness", hierarchy, {1: 5, 2: 5})
    assert alone.hierarchy.texts[1:] == ("any illness", "flu")
