"""Edits of schema and hierarchies without a browser: values stay values, wrong edits are told, nothing is replaced."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

import treeanon as ta
from tests.support.explorers import Served, editor_of, hospital, served
from tests.support.paths import ROOT
from tests.support.profiles import few
from treeanon.errors import TreeanonError, UsageError
from treeanon.explore import hand
from treeanon.explore.editor import Editor
from treeanon.explore.editor_page import edited, editor_html
from treeanon.explore.fields import KEY, RULE, WrongFields, class_keys, rules_for

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


@few(30, 60)
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
        lambda: editor.set_rule(0, "intervals", {"rule-intervals": "5"}),
        lambda: editor.set_rule(0, "groups", {"rule-groups": "few"}),
        lambda: editor.set_rule(0, "groups", {"rule-groups": "1"}),
        lambda: editor.set_rule(0, "prefix", {"rule-prefix": "1, 3"}),
        lambda: editor.set_keys(0, {"key-type": "king"}),
        lambda: editor.edit_by_hand(0, explored, lambda tree: tree, 99),
    ):
        with pytest.raises(TreeanonError):
            wrong()
        assert editor.draft is given and editor.revision == 0 and not editor.can_undo


def test_what_is_wrong_stands_at_its_field(place: Path) -> None:
    _, editor = editor_of(place)
    editor.set_keys(0, {"key-type": "integer"})

    def wrong(kind: str, **typed: str) -> dict[str, str]:
        with pytest.raises(WrongFields) as caught:
            editor.set_rule(0, kind, {RULE + name: text for name, text in typed.items()})
        return caught.value.problems

    assert wrong("intervals", intervals="few", min="1", max="low") == {
        "rule-intervals": "must be numbers, separated by commas",
        "rule-max": "must be a number",
    }
    assert wrong("intervals", intervals="5, 12") == {
        "rule-intervals": "each width must be a multiple of the one before"
    }
    assert wrong("intervals", intervals="5", min="9", max="3") == {"rule-max": "must not be less than min"}
    assert wrong("groups") == {"rule-groups": "is missing: a whole number from 2"}
    assert "must be one of" in wrong("dates", dates="noon")["rule"]
    (found,) = wrong("file", file="none.csv").values()
    assert "none.csv: cannot be read" in found
    editor.set_keys(0, {"key-type": "date"})
    assert wrong("ages", ages="5, 10") == {"rule-on": "is missing: a day such as 2024-01-31"}
    assert wrong("ages", ages="5", on="2024-02-31") == {"rule-on": 'must be a day in quotes, such as "2024-01-31"'}
    with pytest.raises(WrongFields) as caught:
        editor.set_keys(0, {"key-type": "date", "key-min_level": "-1", "key-max_span": "wide"})
    assert caught.value.problems == {
        "key-min_level": "must be a whole number from 0",
        "key-max_span": "must be a number",
    }
    with pytest.raises(WrongFields) as caught:
        editor.set_keys(0, {"key-type": "text", "key-shift": "person"})
    assert [*caught.value.problems] == ["key-shift"]


@pytest.mark.parametrize("file", ["pipe", "/dev/zero", ".", "a\0b", "none.csv", "../../../../etc/shadow.csv"])
def test_files_that_never_end_or_are_none_are_refused(file: str, place: Path) -> None:
    os.mkfifo(place / "pipe")
    _, editor = editor_of(place)
    given = editor.draft
    keys = {"file": "file", "icd10": "names", "prefix": "population", "terminology": "terminology"}
    for kind, key in keys.items():
        own = {"icd10": "cm", "prefix": "3"}.get(kind, "")
        with pytest.raises(WrongFields) as caught:
            editor.set_rule(0, kind, {RULE + kind: own, RULE + key: file})
        assert [*caught.value.problems] == [RULE + key] and editor.draft is given


def test_other_keys_of_a_class_are_kept_and_changed(place: Path) -> None:
    with (place / "s.toml").open("a") as schema:
        schema.write(
            '[[class]]\nname = "born"\npath = "visits[].born"\ntype = "date"\nweight = 2\n'
            'shift = "person"\non_unknown = "suppress"\nhierarchy = { dates = ["year"] }\n'
            '[[class]]\nname = "ward"\npath = "visits[].ward.code"\nfacets = { name = "…ward.name" }\n'
        )
    _, editor = editor_of(place)
    editor.set_role(4, "keep")
    assert editor.keys(4)["facets"] == {"name": "visits[].ward.name"} and editor.keys(4)["role"] == "keep"
    editor.set_keys(4, {"key-type": "text", "key-facets": "name=visits[].ward.name, other=…ward.other"})
    assert editor.keys(4)["facets"] == {"name": "visits[].ward.name", "other": "visits[].ward.other"}
    before = editor.keys(3)
    shown = {KEY + one.name: one.text_of(before.get(one.name, one.default)) for one in class_keys(before)}
    editor.set_keys(3, shown)
    assert editor.keys(3) == before and before["shift"] == "person" and before["weight"] == 2
    editor.set_keys(3, {**shown, "key-shift": "", "key-weight": "1"})
    assert {"shift", "weight"} & {*editor.keys(3)} == set() and editor.keys(3)["on_unknown"] == "suppress"
    # A rule that is not for the new type is gone with the old one.
    editor.set_keys(3, {"key-type": "integer"})
    assert editor.rule(3) == "flat" and editor.keys(3)["type"] == "integer"


BY_RULE = [
    ("text", {"prefix": [3, 1], "leaves": False}),
    ("text", {"prefix": [3], "population": "zips.csv"}),
    ("text", {"groups": 4}),
    ("text", {"flat": True}),
    ("text", {"icd10": True, "names": "names.csv"}),
    ("text", {"icd10": "cm"}),
    ("text", {"atc": True}),
    ("text", {"terminology": "names.csv", "system": "urn:s"}),
    ("text", "hospital.csv"),
    ("integer", {"intervals": [5, 10], "min": 0, "max": 120, "min_open": 18, "max_open": 90}),
    ("number", {"intervals": [0.5, 1.0], "max": 9.5}),
    ("date", {"dates": ["month", "year"], "leaves": False}),
    ("date", {"ages": [5, 10], "on": "2024-01-01", "top": 90, "leaves": False}),
]


@pytest.mark.parametrize(
    ("value_type", "source"), BY_RULE, ids=lambda one: "-".join(one) if isinstance(one, dict) else ""
)
def test_every_key_of_every_rule_is_a_field(value_type: str, source: dict[str, object] | str, place: Path) -> None:
    (place / "names.csv").write_text("code,parent,name,system\nJ18,,Pneumonia,urn:s\nJ18.9,J18,,urn:s\n")
    (place / "zips.csv").write_text("code,parent,name,population,system\n12101,,,20001,urn:s\n")
    explored, editor = editor_of(place)
    editor.set_keys(0, {"key-type": value_type, "key-on_unknown": "error"})
    table = {"file": source} if isinstance(source, str) else source
    kind = next(iter(table))
    declared = rules_for(value_type)[kind].parameters
    fields = [one for one in declared if one.name in table and not (one.kind == "flag" and one.required)]
    typed = {RULE + one.name: one.text_of(table[one.name]) for one in fields}
    editor.set_rule(0, kind, typed)
    assert editor.rule(0) == kind
    found = editor.keys(0)["hierarchy"]
    assert found == ({**table, "icd10": "who"} if table.get("icd10") is True else source)
    # What the page shows of it means the same again, and the saved file has it.
    shown = html.fromstring(editor_html(editor, explored, 0))
    again = {one.get("name"): one.get("value") for one in shown.iter("input")}
    again |= {one.get("name"): one.xpath("string(option[@selected]/@value)") for one in shown.iter("select")}
    assert again["rule"] == kind and typed.items() <= again.items()
    editor.set_rule(0, kind, again)
    assert editor.keys(0)["hierarchy"] == found
    editor.save("x.toml")
    assert ta.Schema.load(place / "x.toml").classes[0].hierarchy_source == found


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
        assert "another window" in ask(explorer, **{**fields, "name": "x"})["note"] and editor.revision == 1
        assert ask(explorer, action="dance", revision="1")["note"] == "unknown action"
        wrong = {"rule": "groups", "rule-groups": WORST, "shown": "2", "class": "2"}
        found = ask(explorer, action="rule", revision="1", **wrong)
        field = html.fromstring(found["editor"]).get_element_by_id("edit-rule-groups")
        # What was typed stays, marked, and what is wrong is read out with it.
        assert found["wrong"] is True and field.get("value") == WORST and field.get("aria-invalid") == "true"
        assert "edit-rule-groups-wrong" in field.get("aria-describedby") and "<img" not in found["editor"]
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
    editor.set_rule(2, "groups", {"rule-groups": "3"})
    assert isinstance(editor.hierarchy(editor.draft.schema.classes[2], explored), str)
    found = editor.apply()
    tree = Editor.hierarchy(editor, editor.draft.schema.classes[2], found)
    assert isinstance(tree, ta.Hierarchy) and "CANARY-kind 0" not in tree.texts and tree.height == 2


def test_levels_without_values_are_not_edited_by_hand(place: Path) -> None:
    explored, editor = editor_of(place)
    editor.set_rule(2, "prefix", {"rule-prefix": "8", "rule-leaves": "false"})
    explored = editor.apply()
    assert "cannot hold" in str(editor.hierarchy(editor.draft.schema.classes[2], explored))
    # What the input holds and the rule does not know is told without a value, and without options of commands.
    editor.set_rule(2, "icd10", {"rule-icd10": "cm"})
    session: Any = SimpleNamespace(explored=explored, explore=lambda found: pytest.fail("it was read"))
    note = str(edited(editor, session, {"action": "apply", "class": "2", "revision": str(editor.revision)})["note"])
    assert "does not know" in note and "CANARY" not in note and "--" not in note


@pytest.mark.parametrize("name", ["hospital-xml", "clinic"])
def test_what_is_set_as_it_is_shown_changes_nothing(name: str) -> None:
    schema = ta.Schema.load(ROOT / f"schemas/{name}.toml")
    editor = Editor(schema, lambda by: pytest.fail("read"), Path())
    for at in range(2, 6):
        before, kind = editor.keys(at), editor.rule(at)
        editor.set_keys(
            at, {KEY + one.name: one.text_of(before.get(one.name, one.default)) for one in class_keys(before)}
        )
        source = before.get("hierarchy", {"flat": True})
        values = {"file": source} if isinstance(source, str) else source
        rule = rules_for(before.get("type", "text"))[kind].parameters
        editor.set_rule(at, kind, {RULE + one.name: one.text_of(values.get(one.name, one.default)) for one in rule})
        assert editor.keys(at) == {**before, "hierarchy": source}
    assert editor.draft.schema.classes == schema.classes and editor.draft.schema.input == schema.input
