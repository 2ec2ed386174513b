"""What the page asks of the editor: one function that does it, and returns the editor anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from treeanon.errors import TreeanonError, UsageError
from treeanon.explore import hand
from treeanon.explore.editor import Editor
from treeanon.explore.editor_page import editor_html
from treeanon.explore.fields import KEY, RULE, WrongFields
from treeanon.explore.session import Session
from treeanon.hierarchy import Hierarchy

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
                node, note = _by_hand(editor, session, action, at, node, fields), CHANGED
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


def _by_hand(editor: Editor, session: Session, action: str, at: int, node: int, fields: Mapping[str, str]) -> int:
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
