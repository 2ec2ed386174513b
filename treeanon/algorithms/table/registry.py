"""The searches of tables by name: where each lives, what it does in a line, and which options it takes.

A new search is a module with a function `search(problem, *, …) -> Found`, and one entry here; what its options are is
said in `options.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from treeanon.errors import UsageError

if TYPE_CHECKING:
    from treeanon.algorithms.table.options import Style
    from treeanon.algorithms.table.result import Found


@dataclass(frozen=True)
class FlatAlgorithm:
    """One search of a table, and the options that it takes; those `preset` tell it from others of its module.

    `needs` are those that must be given. `groups` says that what it finds is a `Partition` by models of a sensitive
    column too, which can be published as permutations; `reaches` that the models of what it finds are stronger than
    those that it was asked for. `style` is how values are published if nobody says;
    `freeform` that rows hide behind tuples which each stand for k of them, not in groups of rows that look alike.
    `by_row` is of others that say of each row what becomes of it: rows that are alike may fare differently.
    """

    name: str
    module: str
    help: str
    options: tuple[str, ...] = ()
    preset: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    groups: bool = False
    reaches: bool = False
    style: Style = "auto"
    freeform: bool = False
    by_row: bool = False

    @property
    def of_rows(self) -> bool:
        """Whether rows that are alike may fare differently, so that it matters in which order they come."""
        return self.groups or self.freeform or self.by_row

    @property
    def search(self) -> Callable[..., Found]:
        """The function; its module is loaded when this is asked for."""
        found: Callable[..., Found] = importlib.import_module(self.module).search
        return partial(found, **self.preset) if self.preset else found

    def check(self, options: Iterable[str]) -> None:
        """UsageError for an option that the search does not take, or cannot do without."""
        given = set(options)
        for name in sorted(given - set(self.options)):
            own = ", ".join(self.options) or "none of its own"
            raise UsageError(f"algorithm {self.name!r} has no option {name!r}; it has: {own}")
        for name in self.needs:
            if name not in given:
                flag = "--" + name.replace("_", "-")
                raise UsageError(f"algorithm {self.name!r} needs the option {name!r} ({flag}; see the help)")


_FLAT = "treeanon.algorithms.table."
_BLOCKS = "order", "block"

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
        FlatAlgorithm(
            "local",
            _FLAT + "local",
            "releases the cheapest classes of the lattice first, each with nodes of its own",
            ("effort", "style"),
            groups=True,
            style="hierarchy",
        ),
        FlatAlgorithm("datafly", _FLAT + "datafly", "generalizes the column with the most values until it holds"),
        FlatAlgorithm(
            "koptimize",
            _FLAT + "koptimize",
            "cuts ordered columns into intervals at the least cost, or the least found in a time",
            ("metric", "label", "seconds"),
        ),
        FlatAlgorithm("suppress-tuples", _FLAT + "tuple_suppression", "leaves out the rows that fail, alters none"),
        FlatAlgorithm("suppress-columns", _FLAT + "attribute_suppression", "suppresses as few columns as possible"),
        FlatAlgorithm(
            "suppress-cells", _FLAT + "cell_suppression", "suppresses few single values", ("method",), by_row=True
        ),
        FlatAlgorithm(
            "mondrian",
            _FLAT + "mondrian",
            "cuts groups of rows in two along one column, again and again",
            ("mode", "split", "style"),
            groups=True,
        ),
        FlatAlgorithm(
            "topdown",
            _FLAT + "topdown",
            "splits groups between two rows that are far apart",
            ("style",),
            groups=True,
        ),
        FlatAlgorithm(
            "freeform",
            _FLAT + "freeform.exchange",
            "exchanges what tuples cover that each stand for k rows, from the best grouping on",
            ("form", "style", "order", "seconds"),
            freeform=True,
        ),
        FlatAlgorithm("anatomy", _FLAT + "anatomy", "puts rows with different sensitive values together", groups=True),
        FlatAlgorithm(
            "onedim-l",
            _FLAT + "onedim.l_diversity",
            "puts rows in an order and takes groups of different sensitive values from it",
            ("order", "columns", "method", "form", "style", "look_back", "window"),
            groups=True,
        ),
        FlatAlgorithm(
            "onedim-dual",
            _FLAT + "onedim.dual",
            "finds the most privacy for which no more is lost than what is allowed",
            ("max_loss", "order", "columns", "method", "primal", "form", "style"),
            needs=("max_loss",),
            groups=True,
            reaches=True,
        ),
        FlatAlgorithm(
            "onedim",
            _FLAT + "onedim.k_anonymity",
            "puts rows in an order and cuts it best into groups of k and more",
            ("order", "columns", "form", "style"),
            by_row=True,
        ),
        *(
            FlatAlgorithm(
                f"{order}-fast" if fast else order,
                _FLAT + "onedim.k_anonymity",
                f"onedim {way}" + (", cut where that is short" if fast else ""),
                (option, "style") if fast else (option, "form", "style"),
                {"order": order, "fast": fast},
                by_row=True,
            )
            for order, way, option in (
                ("hilbert", "along a Hilbert curve", "bits"),
                ("idistance", "by distances from centers", "centers"),
            )
            for fast in (False, True)
        ),
        *(
            FlatAlgorithm(name, _FLAT + f"freeform.{module}", way, ("form", "style", *options), preset, freeform=True)
            for name, module, way, options, preset in (
                ("freeform-greedy", "greedy", "lets every tuple cover one more row in each round", _BLOCKS, {}),
                ("freeform-sort", "sort_greedy", "the same, by the cheapest pair of all", _BLOCKS, {}),
                ("freeform-hungarian", "hungarian", "the same, by a best assignment in each round", _BLOCKS, {}),
                ("freeform-optimal", "optimal", "covers rows at the least loss, if there are few", ("seconds",), {}),
                ("freeform-nh", "ring", "cuts an order and makes a ring of each group", ("order",), {"grouped": True}),
                ("ring", "ring", "lets every tuple cover a row and the next ones of an order", ("order",), {}),
            )
        ),
    )
}

FLAT_DEFAULT = "local"
PERMUTED_DEFAULT = "mondrian"
"""For publishing as permutations: it finds groups, for any model."""


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
