"""Several releases of one input side by side: what each has lost, its risk, and the objects that it keeps whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treeanon.io.output import open_output
from treeanon.release.solution_file import version
from treeanon.reports.page.charts import by_attacker, by_size, of_whole
from treeanon.reports.page.elements import Cell, Content, Element, Section, bar, el, percent, table
from treeanon.reports.page.page import document_of

WORDS = "This page has counts of the original data, but no original value: it is not for publishing."


@dataclass(frozen=True)
class Side:
    """One release: its name, its comparison with the input as plain data, and its risk (None: not measured)."""

    name: str
    data: Mapping[str, Any]
    risk: Mapping[str, Any] | None = None
    sizes: Sequence[int] | None = None

    @property
    def losses(self) -> Mapping[str, Any]:
        """Its losses."""
        found: Mapping[str, Any] = self.data["losses"]
        return found


def comparison_page(before: str, sides: Sequence[Side], risk: Mapping[str, Any] | None = None) -> str:
    """Return the page that compares releases of `before` as HTML; `risk` is that of `before`."""
    title = f"Releases of {before} compared" if len(sides) > 1 else f"A release of {before} compared with it"
    sections = [one for one in _sections(before, sides, risk) if one is not None]
    return document_of(title, "internal", WORDS, None, sections, f"Made by treeanon {version()}.")


def write_comparison(
    target: str | Path, before: str, sides: Sequence[Side], risk: Mapping[str, Any] | None, *, force: bool = False
) -> None:
    """Write the page, whole or not at all, to be read by its owner alone."""
    with open_output(target, force=force, private=True) as stream:
        stream.write(comparison_page(before, sides, risk).encode())


def _sections(before: str, sides: Sequence[Side], risk: Mapping[str, Any] | None) -> Iterator[Section | None]:
    yield Section("totals", "In all", [_totals(sides), *_verdicts(sides), *_strange(sides)])
    yield Section("losses", "Loss by class", [_by_class(sides)])
    yield _objects(sides)
    yield _relations(sides)
    yield _risk(before, sides, risk)


_Form = Callable[[Any], str]
_NUMBER: _Form = "{:,}".format
_SHARE: _Form = "{:.3f}".format
_FINE: _Form = "{:.5f}".format

_TOTALS: tuple[tuple[str, str, _Form], ...] = (
    ("value_loss", "value loss, 0 unchanged", _SHARE),
    ("relations_kept", "relations kept", percent),
    ("rpd", "RPD, lower is better", _FINE),
    ("gcp_taxonomy", "GCP (taxonomy), 0 unchanged", _SHARE),
    ("gcp_set", "GCP (set)", _SHARE),
    ("precision", "precision, 1 unchanged", _SHARE),
    ("discernibility", "discernibility", _NUMBER),
    ("groups", "groups", _NUMBER),
    ("suppressed", "rows left out", _NUMBER),
)


def _totals(sides: Sequence[Side]) -> Element:
    things = "records" if "records" in sides[0].data else "rows"
    rows: list[Sequence[Cell]] = [
        [f"{things} published", *(f"{one.data[f'published_{things}']:,} of {one.data[things]:,}" for one in sides)]
    ]
    for key, words, form in _TOTALS:
        if all(key in one.losses for one in sides):
            rows.append([words, *(form(one.losses[key]) for one in sides)])
    return table("Totals", ["", *(one.name for one in sides)], rows)


def _verdicts(sides: Sequence[Side]) -> Iterator[Element]:
    rows: list[Sequence[Cell]] = []
    for one in sides:
        verdict = one.data.get("verification")
        if verdict is not None:
            freeform = one.data.get("as_freeform")
            holds = verdict["holds"] or (freeform is not None and freeform["holds"])
            rows.append([one.name, "✓ holds" if holds else "✗ does not hold"])
    if rows:
        yield table("The guarantee that was asked for", ["Release", "Verified"], rows)
    if any("✗" in str(row[1]) for row in rows) and "records" in sides[0].data:
        yield el("p", "A release of merged trees is compared with --objects merged.", class_="note")


def _strange(sides: Sequence[Side]) -> Iterator[Element]:
    for one in sides:
        found = one.data.get("strange_nodes") or one.data.get("strange_rows") or {}
        if found:
            told = ", ".join(f"{name} ({times:,})" for name, times in found.items())
            words = f"{one.name} has values that nobody in the input can have: {told}. Is it a release of it?"
            yield el("p", el("b", "Warning: "), words, class_="beyond")


def _by_class(sides: Sequence[Side]) -> Element:
    key = "value_loss_by_class" if "value_loss_by_class" in sides[0].losses else "ncp_taxonomy"
    rows: list[Sequence[Cell]] = []
    for name in sides[0].losses[key]:
        cells: list[Cell] = [name]
        for one in sides:
            loss = one.losses[key].get(name, 0.0)
            cells += [loss, bar(loss)]
        rows.append(cells)
    caption = "Value loss" if key == "value_loss_by_class" else "NCP (taxonomy)"
    heads = ["Class", *(word for one in sides for word in (one.name, ""))]
    return table(f"{caption}, from 0 (unchanged) to 1 (any value, or none)", heads, rows)


def _objects(sides: Sequence[Side]) -> Section | None:
    held = sides[0].losses.get("objects")
    if not held:
        return None
    rows: list[Sequence[Cell]] = []
    for name, of in held.items():
        kept = [one.losses.get("objects", {}).get(name) for one in sides]
        rows.append([name, of["before"], *("" if one is None else _kept(one) for one in kept)])
    heads = ["Type of object", "Input", *(one.name for one in sides)]
    known = any(found["whole"] is not None for one in sides for found in one.losses.get("objects", {}).values())
    caption = "Objects published, and how many of them whole" if known else "Objects published"
    return Section("objects", "Objects", [table(caption, heads, rows)])


def _kept(of: Mapping[str, Any]) -> str:
    return f"{of['after']:,}" if of["whole"] is None else f"{of['after']:,}, {percent(of['whole'])} whole"


def _relations(sides: Sequence[Side]) -> Section | None:
    pairs = sides[0].losses.get("relations_kept_by_pair")
    if not pairs:
        return None
    rows: list[Sequence[Cell]] = [
        [name, *(percent(one.losses["relations_kept_by_pair"].get(name, 0.0)) for one in sides)] for name in pairs
    ]
    return Section(
        "relations", "Relations", [table("Relations kept", ["Relation", *(one.name for one in sides)], rows)]
    )


def _risk(before: str, sides: Sequence[Side], risk: Mapping[str, Any] | None) -> Section | None:
    found = [(one.name, one.risk) for one in sides if one.risk is not None]
    if risk is not None:
        found.insert(0, (before, risk))
    if not found:
        return None
    k = found[0][1]["k"]
    parts: list[Content] = [by_attacker(found, k, None)]
    counted = [(one.name, one.sizes) for one in sides if one.sizes is not None]
    if counted:
        parts.append(by_size(counted))
    whole = [(name, one["all_columns"]) for name, one in found if one.get("all_columns") is not None]
    if whole:
        parts.append(of_whole(whole, k))
    return Section("risk", "Risk", parts)
