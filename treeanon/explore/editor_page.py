"""The editor of schema and hierarchies as HTML. Values and names are text; nodes are referred to by number."""

from __future__ import annotations

from collections.abc import Sequence

from treeanon.explore import hand
from treeanon.explore.editor import KINDS, Editor
from treeanon.explore.settings import ExploredData
from treeanon.hierarchy import Hierarchy
from treeanon.reports.page.elements import Content, Element, el, text_of
from treeanon.schema import ClassSpec
from treeanon.schema.model import ROLES

_AS_IT_IS = "as it is"


def editor_html(
    editor: Editor, explored: ExploredData, at: int = 0, node: int = 0, note: str = "", problem: str = ""
) -> str:
    """Return the editor with a class and one of its nodes selected."""
    classes = editor.draft.schema.classes
    at = at if 0 <= at < len(classes) else 0
    spec = classes[at]
    found = editor.hierarchy(spec, explored)
    state = el(
        "div",
        el("div", _class(editor, at), _role(spec), class_="edit-row"),
        _builder(spec, made_by_hand=spec.name in editor.draft.own),
        el("p", found, class_="hint") if isinstance(found, str) else _by_hand(found, node, spec.name),
        el("p", problem or note, class_="problem" if problem else "hint", role="status", id="edit-note"),
        _finish(editor),
        id="edit-state",
        data_revision=str(editor.revision),
    )
    return text_of(state)


def _class(editor: Editor, at: int) -> Element:
    options = [
        el("option", spec.name, value=str(index), selected="selected" if index == at else None)
        for index, spec in enumerate(editor.draft.schema.classes)
    ]
    return el("p", el("label", "class", for_="edit-class"), el("select", options, id="edit-class", data_do="show"))


def _role(spec: ClassSpec) -> Element:
    options = [el("option", role, value=role, selected="selected" if role == spec.role else None) for role in ROLES]
    return el("p", el("label", "role", for_="edit-role"), el("select", options, id="edit-role", data_do="role"))


def _builder(spec: ClassSpec, *, made_by_hand: bool) -> Element:
    """Return the fields of the builder: its kind, its widths or levels, and the bounds of intervals."""
    source = spec.hierarchy_source if isinstance(spec.hierarchy_source, dict) else {}
    now = next((kind for kind in KINDS[spec.type] if kind in source), "")
    given = source.get(now)
    levels = ", ".join(map(str, given)) if isinstance(given, list) else "" if given in (None, True) else str(given)
    what = "made by hand" if made_by_hand else "from a file" if isinstance(spec.hierarchy_source, str) else _AS_IT_IS
    options = [
        *([] if now else [el("option", what, value="", selected="selected")]),
        *(el("option", kind, value=kind, selected="selected" if kind == now else None) for kind in KINDS[spec.type]),
    ]
    return el(
        "fieldset",
        el("legend", "Hierarchy by rule"),
        el(
            "div",
            el("p", el("label", "rule", for_="edit-kind"), el("select", options, id="edit-kind")),
            _text("edit-levels", "widths or levels", levels),
            [_text(f"edit-{name}", name, str(source.get(name, ""))) for name in ("min", "max")]
            if "intervals" in KINDS[spec.type]
            else None,
            el("button", "Set", type="button", id="edit-set", data_do="levels"),
            class_="edit-row",
        ),
        el("p", _EXAMPLES[spec.type], class_="hint"),
    )


_EXAMPLES = {
    "text": "groups: values in a group, such as 5; prefix: characters kept, such as 3, 1.",
    "integer": "intervals: widths, such as 5, 10, 20; groups: values in a group, such as 5.",
    "number": "intervals: widths, such as 0.5, 1, 10; groups: values in a group, such as 5.",
    "date": "dates: month, quarter, year, decade.",
}


def _text(name: str, title: str, value: str) -> Element:
    return el("p", el("label", title, for_=name), el("input", type="text", id=name, value=value, autocomplete="off"))


def _by_hand(hierarchy: Hierarchy, node: int, name: str) -> Element:
    """Return the tree, and the menu for the selected node."""
    node = node if 0 < node < len(hierarchy) else 0
    return el(
        "fieldset",
        el("legend", "Hierarchy by hand"),
        el("p", "Select with the arrow keys or a click. Drag a value or a group onto a group, or use the menu.",
           class_="hint"),
        el("div", el("ul", _branch(hierarchy, node), role="tree", aria_label=f"Hierarchy of {name}", id="edit-tree"),
           class_="edit-tree"),
        el("div", _menu(hierarchy, node), class_="edit-row") if node else None,
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


def _menu(hierarchy: Hierarchy, node: int) -> Sequence[Content]:
    group = hand.is_group(hierarchy, node)
    homes = hand.homes(hierarchy, node)
    others = [one for one in homes if one]
    if group and (parent := int(hierarchy.parent[node])):
        others = sorted([*others, parent])
    return [
        _choice("move", "Move to", hierarchy, homes),
        _choice("merge", "Merge into", hierarchy, others) if group else None,
        _text("edit-name", "name of a group", ""),
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


def _finish(editor: Editor) -> Element:
    off = None if editor.pending else "disabled"
    return el(
        "div",
        el("button", "Undo", type="button", id="edit-undo", data_do="undo",
           disabled=None if editor.can_undo else "disabled"),
        el("button", "Apply to the sample", type="button", id="edit-apply", data_do="apply", disabled=off),
        _text("edit-file", "save as", "edited.toml"),
        el("button", "Save", type="button", id="edit-save", data_do="save"),
        el("p", "Files are new, readable by you alone, in the folder in which the explorer was started. Hierarchies"
           " show values. Comments of the schema and its [release] are not in them.", class_="hint"),
        class_="edit-row",
    )  # fmt: skip
