"""What the page asks of the editor: one function that does it, and returns the editor anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from treeanon.errors import TreeanonError, UsageError
from treeanon.explore import hand
from treeanon.explore.editor import Editor
from treeanon.explore.editor_page import editor_html
from treeanon.explore.session import Session
from treeanon.hierarchy import Hierarchy

STALE = "The schema was edited in another window; this is how it is now."

_HAND: Mapping[str, Callable[[Mapping[str, str]], Callable[[Hierarchy, int], Hierarchy]]] = {
    "move": lambda fields: lambda tree, node: hand.moved(tree, node, _int(fields, "to")),
    "merge": lambda fields: lambda tree, node: hand.merged(tree, node, _int(fields, "to")),
    "rename": lambda fields: lambda tree, node: hand.renamed(tree, node, fields.get("name", "")),
    "group": lambda fields: lambda tree, node: hand.grouped(tree, node, fields.get("name", "")),
    "dissolve": lambda fields: lambda tree, node: hand.dissolved(tree, node),
}


def edited(editor: Editor, session: Session, fields: Mapping[str, str]) -> dict[str, str | bool]:
    """Do what the fields say; return the editor's HTML and whether the page has to be loaded anew, or what is wrong."""
    with editor.lock:
        at, node, note, applied = _int(fields, "class"), _int(fields, "node"), "", False
        action = fields.get("action", "show")
        if action != "show" and fields.get("revision") != str(editor.revision):
            return {"editor": editor_html(editor, session.explored, at, problem=STALE), "reload": False}
        try:
            if action in _HAND:
                node = _by_hand(editor, session, action, at, node, fields)
            elif action == "apply":
                session.explore(editor.apply())
                applied = True
            else:
                note = _others(editor, action, at, fields)
        except TreeanonError as wrong:
            # What was typed stays, to be corrected.
            return {"problem": str(wrong)}
        shown = editor_html(editor, session.explored, at, node, note)
        return {"editor": shown, "reload": applied}


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
    elif action == "levels":
        bounds = {name: fields[name] for name in ("min", "max") if name in fields}
        editor.set_levels(at, fields.get("kind", ""), fields.get("levels", ""), bounds)
    elif action == "undo":
        editor.undo()
    elif action == "save":
        return f"Saved: {', '.join(editor.save(fields.get('file', '')))}"
    elif action != "show":
        raise UsageError("unknown action")
    return ""


def _int(fields: Mapping[str, str], name: str) -> int:
    text = fields.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0
