"""The curve of loss against k as a drawing, and as a table for those who do not see it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from treeanon.explore.curve import Point
from treeanon.report.page.elements import Element, el

WIDE, HIGH = 420, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 14, 40


def chart(points: Sequence[Point], k: int, largest: int) -> Element:
    """The curve up to the largest k, the k of the settings marked; what cannot be reached is a cross."""
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
    """The points of the curve as a table."""
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
    """Where a k lies: twice as large is always the same way further."""
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
