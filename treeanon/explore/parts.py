"""What a look finds, as HTML for the parts of the page. Every text goes through `el`, which makes text of it.

The curve of loss against k as a drawing, and as a table for those who do not see it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from treeanon.explore.session import CurveReady, Event, Outcome, OutcomeReady, Point, Problem, RiskReady
from treeanon.explore.settings import LARGEST_K, ExploredData
from treeanon.forest import Forest
from treeanon.metrics import Losses
from treeanon.metrics.table import FlatLosses
from treeanon.release import PermutedRelease, Release, TableRelease
from treeanon.report.page.elements import Content, Element, el, percent, scrolled, text_of
from treeanon.report.page.page import internal_sections
from treeanon.report.page.statement import NOT_ALIKE, as_they_are, guarantees, risks, statement

WIDE, HIGH = 420, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 14, 40


def chart(points: Sequence[Point], k: int, largest: int) -> Element:
    """Return the curve up to the largest k, the k of the settings marked; what cannot be reached is a cross."""
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
            el("tr", el("th", str(point.k), scope="row"), el("td", _told(point.loss)),
               el("td", _told(point.relations)) if trees else None)
            for point in points
        ]),
        class_="numbers",
    )  # fmt: skip


def _told(loss: float | None) -> str:
    return "cannot be reached" if loss is None else f"{loss:.3f}"


def _title(reached: Sequence[Point], k: int) -> str:
    now = next((point for point in reached if point.k == k), None)
    here = "" if now is None else f", {now.loss:.3f} at k = {k}"
    return f"Loss of values from 0 to 1 against k{here}; the numbers are in the table below."


def _x(k: int, largest: int) -> float:
    """Return where a k lies: twice as large is always the same way further."""
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
    """What the lines are, each beside a piece of it."""
    out = []
    for at, (css, name) in enumerate((("loss", "values lost"), *([("relations", "relations lost")] if trees else []))):
        y = _TOP + 14 + 18 * at
        out.append(el("path", d=f"M{_LEFT + 8} {y - 4}h26", class_=f"line {css}"))
        out.append(el("text", name, x=_LEFT + 40, y=y))
    return out


def _mark(point: Point, k: int, largest: int) -> list[Element]:
    x = _x(point.k, largest)
    if point.loss is None:
        hint = el("title", f"k = {point.k}: cannot be reached")
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
"""The names of the parts, which are ids of the page."""

_TAKEN = "Another look has taken the place of this one, perhaps in another window. Move a setting to go on here."


def parts_of(event: Event, ground: ExploredData) -> dict[str, str]:
    """Return the HTML of the parts that an event changes, by their names."""
    return {name: _html(content) for name, content in _parts(event, ground).items()}


def _html(content: Contents) -> str:
    """Return the HTML of what an element would hold."""
    return text_of(el("div", *content))[len("<div>") : -len("</div>")]


def _parts(event: Event, ground: ExploredData) -> Mapping[str, Contents]:
    if isinstance(event, OutcomeReady):
        return _looked(event.outcome, ground)
    if isinstance(event, RiskReady):
        section = risks(event.before, event.after, NOT_ALIKE if event.after is None else "")
        return {"risk": section.content if section else ()}
    if isinstance(event, CurveReady):
        return _curved(event, ground)
    if isinstance(event, Problem):
        problem = [el("p", line, class_="problem") for line in event.message.splitlines()]
        if event.part == "risk":
            return {"risk": problem}
        none: dict[str, Contents] = dict.fromkeys(PARTS, ())
        return {**none, "status": ["There is no release by these settings."], "guarantee": problem}
    return {} if event.complete else {"status": [_TAKEN]}


def _looked(found: Outcome, ground: ExploredData) -> Mapping[str, Contents]:
    release = found.preview.release
    assert not isinstance(release, PermutedRelease)
    before = ground.data if isinstance(ground.data, Forest) else None
    sections = [one for one in internal_sections(release, before, found.preview.changes) if one is not None]
    return {
        "status": [f"{_summary(release.loss)}; found in {found.seconds:.2f} s."],
        "guarantee": _guarantee(release, ground),
        **dict.fromkeys(SECTIONS, ()),
        **{section.key: section.content for section in sections},
    }


def _summary(loss: Losses | FlatLosses) -> str:
    if isinstance(loss, Losses):
        return f"Value loss {loss.value_loss:.3f}, relations kept {percent(loss.relations_kept)}"
    return f"GCP {loss.gcp_taxonomy:.3f}, from 0 (as held) to 1 (lost)"


def _guarantee(release: Release | TableRelease, ground: ExploredData) -> Contents:
    """What holds, and what gave way beside details of values."""
    found = [(release.verdict.holds, release.verdict.sentence)]
    whole = None if ground.whole else el("p", "This is true of the sample, and says nothing of the whole input.")
    told = release.as_dict()
    withheld = ", ".join(told.get("withheld", ()))
    return [
        statement(guarantees(release), found),
        whole,
        el("p", f"Withheld, as too rare to be published safely: {withheld}.") if withheld else None,
        el("p", f"Persons left out as outliers: {told['suppressed']:,}.") if told.get("suppressed") else None,
        as_they_are(release.unprotected()),
    ]


def _curved(found: CurveReady, ground: ExploredData) -> Mapping[str, Contents]:
    """Return the curve so far, and its numbers."""
    largest = min(LARGEST_K, max(ground.persons, found.k))
    left = f"{found.left} more to come." if found.left else "Each point is a search of its own, by the same settings."
    drawing = scrolled("Loss against k", chart(found.points, found.k, largest))
    return {"curve": [drawing, el("p", left, class_="hint")], "points": [numbers(found.points)]}
