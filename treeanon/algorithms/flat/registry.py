"""The searches of tables by name: where each lives, what it does in a line, and which options it takes.

A new search is a module with a function `search(problem, *, …) -> Found`, and one entry here; what its options are is
said in `options.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treeanon.errors import UsageError

if TYPE_CHECKING:
    from treeanon.algorithms.flat.found import Found


@dataclass(frozen=True)
class FlatAlgorithm:
    """One search of a table, and the options that it takes."""

    name: str
    module: str
    help: str
    options: tuple[str, ...] = ()

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


_FLAT = "treeanon.algorithms.flat."

FLAT_ALGORITHMS: dict[str, FlatAlgorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        FlatAlgorithm(
            "optimal", _FLAT + "optimal", "finds the vector with the least loss, by bounds", ("loss", "weights")
        ),
        FlatAlgorithm(
            "samarati",
            _FLAT + "samarati",
            "searches heights by halves, finds all k-minimal vectors",
            ("preference", "weights", "matrix"),
        ),
        FlatAlgorithm(
            "incognito",
            _FLAT + "incognito",
            "goes through subsets of the columns, finds all k-minimal vectors",
            ("preference", "weights"),
        ),
        FlatAlgorithm("datafly", _FLAT + "datafly", "generalises the column with the most values until it holds"),
    )
}

FLAT_DEFAULT = "optimal"


def flat_algorithm_named(name: str) -> FlatAlgorithm:
    """The search of that name; UsageError lists what there is.

    >>> flat_algorithm_named("optimal").options
    ('loss', 'weights')
    >>> flat_algorithm_named("magic")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    treeanon.errors.UsageError: there is no algorithm 'magic'; there is: optimal, samarati, ...
    """
    if name not in FLAT_ALGORITHMS:
        raise UsageError(f"there is no algorithm {name!r}; there is: {', '.join(FLAT_ALGORITHMS)}")
    return FLAT_ALGORITHMS[name]
