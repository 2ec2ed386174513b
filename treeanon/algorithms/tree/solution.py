"""What a search finds: the cut, the ordered disassociations, and how to apply them.

A relation is disassociated as in Definition 2 of O. Gkountouna and M. Terrovitis, "Anonymizing collections of
tree-structured data" (IEEE TKDE 2015), Section II-D.

From the plain data of a solution to the solution, or to what is wrong with it (never with a value of the data).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from treeanon.arrays import Longs, unique_values
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.privacy import Guarantee
from treeanon.schema.model import OBJECTS, Objects

Label = tuple[str, str]
LabelPair = tuple[Label, Label]

LabelRule = tuple[Label, Label] | tuple[Label, Label, str]
"""A trigger and the label that is left out; where objects stay whole, with the type of the objects."""


@dataclass(frozen=True, repr=False)
class Solution:
    """A recipe that makes a release: project to `cut`, disassociate pairs in order, leave out by rules.

    `cut` has the published hierarchy nodes of every class, `{"*": ("*",)}` is the cut {*}; None where recoding is local
    (the release of MiRaCle has no cut). Classes of `withheld` are not published at all: their nodes are left out, what
    hangs under them goes to their parents. A rule (a, b) of `left_out` leaves out every b below an a; rules are applied
    from the top of the class tree down. Where objects stay whole a rule (a, b, t) leaves b out of each object of type t
    that holds an a, and rules are applied in their order. `suppressed` counts the persons left out as outliers.
    `objects` says of which trees it is: of merged ones, or of those in which objects stay whole.
    """

    guarantee: Guarantee
    algorithm: str
    cut: Mapping[str, tuple[str, ...]] | None
    disassociated: tuple[tuple[Label, Label], ...] = ()
    withheld: tuple[str, ...] = ()
    suppressed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[LabelRule, ...] = ()
    objects: Objects = "merged"

    def __repr__(self) -> str:
        # Nodes and pairs are values of the data, and a repr ends up in logs and tracebacks.
        g, nodes = self.guarantee, sum(map(len, (self.cut or {}).values()))
        moved = len(self.disassociated)
        return f"<Solution: {g.k}^({g.m},{g.n}) by {self.algorithm}, {nodes} nodes in the cut, {moved} disassociated>"

    def apply(self, forest: Forest) -> Forest:
        """Return the trees that the solution publishes, for the same or other data (suppressed persons are not its
        matter).
        """
        return self.taken_apart(forest).leave_out(self.left_out)

    def taken_apart(self, forest: Forest) -> Forest:
        """Return the same before anything is left out."""
        if self.cut is None:
            raise ValueError("a local recoding has no cut to apply")
        cut: Any = STAR if STAR in self.cut else self.cut
        return forest.without(self.withheld).project(cut).disassociate(self.disassociated)

    def as_dict(self) -> dict[str, Any]:
        """Return the solution as plain data, as solution files hold it.

        >>> Solution(Guarantee(5), "gcs", {"sex": ("*",)}).as_dict()["cut"]
        {'sex': ['*']}
        """
        return {
            "guarantee": self.guarantee.as_dict(),
            "algorithm": self.algorithm,
            "options": {name: plain_data(value) for name, value in self.options.items()},
            "cut": None if self.cut is None else {name: list(nodes) for name, nodes in self.cut.items()},
            "withheld": list(self.withheld),
            "disassociated": [[list(upper), list(lower)] for upper, lower in self.disassociated],
            "left_out": [[list(rule[0]), list(rule[1]), *rule[2:]] for rule in self.left_out],
            "suppressed": self.suppressed,
            "objects": self.objects,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Solution:
        """Return the solution of such plain data; UsageError says which part is not as it should be."""

        return solution_of(plain)


def plain_data(value: Any) -> Any:
    """Return an option or a count as JSON can hold it."""
    if isinstance(value, Mapping):
        return {str(key): plain_data(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(inner) for inner in value]
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Result:
    """What a search gives back: the solution, the anonymous trees, and which records they come from (None: all)."""

    solution: Solution
    forest: Forest
    kept: Longs | None = None
    report: Mapping[str, Any] = field(default_factory=dict)


def cut_of_map(forest: Forest, mapping: np.ndarray) -> dict[str, tuple[str, ...]]:
    """Return the cut as texts for an array that has for every label the label it is published as."""
    classes = forest.classes
    if not mapping.any():
        return {STAR: (STAR,)}
    first = classes.first
    return {
        name: tuple(classes.texts[label] for label in unique_values(mapping[first[i] : first[i + 1]]).tolist())
        for i, name in enumerate(classes.names)
    }


PARTS = ("guarantee", "algorithm", "options", "cut", "withheld", "disassociated", "left_out", "suppressed", "objects")
NEEDED = ("guarantee", "algorithm", "cut")


def solution_of(plain: Mapping[str, Any]) -> Solution:
    """Return the solution that plain data describes.

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
    rules = _rules(plain)
    # Files that do not say so were made when trees were merged, unless the schema or a rule said otherwise.
    objects = plain.get("objects", "whole" if any(len(rule) == 3 for rule in rules) else "merged")
    if objects not in OBJECTS:
        raise UsageError(f"objects: must be one of {', '.join(OBJECTS)}")
    return Solution(
        guarantee=_guarantee(plain["guarantee"]),
        algorithm=algorithm,
        cut=_cut(plain["cut"]),
        disassociated=_pairs(plain, "disassociated"),
        left_out=rules,
        objects=objects,
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
        raise UsageError(f"guarantee: {len(unknown)} keys of it are unknown; choose from {', '.join(known)}")
    if not _is_texts(plain.get("negative", [])):
        raise UsageError("guarantee: negative: must be a list of classes")
    try:
        # Files that do not say so were made when nothing but the guarantee as published was known.
        return Guarantee(**{"as_published": True, **plain})
    except UsageError as problem:
        raise UsageError(f"guarantee: {problem}") from None


def _cut(plain: object) -> dict[str, tuple[str, ...]] | None:
    if plain is None:
        return None
    if not isinstance(plain, dict) or not all(map(_is_texts, plain.values())):
        raise UsageError("cut: must be an object that has a list of texts for every class, or null")
    return {name: tuple(nodes) for name, nodes in plain.items()}


def _pairs(plain: Mapping[str, Any], part: str) -> tuple[tuple[Label, Label], ...]:
    pairs = plain.get(part, [])
    if not isinstance(pairs, list):
        raise UsageError(f"{part}: must be a list")
    for number, pair in enumerate(pairs, start=1):
        if not (isinstance(pair, list) and len(pair) == 2 and all(map(_is_label, pair))):
            raise UsageError(f"{part}: entry {number} must be two labels, each [class, value]")
    return tuple(((a, b), (c, d)) for (a, b), (c, d) in pairs)


def _rules(plain: Mapping[str, Any]) -> tuple[LabelRule, ...]:
    """Return the rules of leaving out, in their order."""
    rules = plain.get("left_out", [])
    if not isinstance(rules, list):
        raise UsageError("left_out: must be a list")
    out: list[LabelRule] = []
    for number, rule in enumerate(rules, start=1):
        labels, types = (rule[:2], rule[2:]) if isinstance(rule, list) else ([], [])
        if len(labels) != 2 or not all(map(_is_label, labels)) or len(types) > 1 or not _is_texts(types):
            raise UsageError(
                f"left_out: entry {number} must be two labels, each [class, value], and for whole objects their type"
            )
        (a, b), (c, d) = labels
        out.append(((a, b), (c, d), types[0]) if types else ((a, b), (c, d)))
    return tuple(out)
