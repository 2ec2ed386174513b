"""Figures as text and as CSV."""

from __future__ import annotations

import csv
import io
from itertools import zip_longest

from treeanon.bench.figures import LABELS
from treeanon.bench.run import Drawn


def as_text(drawn: Drawn) -> str:
    """The figure as a table for people: a row for every value, a column for every line.

    >>> from treeanon.bench.figures import FIGURES
    >>> print(as_text(Drawn(FIGURES[22], [10, 20], {"Hilbert": [0.0123456, None]}, ["Mondrian: left out"])))
    Figure 22. k-anonymity: loss against k (GCP)
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
    title = f"Figure {figure.number}. {figure.title} ({LABELS[figure.measure]})"
    return "\n".join([title, *(lines if drawn.lines else ()), *(f"note: {note}" for note in drawn.notes)])


def as_csv(drawn: Drawn) -> str:
    """The figure as CSV, all digits kept; an empty cell is a number that there is not.

    >>> from treeanon.bench.figures import FIGURES
    >>> print(as_csv(Drawn(FIGURES[22], [10, 20], {"Hilbert": [0.5, None]})), end="")
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
    """A number in three digits or as the whole number it is.

    >>> shown(20000.0), shown(0.012345), shown(1234.5), shown(None)
    ('20,000', '0.0123', '1,234', '-')
    """
    if value is None:
        return "-"
    if abs(value) < 1e15 and value == int(value):
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
