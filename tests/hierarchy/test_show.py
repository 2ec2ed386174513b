from __future__ import annotations

from hypothesis import given

from tests.support.hierarchy_strategies import hierarchies
from treeanon.hierarchy import Hierarchy, render


def test_a_tree_in_box_characters():
    h = Hierarchy.from_paths([["a", "A", "*"], ["b", "A", "*"], ["c", "B", "*"]])
    assert render(h).splitlines() == ["*", "├── A", "│   ├── a", "│   └── b", "└── B", "    └── c"]
    assert render(h, max_depth=1).splitlines() == ["*", "├── A (... and 2 more)", "└── B (... and 1 more)"]
    assert render(h, max_depth=0) == "* (... and 5 more)"
    assert render(Hierarchy.flat(map(str, range(15))), max_children=3).endswith("└── ... and 12 more")


@given(hierarchies())
def test_one_printable_line_per_node(h):
    lines = render(h).split("\n")
    assert len(lines) == len(h)
    assert all(line.isprintable() for line in lines)


def test_a_text_cannot_steer_the_terminal():
    shown = render(Hierarchy.flat(["\x1b[2J", "a\u202eb"]))
    assert all(line.isprintable() for line in shown.split("\n"))
    assert "\\x1b[2J" in shown and "\\u202e" in shown


def test_a_deep_tree_needs_no_recursion():
    assert render(Hierarchy.from_parents({str(i): str(i + 1) for i in range(2_000)})).count("\n") == 2_000
