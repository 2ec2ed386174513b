"""Draws the picture of a preview that the README shows: the text of `treeanon preview`, as SVG.

python samples/make_preview_picture.py samples/preview.svg
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import treeanon as ta
from treeanon.reports.preview_cells import Line, Span, columns
from treeanon.reports.preview_text import preview_lines

HERE = Path(__file__).resolve().parent
COMMAND = "treeanon preview patients.xml -s hospital-xml.toml -k 10 --record 903"
K, RECORD = 10, 903

WIDTH = 80
LETTER, LINE, SIZE, MARGIN = 8.4, 19, 14, 16
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
COLORS = {
    "": "#1f2328", "title": "#1f2328", "faint": "#59636e", "generalized": "#8a5a00", "moved": "#0550ae",
    "merged": "#126a70", "dropped": "#b3261e", "left-out": "#b3261e",
}  # fmt: skip


def lines() -> list[Line]:
    """The command, and what it prints of the record."""
    schema = ta.Schema.load(HERE.parent / "schemas" / "hospital-xml.toml")
    forest = ta.read(HERE / "patients.xml", schema)
    found = ta.preview(forest, k=K, numbers=[RECORD - 1])
    return [(Span("$ ", "faint"), Span(COMMAND)), (), *preview_lines(found, width=WIDTH)]


def picture(drawn: Sequence[Line]) -> str:
    """The lines as SVG on a light ground; every piece stands in its column, whatever font there is."""
    width, height = round(WIDTH * LETTER + 2 * MARGIN), len(drawn) * LINE + 2 * MARGIN
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' role="img" aria-label="A record before and after, as treeanon preview shows it in a terminal">',
            f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff" stroke="#d1d9e0"/>',
            f'<g font-family="{FONTS}" font-size="{SIZE}" xml:space="preserve">',
            *(text for row, line in enumerate(drawn) for text in pieces(line, MARGIN + (row + 0.75) * LINE)),
            "</g>",
            "</svg>",
            "",
        )
    )


def pieces(line: Line, y: float) -> Iterator[str]:
    """The texts of a line, but for blanks."""
    column = 0
    for span in line:
        text = span.text.lstrip(" ")
        x = MARGIN + (column + len(span.text) - len(text)) * LETTER
        column += columns(span.text)
        if not (text := text.rstrip(" ")):
            continue
        weight = ' font-weight="bold"' if span.style == "title" else ""
        wide = f'textLength="{columns(text) * LETTER:.1f}"' if columns(text) > 1 else ""
        yield f'<text x="{x:.1f}" y="{y:.1f}" {wide} fill="{COLORS[span.style]}"{weight}>{escape(text)}</text>'


def main() -> None:
    """Writes the picture to the file that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    parser.parse_args().target.write_text(picture(lines()), encoding="utf-8")


if __name__ == "__main__":
    main()
