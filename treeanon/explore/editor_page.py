"""The editor of schema and hierarchies as HTML. Values and names are text; nodes are referred to by number.

Also what the page asks of the editor: one function that does it, and returns the editor anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from treeanon.errors import TreeanonError, UsageError
from treeanon.explore import hand
from treeanon.explore.editor import Editor
from treeanon.explore.fields import FILE, KEY, RULE, WrongFields, class_keys, field, fields_of, rules_for
from treeanon.explore.session import Session
from treeanon.explore.settings import ExploredData
from treeanon.hierarchy import Hierarchy
from treeanon.reports.page.elements import Content, Element, el, text_of
from treeanon.schema.model import ROLES

_NOTHING: Mapping[str, str] = {}


def editor_html(
    editor: Editor,
    explored: ExploredData,
    at: int = 0,
    node: int = 0,
    typed: Mapping[str, str] = _NOTHING,
    wrong: Mapping[str, str] = _NOTHING,
) -> str:
    """Return the editor with a class and one of its nodes selected, what was typed, and what is wrong with it."""
    classes = editor.draft.schema.classes
    at = at if 0 <= at < len(classes) else 0
    found = editor.hierarchy(classes[at], explored)
    state = el(
        "div",
        el("div", _class(editor, at), _role(classes[at].role, typed, wrong), class_="edit-row"),
        _keys(editor, at, typed, wrong),
        _rule(editor, at, typed, wrong),
        el("p", found, class_="hint")
        if isinstance(found, str)
        else _by_hand(found, node, classes[at].name, typed, wrong),
        _finish(editor, typed, wrong),
        id="edit-state",
        data_revision=str(editor.revision),
        data_class=str(at),
    )
    return text_of(state)


def _class(editor: Editor, at: int) -> Element:
    names = {str(index): spec.name for index, spec in enumerate(editor.draft.schema.classes)}
    return field("class", "Class", str(at), choices=names, does="show")


def _role(role: str, typed: Mapping[str, str], wrong: Mapping[str, str]) -> Element:
    now = typed.get("role", role)
    return field("role", "Role", now, _ROLES[role], wrong.get("role", ""), dict(zip(ROLES, ROLES, strict=True)),
                 does="role")  # fmt: skip


_ROLES = {
    "quasi": "Others may know it: it is generalized.",
    "sensitive": "Nobody may learn it: it is published as it is, and protected by l.",
    "identifier": "It names a person: it is never published.",
    "keep": "Published as it is. You declare it safe.",
    "drop": "Left out.",
}


def _keys(editor: Editor, at: int, typed: Mapping[str, str], wrong: Mapping[str, str]) -> Element:
    """Return the fields of other keys of the class, folded."""
    table = editor.keys(at)
    return el(
        "details",
        el("summary", "Type and other keys of the class"),
        el("div", fields_of(KEY, class_keys(table), table, typed, wrong), class_="edit-row"),
        el("button", "Set", type="button", id="edit-keys", data_do="keys"),
        id="edit-more",
        open="open" if any(name.startswith(KEY) for name in wrong) else None,
        class_="plain",
    )


def _rule(editor: Editor, at: int, typed: Mapping[str, str], wrong: Mapping[str, str]) -> Element:
    """Return the rule of the hierarchy, and the fields of its keys."""
    own, rules = editor.rule(at), rules_for(editor.draft.schema.classes[at].type)
    kind = typed.get("rule", own)
    names = {name: one.title for name, one in rules.items()}
    source = editor.keys(at).get("hierarchy", {})
    values = {} if kind != own else {FILE.name: source} if isinstance(source, str) else source
    chosen = rules.get(kind)
    parts: list[Content] = [
        field("rule", "Rule", kind, "" if chosen is None else chosen.help, wrong.get("rule", ""),
              names if own else {"": "made by hand", **names}, does="show"),
    ]  # fmt: skip
    if chosen is not None:
        parts += fields_of(RULE, chosen.parameters, values, typed, wrong)
    return el(
        "fieldset",
        el("legend", "Hierarchy by rule"),
        el("div", parts, class_="edit-row"),
        None if chosen is None else el("button", "Set rule", type="button", id="edit-set", data_do="rule"),
    )


def _by_hand(hierarchy: Hierarchy, node: int, name: str, typed: Mapping[str, str], wrong: Mapping[str, str]) -> Element:
    """Return the tree, and the menu for the selected node."""
    node = node if 0 < node < len(hierarchy) else 0
    return el(
        "fieldset",
        el("legend", "Hierarchy by hand"),
        el("p", "Select with the arrow keys or a click. Drag a value or a group onto a group, or use the menu.",
           class_="hint"),
        el("div", el("ul", _branch(hierarchy, node), role="tree", aria_label=f"Hierarchy of {name}", id="edit-tree"),
           class_="edit-tree"),
        el("div", _menu(hierarchy, node, typed, wrong), class_="edit-row") if node else None,
    )  # fmt: skip


def _branch(hierarchy: Hierarchy, selected: int) -> Element:
    """Return the nested lists of all nodes; parents come before children, so no recursion is needed."""
    lists: dict[int, Element] = {}
    top: Element | None = None
    for code, text in enumerate(hierarchy.texts):
        group = hand.is_group(hierarchy, code)
        item = el(
            "span", text, role="treeitem", tabindex="0" if code == selected else "-1",
            aria_selected="true" if code == selected else "false", aria_level=str(int(hierarchy.depth[code]) + 1),
            data_node=str(code), data_group="yes" if group else None,
        )  # fmt: skip
        line = el("li", item, role="none")
        if group:
            lists[code] = el("ul", role="group")
            line.append(lists[code])
        if code:
            lists[int(hierarchy.parent[code])].append(line)
        else:
            top = line
    assert top is not None
    return top


def _menu(hierarchy: Hierarchy, node: int, typed: Mapping[str, str], wrong: Mapping[str, str]) -> Sequence[Content]:
    group = hand.is_group(hierarchy, node)
    homes = hand.homes(hierarchy, node)
    others = [one for one in homes if one]
    if group and (parent := int(hierarchy.parent[node])):
        others = sorted([*others, parent])
    return [
        _choice("move", "Move to", hierarchy, homes),
        _choice("merge", "Merge into", hierarchy, others) if group else None,
        field("name", "Name of a group", typed.get("name", ""), problem=wrong.get("name", "")),
        el("button", "New group", type="button", id="edit-group", data_do="group"),
        el("button", "Rename", type="button", id="edit-rename", data_do="rename") if group else None,
        el("button", "Dissolve", type="button", id="edit-dissolve", data_do="dissolve") if group else None,
    ]


def _choice(action: str, title: str, hierarchy: Hierarchy, homes: Sequence[int]) -> Element | None:
    if not homes:
        return None
    options = [el("option", hierarchy.texts[one], value=str(one)) for one in homes]
    return el(
        "p",
        el("label", title, for_=f"edit-{action}-to"),
        el("select", options, id=f"edit-{action}-to"),
        el("button", title.split()[0], type="button", id=f"edit-{action}", data_do=action),
    )


def _finish(editor: Editor, typed: Mapping[str, str], wrong: Mapping[str, str]) -> Element:
    undo = None if editor.can_undo else "disabled"
    pending = None if editor.pending else "disabled"
    return el(
        "div",
        el("div", el("button", "Undo", type="button", id="edit-undo", data_do="undo", disabled=undo),
           el("button", "Apply to the sample", type="button", id="edit-apply", data_do="apply", disabled=pending),
           class_="edit-row edit-plain"),
        el("div", field("file", "Save as", typed.get("file", "edited.toml"), "", wrong.get("file", "")),
           el("button", "Save", type="button", id="edit-save", data_do="save"), class_="edit-row"),
        el("p", _SAVING, class_="hint"),
    )  # fmt: skip


_SAVING = (
    "Saved are a schema, and a file for each hierarchy made by hand: new files, readable by you alone, in the folder in"
    " which the explorer was started. Hierarchies show values. Comments of the schema and its [release] are not saved."
)


_FIELDS = {"rename": "name", "group": "name"}
"""The fields that what is wrong with an edit by hand belongs to."""

MARKED = "Nothing was changed: see what is marked."
CHANGED = "Changed. The results follow when it is applied to the sample."
STALE = "The schema was edited in another window; this is how it is now."

_HAND: Mapping[str, Callable[[Mapping[str, str]], Callable[[Hierarchy, int], Hierarchy]]] = {
    "move": lambda fields: lambda tree, node: hand.moved(tree, node, _int(fields, "to")),
    "merge": lambda fields: lambda tree, node: hand.merged(tree, node, _int(fields, "to")),
    "rename": lambda fields: lambda tree, node: hand.renamed(tree, node, fields.get("name", "")),
    "group": lambda fields: lambda tree, node: hand.grouped(tree, node, fields.get("name", "")),
    "dissolve": lambda fields: lambda tree, node: hand.dissolved(tree, node),
}


def edited(editor: Editor, session: Session, fields: Mapping[str, str]) -> dict[str, str | bool]:
    """Do what the fields say; return the editor's HTML, what is to be told, and whether the page must be loaded anew.

    What was typed stays where it may be wanted yet: where it is wrong, to be corrected, and beside other edits.
    """
    with editor.lock:
        at, node, note, applied = _int(fields, "class"), _int(fields, "node"), "", False
        action = fields.get("action", "show")
        typed = fields if fields.get("shown") == str(at) else {}
        wrong: dict[str, str] = {}
        try:
            if action != "show" and fields.get("revision") != str(editor.revision):
                raise UsageError(STALE)
            if action in _HAND:
                node, note = _edited_by_hand(editor, session, action, at, node, fields), CHANGED
                typed = _without(typed, "name")
            elif action == "apply":
                session.explore(editor.apply())
                applied, note = True, "The input was read by the edited schema; all results are by it now."
            else:
                note = _others(editor, action, at, fields)
                typed = typed if action in ("show", "save") else _without(typed, KEY, RULE, "rule", "role")
        except WrongFields as problem:
            wrong, note = problem.problems, MARKED
        except TreeanonError as problem:
            stale = str(problem) == STALE
            # The page has no such option, and shows no values that could not be read.
            words = str(problem).replace(" (--show-values lists them)", "")
            wrong = {"" if stale else _FIELDS.get(action, ""): words}
            note, typed = MARKED, {} if stale else typed
        typed = {**typed, "file": fields.get("file", "edited.toml")}
        shown = editor_html(editor, session.explored, at, node, typed, wrong)
        unseen = [words for name, words in wrong.items() if f'id="edit-{name}"' not in shown]
        note = "\n".join(unseen) or note
        return {"editor": shown, "note": note, "wrong": bool(wrong), "reload": applied}


def _without(typed: Mapping[str, str], *starts: str) -> dict[str, str]:
    return {name: text for name, text in typed.items() if not name.startswith(starts)}


def _edited_by_hand(
    editor: Editor, session: Session, action: str, at: int, node: int, fields: Mapping[str, str]
) -> int:
    change = _HAND[action](fields)
    found = editor.edit_by_hand(at, session.explored, partial(_changed, change, node), node)
    if not found and action in ("rename", "merge"):
        # The node has another text now, or is in another.
        tree = editor.hierarchy(editor.draft.schema.classes[at], session.explored)
        found = (not isinstance(tree, str) and action == "rename" and tree.find(fields.get("name", "").strip())) or 0
    return found


def _changed(change: Callable[[Hierarchy, int], Hierarchy], node: int, tree: Hierarchy) -> Hierarchy:
    return change(tree, node)


def _others(editor: Editor, action: str, at: int, fields: Mapping[str, str]) -> str:
    if action == "role":
        editor.set_role(at, fields.get("role", ""))
    elif action == "keys":
        editor.set_keys(at, fields)
    elif action == "rule":
        editor.set_rule(at, fields.get("rule", ""), fields)
    elif action == "undo":
        editor.undo()
        return "Taken back."
    elif action == "save":
        return f"Saved: {', '.join(editor.save(fields.get('file', '')))}"
    elif action != "show":
        raise UsageError("unknown action")
    return "" if action == "show" else CHANGED


def _int(fields: Mapping[str, str], name: str) -> int:
    text = fields.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0
