"""Which arrays mix kinds of items, and by which field the kinds are told apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from treeanon.infer.stats import Evidence, Names, Place

_FEWEST, _MOST = 2, 12
_ALIKE = 0.6
"""Kinds that share more of their fields than this, on average, are no kinds."""
_CONSTANT = re.compile(r"[\w][\w .:/+-]{0,60}")

Kinds = Mapping[Names, "Kind"]


@dataclass(frozen=True)
class Kind:
    """The field that tells kinds apart: names to go through, and an attribute at the end in XML."""

    names: tuple[str, ...]
    attribute: str | None


def find_kinds(root: Place) -> dict[Names, Kind]:
    """The fields to tell kinds apart by, for every repeated place that needs one."""
    found: dict[Names, Kind] = {}
    stack = [root]
    while stack:
        place = stack.pop()
        stack.extend(place.fields.values())
        if place.items is not None:
            stack.append(place.items)
        if place.repeated and place.name is not None:
            chosen = next((c for c, seen in place.evidence.items() if _tells_apart(seen, place.objects)), None)
            if chosen is not None:
                is_attribute = chosen[-1].startswith("@")
                found[place.path] = Kind(
                    chosen[:-1] if is_attribute else chosen, chosen[-1][1:] if is_attribute else None
                )
    return found


def _tells_apart(evidence: Evidence, instances: int) -> bool:
    if evidence.items != instances or not _FEWEST <= len(evidence.kinds) <= _MOST:
        return False
    if not all(_CONSTANT.fullmatch(constant) and constant == constant.strip() for constant in evidence.kinds):
        return False
    pairs = list(combinations(evidence.kinds.values(), 2))
    return sum(len(a & b) / (len(a | b) or 1) for a, b in pairs) / len(pairs) <= _ALIKE
