"""What every search declares of itself, of trees or of tables, and registries of searches that packages may add to.

With the papers that they come from, each cited in full once.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

from treeanon.errors import UsageError
from treeanon.parameters import Parameter, checked_parameters, named_parameter
from treeanon.plugins import Registry


@dataclass(frozen=True)
class Paper:
    """One publication."""

    authors: str
    title: str
    venue: str
    year: int

    def __str__(self) -> str:
        return f"{self.authors}: {self.title}. {self.venue}, {self.year}"


TREE = Paper(
    "O. Gkountouna, M. Terrovitis",
    "Anonymizing collections of tree-structured data",
    "IEEE Transactions on Knowledge and Data Engineering",
    2015,
)
MULTIRELATIONAL = Paper(
    "M. E. Nergiz, C. Clifton, A. E. Nergiz",
    "Multirelational k-anonymity",
    "IEEE Transactions on Knowledge and Data Engineering",
    2009,
)
SAMARATI = Paper(
    "P. Samarati",
    "Protecting respondents' identities in microdata release",
    "IEEE Transactions on Knowledge and Data Engineering",
    2001,
)
THEORY = Paper(
    "V. Ciriani, S. De Capitani di Vimercati, S. Foresti, P. Samarati",
    "k-anonymity",
    "Secure Data Management in Decentralized Systems, Springer",
    2007,
)
INCOGNITO = Paper(
    "K. LeFevre, D. J. DeWitt, R. Ramakrishnan", "Incognito: efficient full-domain k-anonymity", "ACM SIGMOD", 2005
)
DATAFLY = Paper(
    "L. Sweeney",
    "Achieving k-anonymity privacy protection using generalization and suppression",
    "International Journal on Uncertainty, Fuzziness and Knowledge-based Systems",
    2002,
)
K_OPTIMIZE = Paper("R. J. Bayardo, R. Agrawal", "Data privacy through optimal k-anonymization", "ICDE", 2005)
CELLS = Paper(
    "G. Aggarwal, T. Feder, K. Kenthapadi, R. Motwani, R. Panigrahy, D. Thomas, A. Zhu",
    "Approximation algorithms for k-anonymity",
    "Journal of Privacy Technology",
    2005,
)
MONDRIAN = Paper("K. LeFevre, D. J. DeWitt, R. Ramakrishnan", "Mondrian multidimensional k-anonymity", "ICDE", 2006)
TOP_DOWN = Paper(
    "J. Xu, W. Wang, J. Pei, X. Wang, B. Shi, A. W.-C. Fu",
    "Utility-based anonymization using local recoding",
    "ACM SIGKDD",
    2006,
)
ANATOMY = Paper("X. Xiao, Y. Tao", "Anatomy: simple and effective privacy preservation", "VLDB", 2006)
ONEDIM = Paper(
    "G. Ghinita, P. Karras, P. Kalnis, N. Mamoulis",
    "A framework for efficient data anonymization under privacy and accuracy constraints",
    "ACM Transactions on Database Systems 34(2)",
    2009,
)
FREEFORM = Paper(
    "K. Doka, M. Xue, D. Tsoumakos, P. Karras", "k-anonymization by freeform generalization", "ACM ASIA CCS", 2015
)
RINGS = Paper(
    "W. K. Wong, N. Mamoulis, D. W. Cheung",
    "Non-homogeneous generalization in privacy preserving data publishing",
    "ACM SIGMOD",
    2010,
)


GROUP = "treeanon.algorithms"
"""The entry points by which other packages add searches: a TreeAlgorithm or a TableAlgorithm each."""


@dataclass(frozen=True)
class Algorithm:
    """A search: where it lives, what it does in a line, its parameters, and what it can guarantee.

    `module` has the function named `function`, and is imported when that is asked for. `preset` are arguments that
    tell it from other searches of its module. `section` is the section or the algorithm of `paper` that it implements.
    """

    kind: ClassVar[str] = ""

    name: str
    module: str
    summary: str
    parameters: tuple[Parameter, ...] = ()
    preset: Mapping[str, Any] = field(default_factory=dict)
    function: str = "search"
    paper: Paper | None = None
    section: str = ""
    guarantees: tuple[str, ...] = ()

    @property
    def search(self) -> Callable[..., Any]:
        """Import the module of the search and return its function."""
        found: Callable[..., Any] = getattr(importlib.import_module(self.module), self.function)
        return partial(found, **self.preset) if self.preset else found

    def takes(self, name: str) -> bool:
        """Return whether the search has a parameter of that name."""
        return any(name == parameter.name for parameter in self.parameters)

    @property
    def needs(self) -> tuple[str, ...]:
        """The parameters that must be given."""
        return tuple(parameter.name for parameter in self.parameters if parameter.required)

    def check_names(self, names: Iterable[str]) -> None:
        """Raise UsageError for a parameter that the search does not have."""
        for name in sorted(names):
            named_parameter(self.name, self.parameters, name)

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters given, by their present names; UsageError for a name or value that is not right."""
        return checked_parameters(self.name, self.parameters, given)

    @property
    def source(self) -> str:
        """The paper in full with the section; empty for a search of our own."""
        if self.paper is None:
            return ""
        return f"{self.paper}, {self.section}" if self.section else str(self.paper)

    def as_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data, for listings."""
        return {
            "name": self.name,
            "kind": self.kind,
            "summary": self.summary,
            "source": self.source,
            "guarantees": list(self.guarantees),
            "parameters": [parameter.as_dict() for parameter in self.parameters],
        }


def parse_parameters(algorithm: Algorithm, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the values that texts mean as parameters of a search, as `--param NAME=VALUE` gives them.

    UsageError for an unknown name or a text that means no value of that parameter.

    >>> from treeanon.algorithms.tree.registry import tree_algorithm_named
    >>> parse_parameters(tree_algorithm_named("gcs"), {"g": "3", "closed": "cuts"})
    {'g': 3, 'closed': 'cuts'}
    >>> parse_parameters(tree_algorithm_named("gcs"), {"g": "three"})
    Traceback (most recent call last):
    treeanon.errors.UsageError: algorithm 'gcs': g must be a whole number from 1
    """
    found: dict[str, Any] = {}
    for name, text in texts.items():
        parameter = named_parameter(algorithm.name, algorithm.parameters, name)
        try:
            found[name] = parameter.parse(text)
        except ValueError:
            wrong = f"algorithm {algorithm.name!r}: {parameter.name} must be {parameter.expected}"
            raise UsageError(wrong) from None
    return found


def merged_parameters(algorithms: Iterable[Algorithm]) -> dict[str, Parameter]:
    """Return the parameters of several searches by name; a choice is then between those of any of them."""
    found: dict[str, Parameter] = {}
    for algorithm in algorithms:
        for parameter in algorithm.parameters:
            known = found.setdefault(parameter.name, parameter)
            choices = tuple(dict.fromkeys((*known.choices, *parameter.choices)))
            found[parameter.name] = replace(known, choices=choices, required=False)
    return found


def current_names(algorithms: Iterable[Algorithm], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters by their present names, where files of older releases have former ones.

    >>> from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
    >>> current_names(TABLE_ALGORITHMS.built_in.values(), {"centres": 3, "form": "set"})
    {'centers': 3, 'form': 'set'}
    """
    parameters = merged_parameters(algorithms).values()
    former = {alias: parameter.name for parameter in parameters for alias in parameter.aliases}
    return {former.get(name, name): value for name, value in given.items()}


A = TypeVar("A", bound=Algorithm)


class AlgorithmRegistry(Registry[A]):
    """The searches of one kind by name, with those that other packages add."""

    def __init__(self, kind: type[A], built_in: Iterable[A]) -> None:
        super().__init__(GROUP, kind, "algorithm", {algorithm.name: algorithm for algorithm in built_in})

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names: of one's own, then of what is added."""
        yield from self.built_in
        yield from (name for name in self._added() if self._is_of_kind(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self.built_in or (name in self._added() and self._is_of_kind(str(name)))

    def __getitem__(self, name: str) -> A:
        if name not in self:
            raise KeyError(name)
        return super().__getitem__(name)

    def _is_of_kind(self, name: str) -> bool:
        """Return whether an added search is of this registry's kind; UsageError if it is none at all."""
        added = self._added()
        if not isinstance(added[name], Algorithm):
            raise UsageError(f"{added.described(name)} is neither a TreeAlgorithm nor a TableAlgorithm")
        return isinstance(added[name], self.kind)
