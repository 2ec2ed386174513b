"""Line plots as SVG that stands for itself: no scripts, no fonts of its own, readable on light and dark ground."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from treeanon.bench.figures import LABELS
from treeanon.bench.run import Drawn
from treeanon.bench.text import shown

_WIDTH, _HEIGHT = 800, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 220, 46, 56
# Of middling brightness: each is seen on white and on black.
_COLOURS = ("#d1495b", "#2e86ab", "#3a9d5d", "#c97b12", "#8f5fbf", "#7a7f87", "#b0538a", "#1f9e9e")
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "", "7 3", "2 3", "9 3 2 3")
# Attributes, which all readers of SVG follow; only a dark ground needs a style sheet.
_FONT = 'font-family="system-ui, sans-serif" font-size="13" fill="#333"'
_GRID, _AXIS = 'fill="none" stroke="#ccc" stroke-opacity="0.6"', 'fill="none" stroke="#888"'
_TITLE = ' font-size="15" font-weight="600"'
_STYLE = "@media (prefers-color-scheme: dark) { text { fill: #ddd } }"


@dataclass(frozen=True)
class Scale:
    """Where numbers lie on an axis: from `low` to `high`, evenly or by their logarithms, in pixels."""

    low: float
    high: float
    start: float
    stop: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """The place of a number.

        >>> Scale(0, 10, 100, 200)(2.5), Scale(1, 100, 0, 200, True)(10)
        (125.0, 100.0)
        """
        low, high, at = (math.log10(v) if self.logarithmic else v for v in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.stop - self.start)

    def ticks(self) -> list[float]:
        """Round numbers along the axis: powers of ten where it is logarithmic.

        >>> Scale(0, 0.23, 0, 1).ticks()
        [0.0, 0.05, 0.1, 0.15, 0.2]
        >>> Scale(0.02, 3, 0, 1, True).ticks()
        [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2]
        """
        if self.logarithmic:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            steps = (1, 2, 5) if len(powers) < 5 else (1,)
            found = [float(f"{step}e{power}") for power in powers for step in steps]
            kept = [value for value in found if self.low * 0.999 <= value <= self.high * 1.001]
            return [int(value) if value >= 1 else value for value in kept]
        step = round_step((self.high - self.low) / 5)
        first = math.ceil(self.low / step - 1e-9)
        return [round(i * step, 12) for i in range(first, math.floor(self.high / step + 1e-9) + 1)]


def round_step(width: float) -> float:
    """1, 2 or 5 times a power of ten, near a width.

    >>> round_step(0.046), round_step(3), round_step(0)
    (0.05, 2.0, 1.0)
    """
    if width <= 0:
        return 1.0
    power = math.floor(math.log10(width))
    digit = min((1, 2, 5, 10), key=lambda one: abs(one - width / 10**power))
    return float(f"{digit}e{power}")


def as_svg(drawn: Drawn) -> str:
    """The figure as an SVG document; time has a logarithmic axis.

    >>> from treeanon.bench.figures import FIGURES
    >>> as_svg(Drawn(FIGURES[22], [10, 20], {"Hilbert": [0.01, 0.02]})).count("<circle")
    3
    """
    numbers = [value for own in drawn.lines.values() for value in own if value is not None and math.isfinite(value)]
    x = Scale(min(drawn.values), max(drawn.values), _LEFT + 12, _WIDTH - _RIGHT - 12)
    y = _upright(numbers, logarithmic=drawn.figure.measure == "seconds")
    parts = [*_frame(drawn, x, y), *_legend(list(drawn.lines))]
    for i, own in enumerate(drawn.lines.values()):
        parts += _line(i, [(x(at), y(v)) if v is not None and math.isfinite(v) else None
                           for at, v in zip(drawn.values, own, strict=True)])  # fmt: skip
    if not numbers:
        parts.append(_text(_LEFT + 20, _TOP + 30, "nothing was measured"))
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {_FONT}>'
    title = f"<title>{escape(drawn.figure.title)}</title>"
    return "\n".join([head, title, f"<style>{_STYLE}</style>", *parts, "</svg>"]) + "\n"


def _upright(numbers: Sequence[float], *, logarithmic: bool) -> Scale:
    bottom, top = _HEIGHT - _BOTTOM, _TOP
    positive = [number for number in numbers if number > 0]
    if logarithmic and positive:
        return Scale(min(positive) / 1.3, max(positive) * 1.3, bottom, top, True)
    return Scale(0.0, max(numbers, default=1.0) * 1.05 or 1.0, bottom, top)


def _frame(drawn: Drawn, x: Scale, y: Scale) -> list[str]:
    figure = drawn.figure
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = [_text(_LEFT, 24, f"Figure {figure.number}. {figure.title}", _TITLE)]
    for tick in y.ticks():
        parts.append(f'<path {_GRID} d="M{_LEFT} {y(tick):.1f}H{right}"/>')
        parts.append(_text(_LEFT - 8, y(tick) + 4, shown(tick), anchor="end"))
    for value in drawn.values:
        parts.append(f'<path {_AXIS} d="M{x(value):.1f} {bottom}v5"/>')
        parts.append(_text(x(value), bottom + 20, shown(value), anchor="middle"))
    parts.append(f'<path {_AXIS} d="M{_LEFT} {_TOP}V{bottom}H{right}"/>')
    parts.append(_text((_LEFT + right) / 2, _HEIGHT - 12, LABELS[figure.vary], anchor="middle"))
    middle = (_TOP + bottom) / 2
    name = escape(LABELS[figure.measure])
    parts.append(f'<text text-anchor="middle" transform="translate(18 {middle:.1f}) rotate(-90)">{name}</text>')
    return parts


def _legend(names: Sequence[str]) -> list[str]:
    parts = []
    for i, name in enumerate(names):
        left, height = _WIDTH - _RIGHT + 14, _TOP + 12 + 22 * i
        parts += _line(i, [(left, height), (left + 15, height), (left + 30, height)], (1,))
        parts.append(_text(left + 38, height + 4, name))
    return parts


def _line(i: int, points: Sequence[tuple[float, float] | None], marked: Sequence[int] | None = None) -> list[str]:
    """A line through the points there are, broken where one is not, with a mark at each, or at those told."""
    colour = _COLOURS[i % len(_COLOURS)]
    path, pen_down = "", False
    for point in points:
        if point is not None:
            path += f"{'L' if pen_down else 'M'}{point[0]:.1f} {point[1]:.1f}"
        pen_down = point is not None
    dash = f' stroke-dasharray="{_DASHES[i % len(_DASHES)]}"' if _DASHES[i % len(_DASHES)] else ""
    parts = [f'<path fill="none" stroke="{colour}" stroke-width="2"{dash} d="{path}"/>'] if path else []
    shown_at = [point for j, point in enumerate(points) if point is not None and (marked is None or j in marked)]
    return parts + [_mark(i, colour, *point) for point in shown_at]


def _mark(i: int, colour: str, x: float, y: float) -> str:
    shape = i % 4
    if shape == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
    steps = ("", "m-4-4h8v8h-8z", "m0-5l5 9h-10z", "m0-5.5l5.5 5.5-5.5 5.5-5.5-5.5z")[shape]
    return f'<path fill="{colour}" d="M{x:.1f} {y:.1f}{steps}"/>'


def _text(x: float, y: float, text: str, more: str = "", anchor: str = "start") -> str:
    return f'<text{more} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
