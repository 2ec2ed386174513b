"""Facets of JSON documents as they are meant: for each value what stands beside it everywhere, by plain loops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Found = dict[str, set[str | None]]


def told(records: Iterable[dict[str, Any]]) -> tuple[Found, Found]:
    """Return for each code of `conditions[].coding[]` the displays beside it and the texts around it; None: none."""
    displays: Found = {}
    texts: Found = {}
    for record in records:
        for condition in record.get("conditions", []):
            for coding in condition.get("coding", []):
                if coding.get("code"):
                    displays.setdefault(coding["code"], set()).add(coding.get("display") or None)
                    texts.setdefault(coding["code"], set()).add(condition.get("text") or None)
    return displays, texts


def agreed(found: Found) -> dict[str, str]:
    """Return the facet of each value that has one, and the same everywhere."""
    return {value: text for value, (text, *more) in ((v, list(t)) for v, t in found.items()) if text and not more}
