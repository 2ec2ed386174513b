"""Edits of schema and hierarchies without a browser: values stay values, wrong edits are told, nothing is replaced."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html

import treeanon as ta
from tests.support.explorers import Served, editor_of, hospital, served
from treeanon.errors import TreeanonError, UsageError
from treeanon.explore import hand
from treeanon.explore.editor import Editor

WORST = "<img src=x onerror=alert(1)>"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return hospital(tmp_path / "place", 40)


def changed(tree: ta.Hierarchy, edit: tuple[str, int, int, str]) -> ta.Hierarchy:
    action, node, home, name = edit
    node, home = node % len(tree), home % len(tree)
    if action in ("moved", "merged"):
        return getattr(hand, action)(tree, node, home)  # type: ignore[no-any-return]
    if action == "dissolved":
        return hand.dissolved(tree, node)
    return getattr(hand, action)(tree, node, name)  # type: ignore[no-any-return]


ACTIONS = ("moved", "merged", "dissolved", "renamed", "grouped")
EDITS = st.tuples(st.sampled_from(ACTIONS), st.integers(0, 20), st.integers(0, 20), st.sampled_from("pqrs*"))


@settings(max_examples=60)
@given(st.lists(EDITS, max_size=12))
def test_values_stay_values_and_groups_have_some(edits: list[tuple[str, int, int, str]]) -> None:
    tree = ta.Hierarchy.from_paths([[f"v{i}", f"g{i // 2}", f"h{i // 4}", "*"] for i in range(8)])
    for edit in edits:
        try:
            after = changed(tree, edit)
        except UsageError:
            continue
        assert {after.texts[leaf] for leaf in after.leaf_nodes} == {f"v{i}" for i in range(8)}
        assert after.texts[0] == "*" and np.all(after.leaf_count > 0)
        tree = after


def test_the_one_that_moves_takes_all_below_along() -> None:
    tree = ta.Hierarchy.from_paths([["a", "g", "h", "*"], ["b", "g", "h", "*"], ["c", "i", "*"]])
    after = hand.moved(tree, tree.code("g"), tree.code("i"))
    # h has nothing left, and is gone.
    assert {after.texts[v]: after.texts[u] for v, u in enumerate(after.parent) if v} == {
        "i": "*", "g": "i", "a": "g", "b": "g", "c": "i",
    }  # fmt: skip
    with pytest.raises(UsageError):
        hand.moved(after, after.code("i"), after.code("g"))


NAMES = [
    "",
    "x",
    ".toml",
    "../x.toml",
    "/tmp/x.toml",
    "a/b.toml",
    "x.toml\n",
    "x.csv",
    "-.toml",
    "s3://b/x.toml",
    "é.toml",
]


@pytest.mark.parametrize("name", NAMES)
def test_files_are_new_ones_in_the_folder(name: str, place: Path) -> None:
    _, editor = editor_of(place)
    before = sorted(place.iterdir())
    with pytest.raises(UsageError):
        editor.save(name)
    assert sorted(place.iterdir()) == before


def test_nothing_is_replaced(place: Path) -> None:
    explored, editor = editor_of(place)
    editor.edit_by_hand(2, explored, lambda tree: hand.dissolved(tree, 1), 1)
    (place / "x-diagnosis.csv").write_text("kept")
    (place / "y.toml").symlink_to(place / "nowhere")
    for name in ("x.toml", "y.toml", "s.toml"):
        with pytest.raises(UsageError, match="exists already"):
            editor.save(name)
    assert (place / "x-diagnosis.csv").read_text() == "kept" and not (place / "x.toml").exists()
    assert not (place / "nowhere").exists()


def test_wrong_edits_leave_the_draft_as_it_is(place: Path) -> None:
    explored, editor = editor_of(place)
    given = editor.draft
    for wrong in (
        lambda: editor.set_role(0, "king"),
        lambda: editor.set_role(9, "keep"),
        lambda: editor.set_levels(0, "intervals", "5", {}),
        lambda: editor.set_levels(0, "groups", "few", {}),
        lambda: editor.set_levels(0, "groups", "1", {}),
        lambda: editor.set_levels(0, "prefix", "1, 3", {}),
        lambda: editor.edit_by_hand(0, explored, lambda tree: tree, 99),
    ):
        with pytest.raises(TreeanonError):
            wrong()
        assert editor.draft is given and editor.revision == 0 and not editor.can_undo


def ask(explorer: Served, **fields: str) -> dict[str, str]:
    status, text = explorer.post("edit", fields)
    assert status == 200
    return json.loads(text)  # type: ignore[no-any-return]


def test_the_page_of_the_editor(place: Path) -> None:
    explored, editor = editor_of(place)
    with served(explored, editor=editor) as explorer:
        fields = {"class": "2", "node": "1", "action": "rename", "name": WORST, "revision": "0"}
        shown = ask(explorer, **fields)["editor"]
        assert "<img" not in shown and WORST in html.fromstring(shown).text_content()
        # Another window that does not know of it cannot edit.
        assert "another window" in ask(explorer, **{**fields, "name": "x"})["editor"] and editor.revision == 1
        assert ask(explorer, action="dance", revision="1") == {"problem": "unknown action"}
        assert ask(explorer, action="role", role="drop", revision="1", **{"class": "2"})["reload"] is False
        assert ask(explorer, action="apply", revision="2")["reload"] is True
        assert "diagnosis" not in explorer.session.explored.of_role("quasi")
        assert explorer.look({"k": "3", "algorithm": "gcs"})["status"].startswith("Value loss")
        assert explorer.post("command", {"k": "3"})[0] == 422
        assert explorer.post("pin", {"k": "3", "algorithm": "gcs"})[1].count("edited (1)") == 1
        assert "Wait for the result" in explorer.post("pin", {"k": "7"})[1]
        explorer.session.last = None
    with served(explored) as explorer:
        # What was read from standard input has no editor.
        assert explorer.post("edit")[0] == 404 and "give the input as a file" in explorer.ask()[2]


def test_widths_of_what_is_by_hand(place: Path) -> None:
    explored, editor = editor_of(place)
    editor.edit_by_hand(2, explored, lambda tree: hand.dissolved(tree, 1), 1)
    editor.set_levels(2, "groups", "3", {})
    assert isinstance(editor.hierarchy(editor.draft.schema.classes[2], explored), str)
    found = editor.apply()
    tree = Editor.hierarchy(editor, editor.draft.schema.classes[2], found)
    assert isinstance(tree, ta.Hierarchy) and "CANARY-kind 0" not in tree.texts and tree.height == 2
