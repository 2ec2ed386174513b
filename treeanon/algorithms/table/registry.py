"""The searches of tables: where each lives, what it does, from which paper, and its parameters.

A new search is a module with a function `search(problem, *, …) -> Result`, and one entry here, or in another package
one entry point of the group `treeanon.algorithms`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from treeanon.algorithms import algorithm as papers
from treeanon.algorithms.algorithm import Algorithm, AlgorithmRegistry
from treeanon.parameters import Parameter

if TYPE_CHECKING:
    from treeanon.algorithms.table.result import Result

Style = Literal["auto", "hierarchy", "ranges", "sets"]
STYLES: tuple[Style, ...] = ("auto", "hierarchy", "ranges", "sets")

EVERY_MODEL = ("k-anonymity", "every model of sensitive classes")
OF_LEVELS = (*EVERY_MODEL, "models of a whole release and of a population")

COMMON_PARAMETERS = (
    Parameter("k", "int", "Minimum group size; other models have parameters of their own.", minimum=1),
    Parameter("publish", "choice", "How groups are published.", "generalized", ("generalized", "permuted")),
    Parameter("max_suppressed", "int", "Persons that may be left out.", 0, minimum=0, shared=True),
    Parameter("seed", "int", "Seed of the random choices, for results that can be repeated.", minimum=0),
)
"""What every request of tables may say, whatever the search, beside the parameters of privacy models."""


@dataclass(frozen=True)
class TableAlgorithm(Algorithm):
    """A search of a table: `search(problem, *, …) -> Result`.

    `groups` says that what it finds is a `Partition` by models of a sensitive column too, which can be published as
    permutations; `reaches` that the models of what it finds are stronger than those that it was asked for. `style` is
    how values are published if nobody says; `freeform` that rows hide behind tuples which each stand for k of them, not
    in groups of rows that look alike. `by_row` is of others that say of each row what becomes of it: rows that are
    alike may fare differently. `levels` says that it generalizes whole columns, one level each, so that it knows all
    groups of a release at once, as models of the whole and of a population need. `in_parts` says that parts of a very
    large table may be searched apart. `honors` names the controls of single columns
    (`treeanon.schema.controls.Controls`) that it keeps; requests refuse the others. Values are on their least level
    before any search; `in_cells` says that rows which differ on the highest levels are searched apart, as the search
    knows nothing of these.
    """

    kind: ClassVar[str] = "tables"

    guarantees: tuple[str, ...] = EVERY_MODEL
    groups: bool = False
    reaches: bool = False
    style: Style = "auto"
    freeform: bool = False
    by_row: bool = False
    in_parts: bool = False
    levels: bool = False
    honors: tuple[str, ...] = ()
    in_cells: bool = False

    @property
    def search(self) -> Callable[..., Result]:
        """Import the module of the search and return its function."""
        found: Callable[..., Result] = super().search
        return found

    @property
    def of_rows(self) -> bool:
        """Whether rows that are alike may fare differently, so that it matters in which order they come."""
        return self.groups or self.freeform or self.by_row

    def as_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data, for listings."""
        return super().as_dict() | {"honors": list(self.honors)}


_TABLE = "treeanon.algorithms.table."

_LEVELS = ("min_level", "max_level")
_GROUPED = (*_LEVELS, "microaggregate")
_EVERY = ("weight", *_GROUPED)
_STYLED = (*_EVERY, "style")
_GROUPS = (*_STYLED, "max_span")

_PREFERENCE = Parameter(
    "preference", "choice", "Which of the k-minimal vectors is taken.", "minimum_absolute_distance",
    ("minimum_absolute_distance", "minimum_relative_distance", "maximum_distribution", "minimum_suppression",
     "minimum_distance_peak", "fewest_generalized", "most_generalized"),
)  # fmt: skip
_SUPPRESSED = Parameter(
    "suppressed", "choice", "Publish nothing of suppressed rows, or all but their quasi values.", "none",
    ("none", "other_columns"),
)  # fmt: skip
_STYLE = Parameter("style", "choice", "How values of a group are published.", "auto", STYLES)
_FORM = Parameter("form", "choice", "Form of NCP whose mean is minimized.", "taxonomy", ("taxonomy", "set", "free"))
_ORDERS = ("best", "adaptive", "hilbert", "idistance", "lexicographic", "user")
_ORDER = Parameter("order", "choice", "Order of the rows that is cut into groups.", "best", _ORDERS)
_BY = Parameter("by", "choice", "Who takes whom; original: as published.", "tuple", ("tuple", "original"))
_BITS = Parameter("bits", "int", "The curve has 2^N cells a side (order hilbert).", minimum=1, maximum=31)
_CENTERS = Parameter("centers", "int", "Number of centers (order idistance).", minimum=1, aliases=("centres",))
_SWAPS = Parameter("look_back", "int", "Number of preceding groups searched for swaps.", 0, minimum=0)
_COLUMNS = Parameter("columns", "classes", "Columns to sort by first (order user).")
_SECONDS = Parameter("seconds", "float", "Time limit; the best result found until then is taken.", 60.0, minimum=0)
_MAX_LOSS = Parameter(
    "max_loss", "float", "Largest loss (NCP) that is allowed.", minimum=0, maximum=1, required=True, shared=True
)

_MAX_GROUP_LOSS = Parameter(
    "max_group_loss", "float", "Largest NCP that any group may have.", minimum=0, maximum=1, shared=True
)


def _method(default: str, *choices: str) -> Parameter:
    return Parameter("method", "choice", "How groups are formed.", default, choices)


def _lattice_searches() -> Iterable[TableAlgorithm]:
    """Searches that generalize every column to one level."""
    yield TableAlgorithm(
        "optimal",
        _TABLE + "optimal",
        "finds the generalization with the least loss, by branch and bound",
        (Parameter("loss", "choice", "What is minimized.", "gcp", ("height", "gcp", "gcp_set", "precision")),),
        levels=True,
        guarantees=OF_LEVELS,
        honors=_EVERY,
    )
    yield TableAlgorithm(
        "samarati",
        _TABLE + "samarati",
        "binary search over heights of the lattice; finds all k-minimal vectors",
        (
            _PREFERENCE,
            Parameter("matrix", "flag", "Build the matrix of distance vectors, as published."),
            _SUPPRESSED,
        ),
        paper=papers.SAMARATI,
        section="Sections 4 and 5",
        levels=True,
        guarantees=OF_LEVELS,
        honors=_EVERY,
    )
    yield TableAlgorithm(
        "incognito",
        _TABLE + "incognito",
        "searches subsets of the columns by size; finds all k-minimal vectors",
        (_PREFERENCE,),
        paper=papers.INCOGNITO,
        levels=True,
        guarantees=OF_LEVELS,
        honors=_EVERY,
    )
    yield TableAlgorithm(
        "datafly",
        _TABLE + "datafly",
        "generalizes the column with the most values until it holds",
        paper=papers.DATAFLY,
        levels=True,
        guarantees=OF_LEVELS,
        honors=_GROUPED,
    )


def _suppressing_searches() -> Iterable[TableAlgorithm]:
    """Searches that suppress rows, columns or cells and generalize nothing."""
    yield TableAlgorithm(
        "suppress-tuples",
        _TABLE + "suppression",
        "leaves out the rows that fail, alters none",
        function="tuple_suppression",
        paper=papers.THEORY,
        section="TS",
        honors=_LEVELS,
    )
    yield TableAlgorithm(
        "suppress-columns",
        _TABLE + "suppression",
        "suppresses as few columns as possible",
        function="attribute_suppression",
        paper=papers.THEORY,
        section="AS",
        honors=_LEVELS,
    )
    yield TableAlgorithm(
        "suppress-cells",
        _TABLE + "cell_suppression",
        "suppresses few single values, or generalizes them",
        (
            _method("auto", "auto", "forest", "matching", "factor"),
            Parameter(
                "cells",
                "choice",
                "Suppress values, or generalize them level by level.",
                "suppress",
                ("suppress", "generalize"),
            ),
        ),
        paper=papers.CELLS,
        by_row=True,
        honors=("min_level",),
    )


def _grouping_searches() -> Iterable[TableAlgorithm]:
    """Searches that form groups of rows, each published with values of its own."""
    yield TableAlgorithm(
        "local",
        _TABLE + "local",
        "releases the cheapest groups of the lattice first, each with nodes of its own",
        (
            Parameter("effort", "int", "Number of walks, of which the best is taken.", minimum=0, shared=True),
            replace(_STYLE, default="hierarchy"),
            _MAX_GROUP_LOSS,
        ),
        groups=True,
        style="hierarchy",
        in_parts=True,
        honors=_GROUPS,
        in_cells=True,
    )
    yield TableAlgorithm(
        "koptimize",
        _TABLE + "koptimize",
        "cuts ordered columns into intervals at the least cost",
        (
            Parameter("metric", "choice", "Cost: discernibility or classification metric.", "dm", ("dm", "cm")),
            Parameter("label", "class", "Target column of the classification metric (cm)."),
            _SECONDS,
        ),
        paper=papers.K_OPTIMIZE,
    )
    yield TableAlgorithm(
        "mondrian",
        _TABLE + "mondrian",
        "cuts groups of rows in two along one column, again and again",
        (
            Parameter("mode", "choice", "relaxed: equal values may be divided.", "strict", ("strict", "relaxed")),
            Parameter("split", "choice", "Where groups are cut.", "median", ("median", "ncp")),
            _STYLE,
            _MAX_GROUP_LOSS,
        ),
        paper=papers.MONDRIAN,
        groups=True,
        in_parts=True,
        honors=_GROUPS,
        in_cells=True,
    )
    yield TableAlgorithm(
        "topdown",
        _TABLE + "topdown",
        "splits groups between two rows that are far apart",
        (_STYLE, _MAX_GROUP_LOSS),
        paper=papers.TOP_DOWN,
        groups=True,
        in_parts=True,
        honors=_GROUPS,
        in_cells=True,
    )
    yield TableAlgorithm(
        "anatomy",
        _TABLE + "anatomy",
        "puts rows with different sensitive values together",
        (_MAX_GROUP_LOSS,),
        paper=papers.ANATOMY,
        guarantees=("frequency l-diversity", "k-anonymity beside it"),
        groups=True,
        in_parts=True,
        honors=(*_LEVELS, "max_span"),
        in_cells=True,
    )


def _ordering_searches() -> Iterable[TableAlgorithm]:
    """Searches that put rows in an order and cut it into groups."""
    k_anonymity = TableAlgorithm(
        "onedim",
        _TABLE + "onedim.k_anonymity",
        "puts rows in an order and cuts it at the least loss into groups of k and more",
        (_ORDER, _COLUMNS, _BITS, _CENTERS, _FORM, _STYLE, _SWAPS, _MAX_GROUP_LOSS),
        paper=papers.ONEDIM,
        section="Sections 3 and 4",
        by_row=True,
        in_parts=True,
        honors=_GROUPS,
        in_cells=True,
    )
    yield TableAlgorithm(
        "onedim-l",
        _TABLE + "onedim.l_diversity",
        "puts rows in an order and takes groups of different sensitive values from it",
        (
            _ORDER,
            _COLUMNS,
            _BITS,
            _CENTERS,
            _method("auto", "auto", "heuristic", "near", "optimal", "dual", "runs"),
            _FORM,
            _STYLE,
            Parameter(
                "objective",
                "choice",
                "Loss of all rows, or of the worst group (optimal, dual).",
                "mean",
                ("mean", "max"),
            ),
            Parameter("look_back", "int", "Number of preceding groups searched for swaps.", 1, minimum=0),
            Parameter("window", "int", "Number of next rows that a group is formed from (near).", 512, minimum=1),
            _MAX_GROUP_LOSS,
        ),
        paper=papers.ONEDIM,
        section="Section 5",
        groups=True,
        in_parts=True,
        honors=_GROUPS,
        in_cells=True,
    )
    yield TableAlgorithm(
        "onedim-dual",
        _TABLE + "onedim.dual",
        "finds the most privacy whose loss is at most the one allowed",
        (
            _MAX_LOSS,
            Parameter(
                "bound",
                "choice",
                "Whose loss max_loss bounds: of every group, or of all in the mean.",
                "group",
                ("group", "mean"),
            ),
            _ORDER,
            _COLUMNS,
            _method("heuristic", "heuristic", "optimal", "ipcsd"),
            Parameter("primal", "choice", "Search that is repeated (ipcsd).", None, ("onedim", "mondrian")),
            _FORM,
            _STYLE,
        ),
        paper=papers.ONEDIM,
        section="Section 6",
        guarantees=("k-anonymity or frequency l-diversity",),
        groups=True,
        reaches=True,
        honors=("weight", "min_level", "style", "max_span"),
    )
    yield k_anonymity
    for order, words, own in (("hilbert", "along a Hilbert curve", _BITS), ("idistance", "by iDistance", _CENTERS)):
        for fast in (False, True):
            yield replace(
                k_anonymity,
                name=f"{order}-fast" if fast else order,
                summary=f"onedim {words}" + (", cut where groups are short" if fast else ""),
                parameters=(own, *(() if fast else (_FORM,)), _STYLE, *(() if fast else (_SWAPS,)), _MAX_GROUP_LOSS),
                preset={"order": order, "fast": fast},
                guarantees=("k-anonymity",) if fast else EVERY_MODEL,
            )


def _freeform_searches() -> Iterable[TableAlgorithm]:
    """Searches by which every published tuple stands for k rows, and every row for k tuples."""
    base = TableAlgorithm(
        "freeform",
        _TABLE + "freeform.exchange",
        "improves the best grouping found by exchanging the rows that tuples cover",
        (_FORM, _STYLE, _ORDER, replace(_SECONDS, default=30.0)),
        guarantees=("k-anonymity",),
        freeform=True,
        honors=("weight", *_LEVELS, "style"),
        in_cells=True,
    )
    yield base
    order = replace(_ORDER, help="Order of the rows that is cut into blocks.", default="adaptive")
    for name, function, summary, section, block in (
        ("greedy", "greedy", "lets every tuple cover its cheapest row in each round", "Algorithm 1", 20_000),
        ("sort", "greedy_sorted", "takes the cheapest pair of all in each round", "SortGreedy", 10_000),
        ("hungarian", "hungarian", "makes an optimal assignment in each round", "Hungarian", 1_000),
    ):
        rows = Parameter("block", "int", "Number of rows that are searched together.", block, minimum=2)
        own = (_BY, rows) if name == "greedy" else (rows,)
        yield replace(
            base,
            name=f"freeform-{name}",
            module=_TABLE + "freeform.heuristics",
            function=function,
            summary=summary,
            parameters=(_FORM, _STYLE, order, *own),
            paper=papers.FREEFORM,
            section=section,
        )
    yield replace(
        base,
        name="freeform-optimal",
        module=_TABLE + "freeform.optimal",
        summary="finds the graph with the least loss, for few rows",
        parameters=(_FORM, _STYLE, _SECONDS),
        paper=papers.FREEFORM,
        section="Section 4",
    )
    ring = replace(
        base,
        name="ring",
        module=_TABLE + "freeform.heuristics",
        function="ring",
        summary="lets every tuple cover a row and the next ones of an order",
        parameters=(_FORM, _STYLE, replace(_ORDER, default="hilbert", help="Order of the rows.")),
    )
    grouped = "cuts an order into groups and makes a ring of each"
    yield replace(ring, name="freeform-nh", summary=grouped, preset={"grouped": True}, paper=papers.RINGS)
    yield ring


TABLE_ALGORITHMS = AlgorithmRegistry(
    TableAlgorithm,
    (
        *_lattice_searches(),
        *_grouping_searches(),
        *_suppressing_searches(),
        *_ordering_searches(),
        *_freeform_searches(),
    ),
)

TABLE_DEFAULT = "local"
PERMUTED_DEFAULT = "mondrian"
"""For publishing as permutations: it finds groups, for any model."""


def table_algorithm_named(name: str) -> TableAlgorithm:
    """Return the search of tables of that name; UsageError lists what there is.

    >>> [parameter.name for parameter in table_algorithm_named("optimal").parameters]
    ['loss']
    >>> table_algorithm_named("magic")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    treeanon.errors.UsageError: unknown algorithm 'magic'; choose from optimal, samarati, ...
    """
    return TABLE_ALGORITHMS.named(name)
