"""Draws the pictures of the walk through the running example of the paper on trees, as docs/paper-example.md shows it.

python samples/make_paper_pictures.py docs/assets/paper
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from treeanon.reports.paper_example import picture_file, steps


def pictures() -> Iterator[tuple[str, str]]:
    """The name and the text of every picture."""
    for step in steps():
        for picture in step.pictures:
            yield f"{picture.name}.svg", picture_file(picture)


def main() -> None:
    """Writes the pictures to the folder that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    target = parser.parse_args().target
    target.mkdir(parents=True, exist_ok=True)
    for name, text in pictures():
        (target / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
