"""What is asked of a release, checked against the schema before any data are read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from numbers import Integral
from typing import Any

from treeanon.algorithms.tree.default.objectives import check_objective
from treeanon.algorithms.tree.registry import TREE_DEFAULT, TreeAlgorithm, tree_algorithm_named
from treeanon.errors import UsageError
from treeanon.privacy.guarantee import TREE_DIVERSITY, Attacker, Diversity, Guarantee
from treeanon.queries.workload import queries_in
from treeanon.schema import Schema
from treeanon.schema.controls import refuse_controls
from treeanon.schema.persons import of_merged_trees

SMALLEST_K = 2

_LONG = re.compile(r"[eE][+-]?[\d_]{3}")
"""An exponent of so many digits that a fraction, which writes them all out, may not come to an end."""


@dataclass(frozen=True)
class Request:
    """A guarantee, the search to reach it, and what it may cost; UsageError for what cannot be meant.

    `diversity = None` is the default of trees. `l = None` says nothing about diversity, which is refused where the
    schema has sensitive classes. With `max_loss` the largest k is wanted whose value loss is no higher, and `k` is the
    least that will do.

    >>> Request(k=5, algorithm="gcs", options={"g": 4}).guarantee.k
    5
    >>> Request(k=5, algorithm="miracle", options={"effort": 4})
    Traceback (most recent call last):
    treeanon.errors.UsageError: algorithm 'miracle' has no parameter 'effort'; its parameters: window, climit, threshold
    """

    k: int | None = None
    m: int = 2
    n: int = 1
    attacker: Attacker = "independent"
    l: int | None = None  # noqa: E741 - its name in the literature
    diversity: Diversity | None = None
    negative: tuple[str, ...] = ()
    algorithm: str = TREE_DEFAULT
    complete: bool = False
    max_suppressed: int | float | str = 0
    max_loss: float | None = None
    seed: int | None = None
    jobs: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    as_published: bool = False

    def __post_init__(self) -> None:
        if self.k is None and self.max_loss is None:
            raise UsageError("k is required (the minimum number of persons that fit what is known), or max_loss")
        if self.max_loss is not None and not 0 <= self.max_loss <= 1:
            raise UsageError("max_loss must be a number from 0 (nothing lost) to 1 (everything)")
        check_seed(self.seed)
        algorithm, options = self.search, dict(self.options)
        if self.complete and not algorithm.completable:
            raise UsageError(
                f"algorithm {self.algorithm!r} cannot be completed; its results are complete or have no cut"
            )
        carried = {}
        if self.complete:
            finishing = tree_algorithm_named(TREE_DEFAULT)
            carried = finishing.checked({name: value for name, value in options.items() if finishing.takes(name)})
            options = {name: value for name, value in options.items() if name not in carried}
        options = algorithm.checked(options) | carried
        if algorithm.takes("queries") or self.complete:
            if "queries" in options:
                options["queries"] = queries_in(options["queries"])
            check_objective(options.get("objective", "loss"), options.get("queries"))
        object.__setattr__(self, "options", options)
        wanted = {"l-diversity": self.l is not None and self.l > 1, "negative knowledge": bool(self.negative)}
        algorithm.check_guarantees(name for name, is_wanted in wanted.items() if is_wanted)
        if persons(self.max_suppressed, 10**9):
            # A completed cut is carried on for all persons.
            algorithm.check_names(["max_suppressed"])
        _ = self.guarantee

    @property
    def search(self) -> TreeAlgorithm:
        """The search that is asked for."""
        return tree_algorithm_named(self.algorithm)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that is asked for; with `max_loss` alone, that of the smallest k."""
        k = SMALLEST_K if self.k is None else self.k
        return Guarantee(
            k, self.m, self.n, self.attacker, 1 if self.l is None else self.l, self.diversity or TREE_DIVERSITY,
            self.negative,
            self.as_published,
        )  # fmt: skip

    def check(self, schema: Schema) -> None:
        """UsageError if the schema has not the classes that the request needs."""
        self.fitting(schema)
        able = ("weight",) if self.search.takes("weights") else ()
        refuse_controls((one for one in schema.classes if one.published), f"algorithm {self.algorithm!r}", able)
        roles = {spec.name: spec.role for spec in schema.classes if spec.published}
        known = [name for name, role in roles.items() if role == "quasi"]
        sensitive = [name for name, role in roles.items() if role == "sensitive"]
        if not known:
            raise UsageError("no class of the schema has role quasi: the guarantee would speak of nothing")
        if sensitive and self.l is None:
            raise UsageError(
                f"the schema calls {_listed(sensitive)} sensitive: give l (--l N, 2 or more, so that nobody learns its"
                " value of a person; --l 1 states that no diversity is wanted)"
            )
        if self.l is not None and self.l > 1 and not sensitive:
            raise UsageError("l-diversity needs a class with role sensitive; the schema has none")
        weights = self.options.get("weights") or {}
        for what, names in (("negative knowledge", self.negative), ("a weight", weights)):
            for name in names:
                if name not in roles:
                    raise UsageError(f"{what}: unknown class {name!r}; choose from {', '.join(known)}")
                if name not in known:
                    raise UsageError(
                        f"{what}: the role of class {name!r} is not quasi; of that role: {', '.join(known)}"
                    )

    def weighted(self, schema: Schema) -> Request:
        """Return the request with the weights that the schema gives to classes, over which its own win."""
        own = {spec.name: spec.controls.weight for spec in schema.classes if "weight" in spec.controls.given}
        if not own or not self.search.takes("weights"):
            return self
        return replace(self, options={**self.options, "weights": {**own, **(self.options.get("weights") or {})}})

    def fitting(self, schema: Schema) -> Schema:
        """Return the schema by which data are read for this: that of merged trees, where they are needed.

        UsageError where the schema itself says that objects stay whole.
        """
        reason = self.why_merged
        return of_merged_trees(schema, reason) if reason else schema

    @property
    def why_merged(self) -> str:
        """Why merged trees are needed; an empty text if they are not."""
        if self.algorithm != TREE_DEFAULT or self.complete:
            return f"algorithm {self.algorithm!r} searches merged trees, which do not keep objects apart"
        if self.options.get("taking_apart") == "move":
            return "taking_apart = move: nothing moves out of objects that stay whole"
        return self.guarantee.of_merged_trees


def request_of(*, negative: str | Sequence[str] = (), **asked: Any) -> Request:
    """Return the request that keyword parameters make, those of the search among them; None leaves it to the search.

    >>> request_of(k=5, algorithm="gcs", g=4, weights=None).options
    {'g': 4}
    """
    own = {one.name for one in fields(Request)} - {"options", "negative"}
    classes = (negative,) if isinstance(negative, str) else tuple(negative)
    options = {name: value for name, value in asked.items() if name not in own and value is not None}
    given = {name: asked[name] for name in own if name in asked}
    if given.get("algorithm", TREE_DEFAULT) is None:
        del given["algorithm"]
    return Request(negative=classes, options=options, **given)


def _listed(names: list[str]) -> str:
    return ("class " if len(names) == 1 else "classes ") + ", ".join(map(repr, names))


def check_seed(seed: object) -> None:
    """UsageError for a seed that is none.

    >>> check_seed(1)
    """
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0):
        raise UsageError("seed must be a whole number from 0 on, or None")


def persons(given: int | float | str, records: int, name: str = "max_suppressed") -> int:
    """Return the number of persons that a bound means: a count, a share below 1, or a text as "12", "1%" or "100%".

    >>> persons("1%", 615), persons(0.01, 615), persons("12", 615), persons(12, 615)
    (6, 6, 12, 12)
    """
    wrong = UsageError(
        f'{name} must be a number of persons, or a share such as "1%" or 0.01; the number whole, such as 12'
    )
    if isinstance(given, bool):
        raise wrong
    try:
        share = isinstance(given, str) and given.strip().endswith("%")
        text = str(given).strip().removesuffix("%")
        value = Fraction(-1 if _LONG.search(text) else text)
    except (ValueError, ZeroDivisionError):
        raise wrong from None
    if share:
        value /= 100
    # A count of 1.0 would be as likely meant as everybody.
    if share or (isinstance(given, float) and 0 < given < 1):
        if not 0 <= value <= 1:
            raise wrong
        return int(value * records)
    if value < 0 or value.denominator != 1:
        raise wrong
    return int(value)
