"""The classes of a trees file, and which lies under which."""

from __future__ import annotations

from collections import Counter
from typing import Any

from treeanon.errors import DataError
from treeanon.infer.model import Finding

_STAR = "*"


class _Seen:
    """Which classes were seen above each class, and how often."""

    def __init__(self) -> None:
        self.above: dict[str, set[str]] = {}
        self.times: Counter[str] = Counter()
        self.values: dict[str, set[str]] = {}
        self.records: Counter[str] = Counter()

    def record(self, tree: Any, number: int) -> None:
        """Takes in one record's nodes; DataError if they are none."""
        here: set[str] = set()
        stack: list[tuple[Any, tuple[str, ...]]] = [(tree, ())]
        while stack:
            nodes, trail = stack.pop()
            if not isinstance(nodes, list):
                raise _malformed(number)
            for node in nodes:
                if not (isinstance(node, list) and len(node) == 3 and all(isinstance(text, str) for text in node[:2])):
                    raise _malformed(number)
                name = node[0]
                if name != _STAR:
                    self.above.setdefault(name, set()).update(trail)
                    self.times[name] += 1
                    self.values.setdefault(name, set()).add(node[1])
                    here.add(name)
                stack.append((node[2], (*trail, name)))
        self.records.update(here)


def _malformed(number: int) -> DataError:
    return DataError("a tree is an array of [class, value, [children]] with texts", place=f"record {number}")


def tree_classes(records: list[Any]) -> tuple[Finding, ...]:
    """The classes, each under the lowest of those that were seen above it.

    >>> found = tree_classes([{"tree": [["ward", "A", [["illness", "flu", []]]]]}, {"tree": [["illness", "flu", []]]}])
    >>> [(each.name, each.under) for each in found]
    [('ward', '/'), ('illness', 'ward')]
    """
    seen = _Seen()
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict) or "tree" not in record:
            raise DataError('must be an object with a member "tree"', place=f"record {number}")
        seen.record(record["tree"], number)
    parents = _parents(seen.above)
    return tuple(_finding(name, under, seen) for name, under in parents.items())


def _finding(name: str, under: str | None, seen: _Seen) -> Finding:
    distinct = len(seen.values[name])
    where = "directly under the record" if under is None else f"below {under!r}"
    return Finding(
        name,
        None,
        under=under or "/",
        why=f"its nodes were seen {where}",
        facts=f"{distinct:,} distinct value{'s' if distinct != 1 else ''}",
        records=seen.records[name],
        occurrences=seen.times[name],
        distinct=distinct,
    )


def _parents(above: dict[str, set[str]]) -> dict[str, str | None]:
    """For every class the one it lies under; all that were seen above one class lie on one path."""
    parents: dict[str, str | None] = {}
    waiting = dict(above)
    while waiting:
        ready = [name for name in waiting if above[name] <= parents.keys()]
        if not ready:
            raise DataError("classes lie under each other in a circle: no class tree holds them")
        for name in ready:
            del waiting[name]
        parents |= {name: _lowest(above[name], parents) for name in ready}
    return parents


def _lowest(names: set[str], parents: dict[str, str | None]) -> str | None:
    """The lowest class of one path through all of the names; branches are put one below the other for that."""
    path: list[str] = []
    for name in sorted(names, key=lambda each: (len(_path(each, parents)), each)):
        below = [each for each in _path(name, parents) if each not in path]
        if below and path:
            # what lies above the branch lies on the path already
            parents[below[0]] = path[-1]
        path += below
    return path[-1] if path else None


def _path(name: str, parents: dict[str, str | None]) -> list[str]:
    """The classes from the top down to this one."""
    path: list[str] = []
    at: str | None = name
    while at is not None:
        path.append(at)
        at = parents[at]
    return path[::-1]
