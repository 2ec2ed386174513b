"""The searches by name: where each lives, what it does in a line, and which options it takes.

A new search is a module with a function `search(forest, guarantee, *, …) -> Found`, and one entry here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treeanon.errors import UsageError

if TYPE_CHECKING:
    from treeanon.algorithms.tree.solution import Found

RECODINGS = ("sibling", "subtree")
OBJECTIVES = ("loss", "rpd", "rpda")
CLOSED = ("values", "cuts")
SCOPES = ("class", "hierarchy")
EXTENSIONS = ("l-diversity", "negative knowledge")

COMMON = ("seed", "jobs", "progress")
"""What every caller may offer, and a search takes if it has a use for it."""


@dataclass(frozen=True)
class Algorithm:
    """One search. `options` are those that only some searches take; `common` are those of COMMON that it takes.

    `extensions` are what it can guarantee beyond k^(m,n)-anonymity: l-diversity, negative knowledge.
    """

    name: str
    module: str
    help: str
    options: tuple[str, ...] = ()
    common: tuple[str, ...] = ("progress",)
    completable: bool = False
    extensions: tuple[str, ...] = EXTENSIONS

    @property
    def search(self) -> Callable[..., Found]:
        """The function; its module is loaded when this is asked for."""
        found: Callable[..., Found] = importlib.import_module(self.module).search
        return found

    def check(self, options: Iterable[str]) -> None:
        """UsageError for an option that the search does not take."""
        for name in options:
            if name not in self.options:
                own = ", ".join(self.options) or "none of its own"
                raise UsageError(f"algorithm {self.name!r} has no option {name!r}; it has: {own}")

    def check_extensions(self, wanted: Iterable[str]) -> None:
        """UsageError for a guarantee that the search cannot give."""
        for name in wanted:
            if name not in self.extensions:
                able = ", ".join(one.name for one in ALGORITHMS.values() if name in one.extensions)
                raise UsageError(f"algorithm {self.name!r} does not know of {name}; this does: {able}")

    def offered(self, **common: Any) -> dict[str, Any]:
        """Those of the common options that the search takes and that are given."""
        return {name: value for name, value in common.items() if name in self.common and value is not None}


_TREE = "treeanon.algorithms.tree."

ALGORITHMS: dict[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm(
            "maximal",
            _TREE + "maximal",
            "walks to cuts of which nothing can be made finer, from many starts, and takes the best",
            ("recoding", "objective", "weights", "effort", "max_suppressed"),
            COMMON,
        ),
        Algorithm(
            "acs",
            _TREE + "acs",
            "visits every cut that can hold, as published: for small hierarchies",
            ("closed", "scope"),
            completable=True,
            extensions=(),
        ),
        Algorithm(
            "gcs",
            _TREE + "gcs",
            "keeps the g cheapest cuts of each step, as published",
            ("g", "closed", "scope"),
            completable=True,
            extensions=(),
        ),
        Algorithm(
            "ocs",
            _TREE + "ocs",
            "takes no relation apart, as published",
            ("g", "closed", "scope"),
            completable=True,
            extensions=(),
        ),
        Algorithm(
            "miracle",
            _TREE + "miracle",
            "groups like persons and makes each group equal (the baseline)",
            ("window",),
            ("seed", "progress"),
            extensions=("negative knowledge",),
        ),
    )
}

DEFAULT = "maximal"


def algorithm_named(name: str) -> Algorithm:
    """The search of that name; UsageError lists what there is.

    >>> algorithm_named("gcs").options
    ('g', 'closed', 'scope')
    >>> algorithm_named("magic")
    Traceback (most recent call last):
    treeanon.errors.UsageError: there is no algorithm 'magic'; there is: maximal, acs, gcs, ocs, miracle
    """
    if name not in ALGORITHMS:
        raise UsageError(f"there is no algorithm {name!r}; there is: {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name]
