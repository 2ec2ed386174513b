"""Where what was measured goes: printed, and into the part of a file that is between two marks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def put(lines: Iterable[str], name: str, results: Path | None) -> None:
    """Prints the lines, and puts them in place of what stands under a name in the results, if there are any."""
    text = "\n".join(lines)
    print(text, flush=True)
    if results is None:
        return
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    old = results.read_text()
    results.write_text(old[: old.index(start) + len(start)] + f"\n{text}\n" + old[old.index(end) :])
