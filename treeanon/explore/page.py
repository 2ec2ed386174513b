"""The page: a form with the settings, and an element for each part of the results."""

from __future__ import annotations

from collections.abc import Mapping

from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS
from treeanon.explore.editor import Editor
from treeanon.explore.settings import (
    EFFORTS,
    LARGEST_K,
    LARGEST_M,
    LARGEST_N,
    LARGEST_WEIGHT,
    ExploredData,
    Kind,
    Settings,
    searches_of,
)
from treeanon.reports.page.elements import Element, el, text_of

SUPPRESSED = {"0": "nobody", "0.5%": "0.5 %", "1%": "1 %", "2%": "2 %", "5%": "5 %"}
_NUMBER = "record number in the input"
SHOWS = {"typical": "typical", "worst": "most changed", "number": "by number:"}


def page(explored: ExploredData, start: Settings, editor: Editor | None = None) -> str:
    """Return the page as HTML, with these settings in the form, and the editor of the schema if there is one."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("title", "treeanon explore"),
        el("link", rel="stylesheet", href="explore.css"),
        el("link", rel="icon", href="data:,"),
        el("script", src="explore.js", defer="defer"),
        el("script", src="editor.js", defer="defer"),
    )
    body = el(
        "body",
        el("a", "Skip to results", href="#results", class_="skip"),
        el("header", el("h1", "treeanon explore"), el("p", _about(explored), class_="about")),
        el("main", _form(explored, start), _results(explored, editor)),
    )
    return "<!doctype html>\n" + text_of(el("html", head, body, lang="en"))


def _about(explored: ExploredData) -> list[str | Element]:
    things = "persons" if explored.kind == "trees" else "rows"
    shown: list[str | Element] = [el("strong", "This page shows original data."), " Nothing leaves this machine. "]
    if explored.whole:
        return [*shown, f"It uses all {explored.total:,} {things} of the input."]
    return [
        *shown,
        f"It uses a random sample of {explored.persons:,} of {explored.total:,} {things}, to which all numbers refer."
        " At the same k, the release of the whole input usually loses less. The command line is for the"
        " whole input.",
    ]


def _form(explored: ExploredData, start: Settings) -> Element:
    trees = explored.kind == "trees"
    most = max(min(LARGEST_K, explored.persons), start.k, 2)
    guarantee = el(
        "fieldset",
        el("legend", "Guarantee"),
        _slider("k", "k", "minimum group size", 2, most, start.k),
        _slider("m", "m", "values an attacker may know", 1, LARGEST_M, start.m) if trees else None,
        _slider("n", "n", "relations between them", 0, LARGEST_N, start.n) if trees else None,
        _sensitive(explored, start),
        _choice("attacker", "attacker", _ATTACKERS, start.attacker) if trees else None,
    )
    search = el(
        "fieldset",
        el("legend", "Search"),
        _algorithms(explored.kind, start.algorithm),
        _choice("max_suppressed", "max. suppressed", SUPPRESSED, start.max_suppressed, "max_suppressed"),
        _choice("effort", "effort", EFFORTS, start.effort, "effort") if trees else None,
    )
    return el(
        "form", guarantee, search, _weights(explored, start), _records(explored), _command(explored), id="settings",
        autocomplete="off", aria_label="Settings",
    )  # fmt: skip


_ATTACKERS = {"independent": "knows relations independently", "joint": "knows that they share nodes"}


def _slider(name: str, title: str, hint: str, least: int, most: int, now: int) -> Element:
    return el(
        "p",
        el("label", el("b", title), f" {hint} ", for_=name),
        el("output", str(now), for_=name, id=f"{name}-now"),
        el("input", type="range", id=name, name=name, min=str(least), max=str(most), value=str(now)),
        class_="slider",
    )


def _sensitive(explored: ExploredData, start: Settings) -> list[Element] | None:
    names = explored.of_role("sensitive")
    if not names:
        return None
    return [_slider("l", "l", f"distinct values of {', '.join(names)} in every group", 1, 10, start.l or 1)]


def _choice(name: str, title: str, options: Mapping[str, str], now: str, needs: str | None = None) -> Element:
    """Return a select element; `needs` is the option that the algorithm must support."""
    known = options if now in options else {now: now, **options}
    return el(
        "p",
        el("label", title, for_=name),
        el("select", [_option(key, text, now) for key, text in known.items()], id=name, name=name, data_needs=needs),
    )


def _option(key: str, text: str, now: str, takes: str | None = None) -> Element:
    return el("option", text, value=key, selected="selected" if key == now else None, data_takes=takes)


def _algorithms(kind: Kind, now: str) -> Element:
    takes = {
        name: " ".join(option for option in ("weights", "effort", "max_suppressed") if _takes(kind, name, option))
        for name in searches_of(kind)
    }
    options = [_option(name, name, now, takes[name]) for name in searches_of(kind)]
    hints = [el("span", text, data_of=name) for name, text in searches_of(kind).items()]
    return el(
        "div",
        el("p", el("label", "algorithm", for_="algorithm"), el("select", options, id="algorithm", name="algorithm")),
        el("p", hints, class_="hint", id="algorithm-hint"),
    )


def _takes(kind: Kind, name: str, option: str) -> bool:
    return Settings(kind, algorithm=name).takes(option) and name in {**TREE_ALGORITHMS, **TABLE_ALGORITHMS}


def _weights(explored: ExploredData, start: Settings) -> Element:
    given = dict(start.weights)
    rows = [
        el(
            "p",
            el("label", name, for_=f"weight-{index}"),
            el("output", f"{given.get(name, 1):g}", for_=f"weight-{index}", id=f"weight-{index}-now"),
            el(
                "input", type="range", id=f"weight-{index}", name=f"weight-{index}", min="0",
                max=f"{LARGEST_WEIGHT:g}", step="0.5", value=f"{given.get(name, 1):g}",
            ),
            class_="slider",
        )
        for index, name in enumerate(explored.of_role("quasi"))
    ]  # fmt: skip
    return el(
        "details",
        el("summary", "Class weights"),
        el("fieldset", el("legend", "Relative weight of a class (default 1)"), rows, data_needs="weights"),
        el("p", "This algorithm does not support weights.", class_="hint", data_without="weights", hidden="hidden"),
    )


def _records(explored: ExploredData) -> Element:
    first = "1" if explored.of is None else str(int(explored.of[0]) + 1)
    number = el("input", type="number", id="number", name="number", min="1", value=first, aria_label=_NUMBER)
    return el(
        "fieldset",
        el("legend", "Records shown"),
        _choice("show", "records", SHOWS, "typical"),
        el("p", number, data_show="number"),
    )


_LINE = {
    "trees": "For the whole input. If effort is set to quick here, the command uses the default effort and"
    " finds another release:",
    "table": "For the whole input:",
}


def _command(explored: ExploredData) -> Element:
    return el(
        "div",
        el("button", "Show command line", type="button", id="write"),
        el(
            "div",
            el("label", _LINE[explored.kind], for_="command"),
            el("textarea", id="command", rows="6", readonly="readonly", spellcheck="false"),
            el("button", "Copy", type="button", id="copy"),
            id="command-box",
            hidden="hidden",
        ),
        class_="command",
    )


def _results(explored: ExploredData, editor: Editor | None) -> Element:
    trees = explored.kind == "trees"
    curve = _section("Loss against k", "curve", _folded("Numbers", "points"))
    return el(
        "div",
        el("p", "Searching …", id="status", role="status"),
        el("div", _section("Guarantee", "guarantee"), curve, class_="first"),
        _section("Pinned results", "pins", el("button", "Pin this result", type="button", id="pin")),
        _editor(editor),
        _section("Before and after", "records"),
        _section("Losses", "losses"),
        _section("Relations", "relations") if trees else None,
        _section("Risk", "risk"),
        el("section", _folded("Hierarchies and published values", "hierarchies")),
        id="results",
        tabindex="-1",
    )


def _editor(editor: Editor | None) -> Element:
    """Return the place of the editor; what was read from standard input cannot be read again by another schema."""
    if editor is None:
        words = "To edit the schema here, give the input as a file: it is read again when the schema changes."
        return el("section", el("p", words, class_="hint"), el("div", id="editor"))
    opened = "opened" if editor.revision else None
    inner = el(
        "details",
        el("summary", "Edit schema and hierarchies"),
        el("div", id="editor"),
        el("p", id="edit-note", role="status", class_="hint"),
        open=opened,
        class_="plain",
        id="edit-panel",
    )
    return el("section", inner)


def _section(title: str, name: str, more: Element | None = None) -> Element:
    heading = f"{name}-title"
    return el("section", el("h2", title, id=heading), el("div", id=name), more, aria_labelledby=heading)


def _folded(title: str, name: str) -> Element:
    """Return a collapsed part."""
    return el("details", el("summary", title), el("div", id=name), class_="plain")
