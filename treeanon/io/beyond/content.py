"""Records as plain content, to compare what a file holds with what would be written of what was read of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treeanon.io.beyond.findings import Findings

Content = str | dict[str, list[Any]]
"""A value as text, or what stands under each name, in order."""


def compare(own: Content, canonical: Content, found: Findings) -> None:
    """Count how a record differs from the same record as it would be written.

    >>> found = Findings()
    >>> compare({"ill": ["Flu", "Acne"]}, {"ill": ["Acne", "Flu"]}, found)
    >>> compare({"ill": ["Flu", "Flu"]}, {"ill": ["Flu"]}, found)
    >>> compare({"age": ["034"]}, {"age": ["34"]}, found)
    >>> dict(found.counts)
    {'order': 1, 'repeats': 1, 'spellings': 1}
    """
    if own == canonical:
        return
    if _sorted(own) == _sorted(canonical):
        found.add("order")
    elif _sorted(own, values=False) == _sorted(canonical, values=False):
        theirs = list(_values(canonical))
        found.add("spellings", max(1, sum(value not in theirs for value in _values(own))))
    elif (more := _size(own) - _size(canonical)) > 0:
        found.add("repeats", more)
    else:
        found.add("form")


def _sorted(content: Content, *, values: bool = True) -> Any:
    """Return the content without its order, and perhaps without its values."""
    if isinstance(content, str):
        return content if values else ""
    return tuple(
        (name, tuple(sorted((_sorted(item, values=values) for item in content[name]), key=repr)))
        for name in sorted(content)
    )


def _values(content: Content) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    else:
        for items in content.values():
            for item in items:
                yield from _values(item)


def _size(content: Content) -> int:
    """Return the number of values and objects."""
    if isinstance(content, str):
        return 1
    return 1 + sum(_size(item) for items in content.values() for item in items)
