"""The searches of trees: where each lives, what it does, from which paper, and its parameters.

A new search is a module with a function `search(forest, guarantee, *, …) -> Result`, and one entry here, or in another
package one entry point of the group `treeanon.algorithms`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from treeanon.algorithms.algorithm import MULTIRELATIONAL, TREE, Algorithm, AlgorithmRegistry
from treeanon.errors import UsageError
from treeanon.parameters import Parameter

if TYPE_CHECKING:
    from treeanon.algorithms.tree.solution import Result

RECEIVED = ("seed", "jobs", "progress", "finish")
"""What every caller offers, and a search receives if it has a use for it: `finish` is set to get the best so far."""

GUARANTEES = ("k^(m,n)-anonymity", "l-diversity", "negative knowledge")

COMMON_PARAMETERS = (
    Parameter("k", "int", "Minimum number of persons that fit whatever is known.", minimum=1),
    Parameter("m", "int", "Values of a person that an attacker may know.", 2, minimum=0),
    Parameter("n", "int", "Relations between them that the attacker may know.", 1, minimum=0),
    Parameter(
        "attacker", "choice", "joint: relations are known to be of the same nodes.", "independent",
        ("independent", "joint"),
    ),
    Parameter("l", "int", "Diversity of sensitive classes; 1: none is wanted.", minimum=1),
    Parameter(
        "diversity", "choice", "How l counts: largest share of a value, or values left without those that hold one.",
        "frequency", ("frequency", "distinct"),
    ),
    Parameter("negative", "classes", "Classes of which an attacker may know what a person lacks."),
    Parameter("as_published", "flag", "False: hide what is known of the original, too.", True),
    Parameter("max_loss", "float", "Find the largest k whose value loss is at most this.", minimum=0, maximum=1),
    Parameter("seed", "int", "Seed of the random choices, for results that can be repeated.", minimum=0),
    Parameter("jobs", "int", "Number of processor cores to use.", minimum=1),
)  # fmt: skip
"""What every request of trees may say, whatever the search."""


@dataclass(frozen=True)
class TreeAlgorithm(Algorithm):
    """A search of trees: `search(forest, guarantee, *, …) -> Result`.

    `receives` are those of RECEIVED that its function takes. `completable` says that its cut can be carried on to a
    maximal one by the default search.
    """

    kind: ClassVar[str] = "trees"

    guarantees: tuple[str, ...] = GUARANTEES
    receives: tuple[str, ...] = ("progress",)
    completable: bool = False

    @property
    def search(self) -> Callable[..., Result]:
        """Import the module of the search and return its function."""
        found: Callable[..., Result] = super().search
        return found

    def check_guarantees(self, wanted: Iterable[str]) -> None:
        """Raise UsageError for a guarantee that the search cannot give."""
        for name in wanted:
            if name not in self.guarantees:
                able = ", ".join(one.name for one in TREE_ALGORITHMS.values() if name in one.guarantees)
                raise UsageError(f"algorithm {self.name!r} does not offer {name}; choose from {able}")

    def received(self, **offered: Any) -> dict[str, Any]:
        """Return what of the seed, the jobs and the progress callback the search takes and is given."""
        return {name: value for name, value in offered.items() if name in self.receives and value is not None}


_TREE = "treeanon.algorithms.tree."

_CUT_SEARCH = (
    Parameter(
        "closed", "choice", "What is not specialized again: values that a cheaper cut specialized, or cuts seen.",
        "values", ("values", "cuts"),
    ),
    Parameter(
        "scope", "choice", "Where RPDa counts the nodes of a level: in the class, in all hierarchies, or try both"
        " (the default; class for a release as published).", None, ("class", "hierarchy", "both"),
    ),
    Parameter(
        "choose", "choice", "Which of the cuts seen is taken: that of the least RPD (the default), or of the least RPDa"
        " (as the paper has it; the default for a release as published).", None, ("rpd", "rpda"),
    ),
    Parameter(
        "stricter", "flag", "Also search for a little more k, m and n, and take what costs less.", False,
    ),
    Parameter("budget", "float", "Seconds after which the best cut so far is taken.", None, minimum=0),
)  # fmt: skip
_ANYTIME = ("progress", "finish")
_BEAM = Parameter("g", "int", "Number of cuts kept in each step.", 2, minimum=1)

TREE_ALGORITHMS = AlgorithmRegistry(
    TreeAlgorithm,
    (
        TreeAlgorithm(
            "maximal",
            _TREE + "default.maximal",
            "walks to cuts that cannot be made finer, from many starts, and takes the best",
            (
                Parameter(
                    "recoding",
                    "choice",
                    "sibling: frequent values may be published beside a general one.",
                    "sibling",
                    ("sibling", "subtree"),
                ),
                Parameter(
                    "objective",
                    "choice",
                    "What is minimized. loss: value loss + share of relations lost + share of objects not kept whole;"
                    " rpd, rpda: path domains; mining: frequent subtrees lost (ML2); queries: errors of queries.",
                    "loss",
                    ("loss", "rpd", "rpda", "mining", "queries"),
                ),
                Parameter("queries", "queries", "File of the queries of objective=queries, one a line."),
                Parameter("weights", "weights", "Relative weights of classes (default 1).", shared=True),
                Parameter(
                    "objects_weight",
                    "float",
                    "Weight of the share of objects not kept whole in objective=loss (value loss and relations: 1).",
                    1,
                    minimum=0,
                ),
                Parameter(
                    "taking_apart",
                    "choice",
                    "How rare relations are ended: nodes are moved, as the paper has it, or left out, or neither.",
                    None,
                    ("leave-out", "move", "none"),
                    shared=True,
                ),
                Parameter("effort", "effort", "How long to search: 2 is twice as long as usual.", 1, shared=True),
                Parameter(
                    "max_suppressed", "int", "Persons that may be left out as outliers.", 0, minimum=0, shared=True
                ),
            ),
            receives=("seed", "jobs", "progress"),
        ),
        TreeAlgorithm(
            "acs",
            _TREE + "published.cut_searches",
            "all cuts search: visits every cut that can hold; for small hierarchies",
            _CUT_SEARCH,
            function="acs",
            paper=TREE,
            section="Section III-C, Algorithm 4",
            receives=_ANYTIME,
            completable=True,
        ),
        TreeAlgorithm(
            "gcs",
            _TREE + "published.cut_searches",
            "greedy cut search: keeps the g cheapest cuts of each step",
            (_BEAM, *_CUT_SEARCH),
            function="gcs",
            paper=TREE,
            section="Section III-D",
            receives=_ANYTIME,
            completable=True,
        ),
        TreeAlgorithm(
            "ocs",
            _TREE + "published.cut_searches",
            "only cut search (OnlyCutSearch): as gcs, but disassociates no relation",
            (_BEAM, *_CUT_SEARCH),
            function="ocs",
            paper=TREE,
            section="Section IV",
            receives=_ANYTIME,
            completable=True,
        ),
        TreeAlgorithm(
            "miracle",
            _TREE + "published.miracle",
            "groups similar persons and makes each group equal (baseline)",
            (
                Parameter("window", "int", "Persons compared with each that joins a group.", 1000, minimum=1),
                Parameter("climit", "int", "Persons of a group at most (k where that is more).", 150, minimum=1),
                Parameter(
                    "threshold",
                    "float",
                    "Share of what the others of a group show from which on a person who costs"
                    " them that is left out; 1: nobody is.",
                    0.1,
                    minimum=0,
                    maximum=1,
                ),
            ),
            paper=MULTIRELATIONAL,
            section="as the baseline MiRaCle",
            receives=("seed", "progress"),
        ),
    ),
)

TREE_DEFAULT = "maximal"


def tree_algorithm_named(name: str) -> TreeAlgorithm:
    """Return the search of trees of that name; UsageError lists what there is.

    >>> [parameter.name for parameter in tree_algorithm_named("gcs").parameters]
    ['g', 'closed', 'scope', 'choose', 'stricter', 'budget']
    >>> tree_algorithm_named("magic")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    treeanon.errors.UsageError: unknown algorithm 'magic'; choose from maximal, acs, gcs, ocs, miracle...
    """
    return TREE_ALGORITHMS.named(name)
