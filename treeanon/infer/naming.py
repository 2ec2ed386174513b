"""Names for classes: the last step that says something, longer where two would be the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import count

_GENERIC = frozenset(
    {
        "name",
        "value",
        "text",
        "code",
        "display",
        "coding",
        "item",
        "items",
        "title",
        "label",
        "description",
        "desc",
        "entry",
        "resource",
        "data",
        "root",
        "string",
        "valuestring",
        "valuequantity",
        "valuecodeableconcept",
        "kind",
        "key",
        "#text",
        "list",
    }
)
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


def class_names(labels: Sequence[tuple[str, ...]], at_record: Sequence[bool]) -> list[str]:
    """A name for each class, given the names on the way to it; all names differ.

    >>> class_names([("age",), ("visits", "name"), ("pets", "kind"), ("pets", "age")], [True, False, False, False])
    ['age', 'visits', 'pets', 'pets_age']
    """
    wanted = [_proposals(own, top) for own, top in zip(labels, at_record, strict=True)]
    length = [0] * len(wanted)
    while True:
        names = [proposals[min(at, len(proposals) - 1)] for proposals, at in zip(wanted, length, strict=True)]
        times = Counter(names)
        longer = [i for i, name in enumerate(names) if times[name] > 1 and length[i] + 1 < len(wanted[i])]
        if not longer:
            return _numbered(names)
        for at in longer:
            length[at] += 1


def _proposals(labels: tuple[str, ...], at_record: bool) -> list[str]:
    """Names from short to long; a generic last step borrows from the one before."""
    parts = [part for part in (_clean(label) for label in labels) if part] or ["field"]
    telling = [part for part in parts if part.lower() not in _GENERIC] or parts[-1:]
    if len(parts) == 1 or (at_record and len(labels) == 1):
        return parts[-1:]
    saying = telling if parts[-1] == telling[-1] else [*telling, parts[-1]]
    proposals = [telling[-1]]
    for some in (saying, parts):
        proposals += ["_".join(dict.fromkeys(some[-number:])) for number in range(2, len(some) + 1)]
    return list(dict.fromkeys(proposals))


def _clean(label: str) -> str:
    return _NOT_IN_NAMES.sub("_", label).strip("_.-")


def _numbered(names: list[str]) -> list[str]:
    """The names, with numbers after those that are there already."""
    taken: set[str] = set()
    out: list[str] = []
    reserved = set(names)
    for name in names:
        chosen = name
        if name in taken:
            chosen = next(n for n in (f"{name}_{i}" for i in count(2)) if n not in taken and n not in reserved)
        taken.add(chosen)
        out.append(chosen)
    return out
