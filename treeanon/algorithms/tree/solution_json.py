"""From the plain data of a solution to the solution, or to what is wrong with it (never with a value of the data)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from treeanon.algorithms.tree.solution import Label, Solution
from treeanon.errors import UsageError
from treeanon.privacy import Guarantee

PARTS = ("guarantee", "algorithm", "options", "cut", "withheld", "disassociated", "suppressed")
NEEDED = ("guarantee", "algorithm", "cut")


def solution_of(plain: Mapping[str, Any]) -> Solution:
    """The solution that plain data describes.

    >>> plain = {"guarantee": {"k": 5}, "algorithm": "gcs", "cut": {"sex": ["*"]}}
    >>> solution_of(plain).guarantee.k
    5
    >>> solution_of({**plain, "cut": ["sex"]})
    Traceback (most recent call last):
    treeanon.errors.UsageError: cut: must be an object that has a list of texts for every class, or null
    """
    for name in NEEDED:
        if name not in plain:
            raise UsageError(f"{name}: is missing")
    algorithm, suppressed = plain["algorithm"], plain.get("suppressed", 0)
    if not isinstance(algorithm, str):
        raise UsageError("algorithm: must be a text")
    if isinstance(suppressed, bool) or not isinstance(suppressed, int) or suppressed < 0:
        raise UsageError("suppressed: must be a whole number, 0 or more")
    options, withheld = plain.get("options", {}), plain.get("withheld", [])
    if not isinstance(options, dict):
        raise UsageError("options: must be an object")
    if not _is_texts(withheld):
        raise UsageError("withheld: must be a list of classes")
    return Solution(
        guarantee=_guarantee(plain["guarantee"]),
        algorithm=algorithm,
        cut=_cut(plain["cut"]),
        disassociated=_pairs(plain.get("disassociated", [])),
        withheld=tuple(withheld),
        suppressed=suppressed,
        options=options,
    )


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _is_label(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and _is_texts(value)


def _guarantee(plain: object) -> Guarantee:
    known = [part.name for part in fields(Guarantee)]
    if not isinstance(plain, dict) or "k" not in plain:
        raise UsageError("guarantee: must be an object with k")
    if unknown := [name for name in plain if name not in known]:
        raise UsageError(f"guarantee: {len(unknown)} keys of it are unknown; there is: {', '.join(known)}")
    if not _is_texts(plain.get("negative", [])):
        raise UsageError("guarantee: negative: must be a list of classes")
    try:
        return Guarantee(**plain)
    except UsageError as problem:
        raise UsageError(f"guarantee: {problem}") from None


def _cut(plain: object) -> dict[str, tuple[str, ...]] | None:
    if plain is None:
        return None
    if not isinstance(plain, dict) or not all(map(_is_texts, plain.values())):
        raise UsageError("cut: must be an object that has a list of texts for every class, or null")
    return {name: tuple(nodes) for name, nodes in plain.items()}


def _pairs(plain: object) -> tuple[tuple[Label, Label], ...]:
    if not isinstance(plain, list):
        raise UsageError("disassociated: must be a list")
    for number, pair in enumerate(plain, start=1):
        if not (isinstance(pair, list) and len(pair) == 2 and all(map(_is_label, pair))):
            raise UsageError(f"disassociated: entry {number} must be two labels, each [class, value]")
    return tuple(((a, b), (c, d)) for (a, b), (c, d) in plain)
