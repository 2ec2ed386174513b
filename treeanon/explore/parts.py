"""The results as HTML for the parts of the page. Every text goes through `el`, which escapes it.

The curve of loss against k is drawn, and given as a table for accessibility.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from treeanon.explore.session import CurveReady, Event, Outcome, OutcomeReady, Point, Problem, RiskReady, Session
from treeanon.explore.settings import LARGEST_K, ExploredData, pins_table
from treeanon.forest import Forest
from treeanon.metrics import Losses, share_whole
from treeanon.metrics.table import FlatLosses
from treeanon.release import PermutedRelease, Release, TableRelease
from treeanon.reports.page.elements import Content, Element, el, percent, scrolled, text_of
from treeanon.reports.page.page import internal_sections
from treeanon.reports.page.statement import NOT_ALIKE, as_they_are, guarantees, risks, statement

WIDE, HIGH = 420, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 14, 40


def chart(points: Sequence[Point], k: int, largest: int) -> Element:
    """Return the curve up to the largest k, with the k of the settings marked; a k without a release is a cross."""
    reached = [point for point in points if point.loss is not None]
    return el(
        "svg",
        el("title", _title(reached, k)),
        _axes([point.k for point in points], largest),
        _line([(point.k, point.loss) for point in reached], largest, "loss"),
        _line([(point.k, point.relations) for point in reached], largest, "relations"),
        _names(trees=any(point.relations is not None for point in reached)),
        [part for point in points for part in _mark(point, k, largest)],
        role="img", viewBox=f"0 0 {WIDE} {HIGH}", class_="chart", aria_label=_title(reached, k),
    )  # fmt: skip


def numbers(points: Sequence[Point]) -> Element:
    """Return the points of the curve as a table."""
    trees = any(point.relations is not None for point in points)
    return el(
        "table",
        el("caption", "Loss against k"),
        el("thead", el("tr", el("th", "k", scope="col"), el("th", "values lost", scope="col"),
                       el("th", "relations lost", scope="col") if trees else None)),
        el("tbody", [
            el("tr", el("th", str(point.k), scope="row"), el("td", _number_text(point.loss)),
               el("td", _number_text(point.relations)) if trees else None)
            for point in points
        ]),
        class_="numbers",
    )  # fmt: skip


def _number_text(loss: float | None) -> str:
    return "no release" if loss is None else f"{loss:.3f}"


def _title(reached: Sequence[Point], k: int) -> str:
    now = next((point for point in reached if point.k == k), None)
    here = "" if now is None else f", {now.loss:.3f} at k = {k}"
    return f"Loss of values from 0 to 1 against k{here}; the numbers are in the table below."


def _x(k: int, largest: int) -> float:
    """Return the position of a k on a logarithmic axis."""
    share = math.log(k / 2) / math.log(max(largest, 3) / 2)
    return _LEFT + min(max(share, 0.0), 1.0) * (WIDE - _LEFT - _RIGHT)


def _y(loss: float) -> float:
    return _TOP + (1 - loss) * (HIGH - _TOP - _BOTTOM)


def _axes(ks: Sequence[int], largest: int) -> list[Element]:
    out = []
    for loss in (0.0, 0.25, 0.5, 0.75, 1.0):
        out.append(el("path", d=f"M{_LEFT} {_y(loss):.1f}H{WIDE - _RIGHT}", class_="grid"))
        out.append(el("text", f"{loss:g}", x=_LEFT - 8, y=_y(loss) + 4, class_="tick-y"))
    last = -math.inf
    for k in sorted({*ks}):
        if _x(k, largest) - last >= 24:
            last = _x(k, largest)
            out.append(el("text", str(k), x=last, y=HIGH - _BOTTOM + 18, class_="tick-x"))
    out.append(el("text", "k", x=(WIDE + _LEFT) / 2, y=HIGH - 4, class_="tick-x"))
    return out


def _line(points: Sequence[tuple[int, float | None]], largest: int, css: str) -> Element | None:
    places = [f"{_x(k, largest):.1f} {_y(loss):.1f}" for k, loss in points if loss is not None]
    return el("path", d="M" + "L".join(places), class_=f"line {css}") if places else None


def _names(*, trees: bool) -> list[Element]:
    """Return the legend of the lines."""
    out = []
    for at, (css, name) in enumerate((("loss", "values lost"), *([("relations", "relations lost")] if trees else []))):
        y = _TOP + 14 + 18 * at
        out.append(el("path", d=f"M{_LEFT + 8} {y - 4}h26", class_=f"line {css}"))
        out.append(el("text", name, x=_LEFT + 40, y=y))
    return out


def _mark(point: Point, k: int, largest: int) -> list[Element]:
    x = _x(point.k, largest)
    if point.loss is None:
        hint = el("title", f"k = {point.k}: no release")
        return [el("path", hint, d=f"M{x - 5:.1f} {_TOP - 5}l10 10m0 -10l-10 10", class_="unreached")]
    own = point.k == k
    hint = el("title", f"k = {point.k}: {point.loss:.3f} of values lost")
    out = [el("circle", hint, cx=x, cy=_y(point.loss), r=7.0 if own else 4.0, class_="point own" if own else "point")]
    if own:
        out.append(el("text", f"{point.loss:.2f}", x=x, y=_y(point.loss) - 12, class_="own-text"))
    return out


Contents = Sequence[Content]

SECTIONS = ("records", "losses", "relations", "hierarchies")
PARTS = ("status", "guarantee", "curve", "points", "risk", *SECTIONS)
"""The names of the parts, which are ids of elements."""

_TAKEN = "Another window uses this explorer now. Change a setting to continue here."


def parts_of(event: Event, explored: ExploredData) -> dict[str, str]:
    """Return the HTML of the parts that an event changes, by name."""
    return {name: _html(content) for name, content in _parts(event, explored).items()}


def pins_html(session: Session, problem: str | None = None) -> str:
    """Return the HTML of the pinned results, with what was wrong with the last one."""
    wrong = None if problem is None else el("p", problem, class_="problem")
    return _html([pins_table(session.pins), wrong])


def _html(content: Contents) -> str:
    """Return the HTML of the content of an element."""
    return text_of(el("div", *content))[len("<div>") : -len("</div>")]


def _parts(event: Event, explored: ExploredData) -> Mapping[str, Contents]:
    if isinstance(event, OutcomeReady):
        return _outcome_parts(event.outcome, explored)
    if isinstance(event, RiskReady):
        section = risks(event.before, event.after, NOT_ALIKE if event.after is None else "")
        return {"risk": section.content if section else ()}
    if isinstance(event, CurveReady):
        return _curve_parts(event, explored)
    if isinstance(event, Problem):
        problem = [el("p", line, class_="problem") for line in event.message.splitlines()]
        if event.part == "risk":
            return {"risk": problem}
        none: dict[str, Contents] = dict.fromkeys(PARTS, ())
        return {**none, "status": ["No release with these settings."], "guarantee": problem}
    return {} if event.complete else {"status": [_TAKEN]}


def _outcome_parts(found: Outcome, explored: ExploredData) -> Mapping[str, Contents]:
    release = found.preview.release
    assert not isinstance(release, PermutedRelease)
    before = explored.data if isinstance(explored.data, Forest) else None
    sections = [one for one in internal_sections(release, before, found.preview.changes) if one is not None]
    return {
        "status": [f"{_summary(release.loss)}; found in {found.seconds:.2f} s."],
        "guarantee": _guarantee(release, explored),
        **dict.fromkeys(SECTIONS, ()),
        **{section.key: section.content for section in sections},
    }


def _summary(loss: Losses | FlatLosses) -> str:
    if isinstance(loss, Losses):
        whole = share_whole(loss.objects)
        kept = "" if whole is None else f", objects kept whole {percent(whole)}"
        return f"Value loss {loss.value_loss:.3f}, relations kept {percent(loss.relations_kept)}{kept}"
    return f"GCP {loss.gcp_taxonomy:.3f}, from 0 (unchanged) to 1 (lost)"


def _guarantee(release: Release | TableRelease, explored: ExploredData) -> Contents:
    """Return the guarantee, the verdict, and what was withheld or suppressed."""
    found = [(release.verdict.holds, release.verdict.sentence)]
    whole = None if explored.whole else el("p", "This holds for the sample only, not for the whole input.")
    data = release.as_dict()
    withheld = ", ".join(data.get("withheld", ()))
    return [
        statement(guarantees(release), found),
        whole,
        el("p", f"Withheld, as too rare to be published safely: {withheld}.") if withheld else None,
        el("p", f"Persons suppressed: {data['suppressed']:,}.") if data.get("suppressed") else None,
        as_they_are(release.unprotected()),
    ]


def _curve_parts(found: CurveReady, explored: ExploredData) -> Mapping[str, Contents]:
    """Return the curve so far and its numbers."""
    largest = min(LARGEST_K, max(explored.persons, found.k))
    left = f"{found.left} more to come." if found.left else "Each point is a separate search with the same settings."
    drawing = scrolled("Loss against k", chart(found.points, found.k, largest))
    return {"curve": [drawing, el("p", left, class_="hint")], "points": [numbers(found.points)]}
