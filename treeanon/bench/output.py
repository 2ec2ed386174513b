"""Writes figures as text, CSV and SVG files, and synthetic tables with a schema.

Text and CSV show a row for every value and a column for every line.

Plots are self-contained SVG: no scripts, no embedded fonts, readable on light and dark backgrounds.

Also the claims that 1D §7 (Ghinita et al., TODS 34(2), 2009) draws from its figures, told of what was measured here.

Hilbert loses no more than Mondrian and TopDown; the dual search reaches no less privacy than either IPCSD; counts by
permuted Hilbert groups are no worse than Anatomy's. The paper's tables are others, so a claim may hold there and not
here: each is told with where it does not. Those of the figures on trees (Section IV of O. Gkountouna and M. Terrovitis,
"Anonymizing collections of tree-structured data", IEEE TKDE 2015) are told in the same way.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import zip_longest
from pathlib import Path
from typing import Any

from treeanon.bench.figures import LABELS as TABLE_LABELS
from treeanon.bench.figures import Panel
from treeanon.bench.run import FigureResult
from treeanon.bench.tree_figures import CLAIMS, LINEAR
from treeanon.bench.tree_figures import LABELS as TREE_LABELS
from treeanon.errors import UsageError
from treeanon.hierarchy import dump_hierarchy
from treeanon.io.columns.write_table import table_format, write_table
from treeanon.io.output import naming, open_folder, open_output, refuse_existing
from treeanon.schema import Schema
from treeanon.schema.dump import dump_schema
from treeanon.schema.model import ClassSpec, InputSpec
from treeanon.table import Table

LABELS = {**TREE_LABELS, **TABLE_LABELS}
"""Labels of the axes of both papers."""

_EQUAL = 5e-7


@dataclass(frozen=True)
class Claim:
    """In a panel the line `better` is nowhere worse than the line `other`; with `more`, more is better.

    In place of a line `other` can be a number, or LINEAR: seconds that grow in step with the records.
    """

    figure: Panel
    better: str
    other: str | float
    more: bool = False

    @property
    def sentence(self) -> str:
        """The claim in words.

        >>> from treeanon.bench.figures import FIGURES
        >>> Claim(FIGURES[22][0], "Hilbert", "Mondrian").sentence
        'GCP of Hilbert is not above that of Mondrian'
        """
        where = "below" if self.more else "above"
        if self.other == LINEAR or not isinstance(self.other, str):
            return f"{LABELS[self.figure.measure]} of {self.better} is not {where} {self.other}"
        return f"{LABELS[self.figure.measure]} of {self.better} is not {where} that of {self.other}"


@dataclass(frozen=True)
class Told:
    """What was measured of a claim: at how many values both lines have a number, and at which it does not hold, by how
    much at most, as a share of the other line's number.
    """

    claim: Claim
    measured: int
    against: tuple[float, ...]
    worst: float

    @property
    def holds(self) -> bool | None:
        """Whether it holds wherever it was measured; None if nowhere."""
        return not self.against if self.measured else None

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.holds is None:
            return "not told, because one of the two was not measured"
        if self.holds:
            return f"holds ({self.measured} of {self.measured})"
        figure = self.claim.figure
        at = ", ".join(f"{value:,.10g}" for value in self.against)
        far = f"{'above' if self.claim.more else 'below'} it by up to {100 * self.worst:.0f} %"
        many = f"{len(self.against)} of {self.measured}"
        return f"does not hold, because {self.claim.other} is {far} at {LABELS[figure.vary]} {at} ({many})"

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return {
            "figure": self.claim.figure.name,
            "claim": self.claim.sentence,
            "holds": self.holds,
            "measured": self.measured,
            "against": list(self.against),
            "verdict": self.sentence,
        }


def claims_of(figure: Panel) -> list[Claim]:
    """Return the claims about a panel; those of 1D have none about seconds.

    >>> from treeanon.bench.figures import FIGURES
    >>> [(claim.better, claim.other) for claim in claims_of(FIGURES[32][0])]
    [('AC', 'IPCSD over 1-D'), ('AC', 'IPCSD over Mondrian')]
    """
    if figure.number in CLAIMS:
        return [Claim(figure, better, other) for better, other in CLAIMS[figure.number]]
    if figure.measure == "seconds":
        return []
    if figure.number in (32, 33, 34):
        return [Claim(figure, "AC", f"IPCSD over {other}", more=True) for other in ("1-D", "Mondrian")]
    others = {35: ("Mondrian",), 36: ("Mondrian", "Anatomy")}.get(figure.number, ("Mondrian", "TopDown"))
    return [Claim(figure, "Hilbert", other) for other in others]


def told(figures: Iterable[FigureResult]) -> list[Told]:
    """Return what the results tell of all claims about their panels."""
    return [_told(claim, drawn) for drawn in figures for claim in claims_of(drawn.figure)]


def _told(claim: Claim, drawn: FigureResult) -> Told:
    nothing: Sequence[float | None] = [None] * len(drawn.values)
    ours = drawn.lines.get(claim.better, nothing)
    theirs: Sequence[float | None]
    if claim.other == LINEAR:
        theirs = [None if ours[0] is None else ours[0] * value / drawn.values[0] for value in drawn.values]
    elif isinstance(claim.other, str):
        theirs = drawn.lines.get(claim.other, nothing)
    else:
        theirs = [claim.other] * len(drawn.values)
    measured, against, worst = 0, list[float](), 0.0
    for value, own, other in zip(drawn.values, ours, theirs, strict=True):
        if own is None or other is None:
            continue
        measured += 1
        behind = other - own if claim.more else own - other
        if behind > _EQUAL:
            against.append(value)
            worst = max(worst, behind / max(abs(own), abs(other)))
    return Told(claim, measured, tuple(against), worst)


def claims_text(found: Sequence[Told]) -> str:
    """Return the table of claims, a line each.

    >>> from treeanon.bench.figures import FIGURES
    >>> print(claims_text([Told(Claim(FIGURES[22][0], "Hilbert", "Mondrian"), 4, (50, 100), 0.25)]))
    Claims of the paper, as measured here
    22a  GCP of Hilbert is not above that of Mondrian: does not hold, because Mondrian is below it by up to 25 % at k \
50, 100 (2 of 4)
    """
    lines = [f"{one.claim.figure.name}  {one.claim.sentence}: {one.sentence}" for one in found]
    return "\n".join(["Claims of the paper, as measured here", *lines])


def as_text(drawn: FigureResult) -> str:
    """Return the figure as a text table: a row for every value, a column for every line.

    >>> from treeanon.bench.figures import FIGURES
    >>> print(as_text(FigureResult(FIGURES[22][0], [10, 20], {"Hilbert": [0.0123456, None]}, ["Mondrian: left out"])))
    Figure 22a. k-anonymity: loss against k (GCP)
     k  Hilbert
    10   0.0123
    20        -
    note: Mondrian: left out
    """
    figure = drawn.figure
    head = [LABELS[figure.vary].split(",")[0], *drawn.lines]
    columns = [[shown(value) for value in own] for own in (drawn.values, *drawn.lines.values())]
    widths = [max(map(len, [name, *own])) for name, own in zip(head, columns, strict=True)]
    rows = [head, *map(list, zip(*columns, strict=True))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    title = f"Figure {figure.name}. {figure.title} ({LABELS[figure.measure]})"
    return "\n".join([title, *(lines if drawn.lines else ()), *(f"note: {note}" for note in drawn.notes)])


def all_as_text(figures: Iterable[FigureResult]) -> str:
    """Return all figures as text, and below them what they tell of the paper's claims."""
    figures = list(figures)
    claims = told(figures)
    return "\n\n".join([*map(as_text, figures), *([claims_text(claims)] if claims else [])])


def as_csv(drawn: FigureResult) -> str:
    """Return the figure as CSV with all digits; a missing number is an empty cell.

    >>> from treeanon.bench.figures import FIGURES
    >>> print(as_csv(FigureResult(FIGURES[22][0], [10, 20], {"Hilbert": [0.5, None]})), end="")
    k,Hilbert
    10,0.5
    20,
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([drawn.figure.vary, *drawn.lines])
    writer.writerows(zip_longest(drawn.values, *drawn.lines.values()))
    return out.getvalue()


def shown(value: float | None) -> str:
    """Return a number as an integer or with three digits.

    >>> shown(20000.0), shown(0.012345), shown(1234.5), shown(None)
    ('20,000', '0.0123', '1,234', '-')
    """
    if value is None:
        return "-"
    if abs(value) < 1e15 and value == int(value):
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


_WIDTH, _HEIGHT = 800, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 220, 46, 56
# Colors of medium brightness are visible on white and on black.
_COLORS = ("#d1495b", "#2e86ab", "#3a9d5d", "#c97b12", "#8f5fbf", "#7a7f87", "#b0538a", "#1f9e9e")
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "", "7 3", "2 3", "9 3 2 3")
# Attributes work in all SVG viewers; only a dark background needs a style sheet.
_FONT = 'font-family="system-ui, sans-serif" font-size="13" fill="#333"'
_GRID, _AXIS = 'fill="none" stroke="#ccc" stroke-opacity="0.6"', 'fill="none" stroke="#888"'
_TITLE = ' font-size="15" font-weight="600"'
_STYLE = "@media (prefers-color-scheme: dark) { text { fill: #ddd } }"


@dataclass(frozen=True)
class Scale:
    """A linear or logarithmic axis from `low` to `high`, in pixels."""

    low: float
    high: float
    start: float
    stop: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """Return the position of a number.

        >>> Scale(0, 10, 100, 200)(2.5), Scale(1, 100, 0, 200, True)(10)
        (125.0, 100.0)
        """
        low, high, at = (math.log10(v) if self.logarithmic else v for v in (self.low, self.high, value))
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.stop - self.start)

    def ticks(self) -> list[float]:
        """Return round numbers along the axis; powers of ten if it is logarithmic.

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
    """Return 1, 2 or 5 times a power of ten, near a width.

    >>> round_step(0.046), round_step(3), round_step(0)
    (0.05, 2.0, 1.0)
    """
    if width <= 0:
        return 1.0
    power = math.floor(math.log10(width))
    digit = min((1, 2, 5, 10), key=lambda one: abs(one - width / 10**power))
    return float(f"{digit}e{power}")


def as_svg(drawn: FigureResult) -> str:
    """Return the figure as an SVG document; time has a logarithmic axis.

    >>> from treeanon.bench.figures import FIGURES
    >>> as_svg(FigureResult(FIGURES[22][0], [10, 20], {"Hilbert": [0.01, 0.02]})).count("<circle")
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


def _frame(drawn: FigureResult, x: Scale, y: Scale) -> list[str]:
    figure = drawn.figure
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = [_text(_LEFT, 24, f"Figure {figure.name}. {figure.title}", _TITLE)]
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
    """Return a line through the points, interrupted where one is missing, with marks at all points or those in
    `marked`.
    """
    color = _COLORS[i % len(_COLORS)]
    path, pen_down = "", False
    for point in points:
        if point is not None:
            path += f"{'L' if pen_down else 'M'}{point[0]:.1f} {point[1]:.1f}"
        pen_down = point is not None
    dash = f' stroke-dasharray="{_DASHES[i % len(_DASHES)]}"' if _DASHES[i % len(_DASHES)] else ""
    parts = [f'<path fill="none" stroke="{color}" stroke-width="2"{dash} d="{path}"/>'] if path else []
    shown_at = [point for j, point in enumerate(points) if point is not None and (marked is None or j in marked)]
    return parts + [_mark(i, color, *point) for point in shown_at]


def _mark(i: int, color: str, x: float, y: float) -> str:
    shape = i % 4
    if shape == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}"/>'
    steps = ("", "m-4-4h8v8h-8z", "m0-5l5 9h-10z", "m0-5.5l5.5 5.5-5.5 5.5-5.5-5.5z")[shape]
    return f'<path fill="{color}" d="M{x:.1f} {y:.1f}{steps}"/>'


def _text(x: float, y: float, text: str, more: str = "", anchor: str = "start") -> str:
    return f'<text{more} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


_OURS = re.compile(r"figure-[0-9]+[a-d]?\.(csv|svg)|figures\.txt")


def write_figures(figures: Iterable[FigureResult], target: str, data: str = "", *, force: bool = False) -> None:
    """Write the figures to a folder: figure-22a.csv and figure-22a.svg for each panel, and figures.txt for all,
    with the claims, below what there is to say of the data.

    An existing folder is replaced only with `force`, and only if it holds nothing but figures.
    """
    figures = list(figures)
    with open_folder(target, force=force, is_ours=_holds_figures) as folder:
        for drawn in figures:
            for form, text in (("csv", as_csv(drawn)), ("svg", as_svg(drawn))):
                folder.add(f"figure-{drawn.figure.name}.{form}", text.encode())
        text = "\n\n".join([*([data] if data else []), all_as_text(figures)])
        folder.add("figures.txt", (text + "\n").encode())


def _holds_figures(folder: Path) -> bool:
    return all(_OURS.fullmatch(path.name) for path in folder.iterdir())


def write_table_and_schema(
    table: Table, target: Path, *, sensitive: str, force: bool = False, seed: int | None = None
) -> list[str]:
    """Write a synthetic table, its schema and hierarchy files; return the paths of all.

    The schema publishes only the sensitive column `sensitive`.
    """
    if str(target) == "-":
        raise UsageError("several files cannot go to standard output; name a file")
    form = table_format(target)
    schema_path = target.with_name(target.name.partition(".")[0] + ".toml")
    # Paths in a schema are relative to its folder.
    trees = {
        schema_path.parent / str(c.spec.hierarchy_source): c.hierarchy
        for c in table.columns
        if isinstance(c.spec.hierarchy_source, str)
    }
    for path in (target, schema_path, *trees):
        refuse_existing(path, force=force)
    specs = [_spec(column.spec, sensitive) for column in table.columns]
    text = dump_schema(Schema(InputSpec(form), tuple(specs)))
    write_table(table, target, force=force, seed=seed)
    for path, content in {
        schema_path: text,
        **{path: dump_hierarchy(own, "csv") for path, own in trees.items()},
    }.items():
        with naming(str(path)):
            path.parent.mkdir(exist_ok=True)
        with open_output(path, force=force) as stream:
            stream.write(content.encode())
    return [str(path) for path in (target, schema_path, *trees)]


def _spec(spec: ClassSpec, sensitive: str) -> ClassSpec:
    return replace(spec, role="drop") if spec.role == "sensitive" and spec.name != sensitive else spec
