"""What searches declare: their parameters are those of their functions, and texts and values are checked by them."""

from __future__ import annotations

from dataclasses import replace
from inspect import Parameter as Argument
from inspect import signature
from types import UnionType
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

from treeanon.algorithms.algorithm import Algorithm, parse_parameters
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS, table_algorithm_named
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS, tree_algorithm_named
from treeanon.errors import UsageError
from treeanon.parameters import Parameter
from treeanon.release.reapply import TableSolution

EVERY: dict[str, Algorithm] = {**TREE_ALGORITHMS, **TABLE_ALGORITHMS}
OFFERED = {"forest", "guarantee", "start", "problem", "seed", "jobs", "progress", "finish"}
"""Arguments that callers give to searches and that nobody names."""
OF_THE_PROBLEM = {"max_group_loss"}
"""Parameters that reach searches in their problem, or what they found."""
UNNAMED = {"suppress-columns": {"exact"}}
"""Arguments that only tests give."""


@pytest.mark.parametrize("name", sorted(EVERY))
def test_declared_parameters_are_those_of_the_function(name: str) -> None:
    algorithm = EVERY[name]
    arguments = {key: one for key, one in signature(algorithm.search).parameters.items() if key not in OFFERED}
    declared = {parameter.name: parameter for parameter in algorithm.parameters}
    family = [one for one in EVERY.values() if (one.module, one.function) == (algorithm.module, algorithm.function)]
    named = {key for one in family for key in (*one.preset, *(parameter.name for parameter in one.parameters))}
    assert named - OF_THE_PROBLEM == set(arguments) - UNNAMED.get(name, set())
    for key, parameter in declared.items():
        if key in OF_THE_PROBLEM:
            continue
        default = arguments[key].default
        assert parameter.required == (default is Argument.empty)
        assert parameter.required or algorithm.preset or parameter.default == default, key


@pytest.mark.parametrize("name", sorted(EVERY))
def test_declared_choices_are_those_of_the_function(name: str) -> None:
    algorithm = EVERY[name]
    hints = get_type_hints(getattr(algorithm.search, "func", algorithm.search))
    for parameter in algorithm.parameters:
        if parameter.name in OF_THE_PROBLEM:
            continue
        kinds = get_args(hints[parameter.name]) if isinstance(hints[parameter.name], UnionType) else ()
        for hint in (hints[parameter.name], *kinds):
            if get_origin(hint) is Literal:
                assert set(parameter.choices) == set(get_args(hint))


@pytest.mark.parametrize("name", sorted(EVERY))
def test_every_search_says_what_it_is(name: str) -> None:
    algorithm = EVERY[name]
    assert algorithm.name == name
    assert algorithm.summary and algorithm.summary[0].islower() and not algorithm.summary.endswith(".")
    assert algorithm.guarantees
    assert all(parameter.help.endswith(".") for parameter in algorithm.parameters)
    for parameter in algorithm.parameters:
        assert parameter.required or parameter.takes(parameter.default)
        assert (parameter.kind == "choice") == bool(parameter.choices)
    assert algorithm.as_dict()["parameters"] == [parameter.as_dict() for parameter in algorithm.parameters]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("gcs", "g=3", 3),
        ("gcs", "closed=cuts", "cuts"),
        ("koptimize", "seconds=1.5", 1.5),
        ("koptimize", "label=pay", "pay"),
        ("samarati", "matrix=yes", True),
        ("samarati", "matrix=FALSE", False),
        ("onedim", "columns=age, sex", ["age", "sex"]),
        ("maximal", "weights=a=b=2,c=0", {"a=b": 2.0, "c": 0.0}),
        ("maximal", "effort=30s", "30s"),
        ("idistance", "centres=7", 7),
    ],
)
def test_texts_become_values(name: str, text: str, value: object) -> None:
    key, _, given = text.partition("=")
    assert parse_parameters(EVERY[name], {key: given}) == {key: value}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("gcs", "g=0", "g must be a whole number from 1"),
        ("gcs", "g=secret", "g must be a whole number from 1"),
        ("gcs", "effort=1", "algorithm 'gcs' has no parameter 'effort'; its parameters: g, closed, scope"),
        ("datafly", "g=1", "algorithm 'datafly' has no parameter 'g'; its parameters: none"),
        ("acs", "closed=secret", "closed must be one of values, cuts"),
        ("koptimize", "seconds=nan", "seconds must be a number from 0"),
        ("samarati", "matrix=secret", "matrix must be true or false"),
        ("maximal", "weights=secret", "weights must be CLASS=NUMBER, separated by commas, with numbers from 0"),
        ("maximal", "weights=a=-1", "weights must be CLASS=NUMBER"),
        ("hilbert", "bits=32", "bits must be a whole number from 1 to 31"),
    ],
)
def test_texts_that_mean_nothing_are_refused(name: str, text: str, message: str) -> None:
    key, _, given = text.partition("=")
    with pytest.raises(UsageError) as refused:
        parse_parameters(EVERY[name], {key: given})
    assert message in str(refused.value) and "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("gcs", {"g": "3"}, "g must be a whole number from 1"),
        ("gcs", {"g": True}, "g must be a whole number"),
        ("maximal", {"weights": {"age": -1}}, "weights must be"),
        ("maximal", {"weights": "age"}, "weights must be"),
        ("onedim-dual", {}, "needs the parameter 'max_loss': a number from 0 to 1"),
        ("onedim-dual", {"max_loss": 1.1}, "max_loss must be a number from 0 to 1"),
        ("idistance", {"centres": 3, "centers": 3}, "centers is given twice"),
        ("onedim", {"columns": [1]}, "columns must be names of classes"),
    ],
)
def test_values_of_another_type_or_range_are_refused(name: str, given: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        EVERY[name].checked(given)
    assert message in str(refused.value)


def test_former_names_are_understood() -> None:
    assert table_algorithm_named("idistance").checked({"centres": 3}) == {"centers": 3}


def test_solution_files_of_older_releases_have_former_names() -> None:
    plain = {"version": 1, "kind": "table", "models": [{"model": "k-anonymity", "k": 2}], "options": {"centres": 3}}
    assert TableSolution.from_dict(plain).options == {"centers": 3}


def test_none_leaves_a_parameter_to_the_search() -> None:
    assert table_algorithm_named("koptimize").checked({"seconds": None}) == {"seconds": None}
    assert not Parameter("max_loss", "float", "", required=True).takes(None)


def test_guarantees_that_a_search_cannot_give_are_refused() -> None:
    for algorithm in TREE_ALGORITHMS.built_in.values():
        algorithm.check_guarantees(["l-diversity", "negative knowledge"])
    plain = replace(tree_algorithm_named("gcs"), name="plain", guarantees=("k^(m,n)-anonymity",))
    with pytest.raises(UsageError, match="algorithm 'plain' does not offer l-diversity; choose from maximal, acs"):
        plain.check_guarantees(["l-diversity"])
