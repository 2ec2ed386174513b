"""The keyword parameters of the public functions, each listed once: for type checkers, for help, and for checks.

`treeanon.anonymize` and its kin take them as `**asked: Unpack[…]`; the defaults are those of the requests.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal, TypedDict, TypeVar

from treeanon.algorithms.algorithm import merged_parameters
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS
from treeanon.errors import UsageError
from treeanon.privacy.guarantee import Attacker, Diversity
from treeanon.privacy.models.distribution import Distance
from treeanon.privacy.models.model import Model, Number
from treeanon.privacy.models.registry import Form, PerColumnNumber, Sensitive
from treeanon.progress import Progress
from treeanon.release.tree_request import Request

Levels = int | str | tuple[int | None, int | None]
"""The level of a column, its least and highest one (None: any), or both as a text such as 1..3."""

C = TypeVar("C", bound=Callable[..., Any])


class GuaranteeParameters(TypedDict, total=False):
    """What is guaranteed of trees: k^(m,n)-anonymity and its extensions."""

    k: int | None
    m: int
    n: int
    attacker: Attacker
    l: int | None  # noqa: E741 - its name in the literature
    diversity: Diversity | None
    negative: str | Sequence[str]
    as_published: bool


class ModelParameters(TypedDict, total=False):
    """What is guaranteed of rows: the models that must hold in every group of rows alike."""

    k: int | None
    l: PerColumnNumber | None  # noqa: E741 - its name in the literature
    diversity: Form | None
    c: Number | None
    alpha: PerColumnNumber | None
    p: PerColumnNumber | None
    t: PerColumnNumber | None
    emd: Distance
    sensitive: Sensitive | None
    models: Sequence[Model | str]


class VerifyRowParameters(ModelParameters, total=False):
    """All that can be asked of published rows."""

    spans: Mapping[str, float] | None
    max_group_loss: float | None


class SearchParameters(TypedDict, total=False):
    """How a release is searched for, and what it may cost."""

    algorithm: str | None
    parameters: Mapping[str, Any] | None
    weights: Mapping[str, float] | None
    effort: str | float | None
    max_suppressed: int | float | str
    max_loss: float | None
    seed: int | None
    jobs: int | None
    progress: Progress | None


class TreeParameters(GuaranteeParameters, SearchParameters, total=False):
    """All that can be asked of a release of trees."""

    complete: bool
    taking_apart: Literal["leave-out", "move", "none"] | None


class RowParameters(ModelParameters, SearchParameters, total=False):
    """All that can be asked of a release of rows."""

    levels: Mapping[str, Levels] | None
    styles: Mapping[str, Literal["ranges", "sets", "hierarchy"]] | None
    spans: Mapping[str, float] | None
    max_group_loss: float | None
    round_ranges: bool


TREE_NAMES = tuple(TreeParameters.__annotations__)
ROW_NAMES = tuple(RowParameters.__annotations__)
ONLY_TREES = tuple(name for name in TREE_NAMES if name not in ROW_NAMES)
ONLY_ROWS = tuple(name for name in ROW_NAMES if name not in TREE_NAMES)

_DEFAULTS = {field.name: field.default for field in fields(Request)} | {"algorithm": None, "emd": "equal", "models": ()}


def flat_parameters(asked: Mapping[str, Any], kind: Literal["trees", "rows"], *further: str) -> dict[str, Any]:
    """Return what is asked with the entries of `parameters` beside the rest, for a release of `kind` trees or rows.

    Parameters of single searches that are given as keywords, as was usual before there was `parameters`, are taken
    with a DeprecationWarning. Whether the search has such a parameter is checked when the request is made. `further`
    names are taken too.

    >>> flat_parameters({"k": 5, "parameters": {"g": 3}}, "trees")
    {'k': 5, 'g': 3}
    """
    common, foreign = (TREE_NAMES, ONLY_ROWS) if kind == "trees" else (ROW_NAMES, ONLY_TREES)
    flat = {name: value for name, value in asked.items() if name != "parameters"}
    own = asked.get("parameters")
    own = {} if own is None else own
    if not isinstance(own, Mapping) or not all(isinstance(name, str) for name in own):
        raise UsageError('parameters must be a mapping of names to values, such as {"g": 3}')
    if strange := [name for name in flat if name in foreign]:
        other = "rows" if kind == "trees" else "trees"
        raise UsageError(f"{', '.join(strange)}: only for {other}, and these data are {kind}")
    if twice := [name for name in own if name in flat or name in (*SHARED, "k")]:
        raise UsageError(f"parameters: {', '.join(twice)}: give it as a keyword of its own, once")
    _warn_of_keywords([name for name, value in flat.items() if name not in (*common, *further) and value is not None])
    return flat | dict(own)


_OF_SEARCHES = "weights", "effort", "max_loss", "max_group_loss", "taking_apart"
SHARED = tuple(name for name in (*TREE_NAMES, *ROW_NAMES) if name not in _OF_SEARCHES)
"""What no search has as a parameter of its own."""


def _warn_of_keywords(names: Sequence[str]) -> None:
    """Warn of parameters of single searches that are given as keywords; refuse what no search has."""
    every = merged_parameters([*TREE_ALGORITHMS.values(), *TABLE_ALGORITHMS.values()]) if names else {}
    known = {name for parameter in every.values() for name in (parameter.name, *parameter.aliases)}
    for name in names:
        if name not in known:
            listed = ", ".join(dict.fromkeys(TREE_NAMES + ROW_NAMES))
            raise UsageError(f"unknown parameter {name!r}; choose from {listed}")
        warnings.warn(
            f'{name}=… is a parameter of single searches: give parameters={{"{name}": …}}',
            DeprecationWarning,
            stacklevel=4,
        )


def refuse_unknown(asked: Mapping[str, Any], kind: type) -> None:
    """Raise a UsageError for parameters that are none of a kind's.

    >>> refuse_unknown({"kk": 5}, ModelParameters)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    treeanon.errors.UsageError: unknown parameter 'kk'; choose from k, l, diversity, c, ...
    """
    known = kind.__annotations__
    for name in asked:
        if name not in known:
            raise UsageError(f"unknown parameter {name!r}; choose from {', '.join(known)}")


def shows(*kinds: type) -> Callable[[C], C]:
    """Make a function that takes `**asked` show all parameters of these TypedDicts where its signature is looked at.

    `help` and notebooks show the signature that a function has when it runs; type checkers see the overloads.

    >>> @shows(TreeParameters)
    ... def sought(data, **asked): ...
    >>> list(inspect.signature(sought).parameters)[:4]
    ['data', 'k', 'm', 'n']
    """

    def shown(function: C) -> C:
        signature = inspect.signature(function)
        kept = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        taken = {one.name for one in kept}
        names = [name for kind in kinds for name in kind.__annotations__ if name not in taken]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULTS.get(name))
            for name in dict.fromkeys(names)
        ]
        function.__signature__ = signature.replace(parameters=[*kept, *more])  # type: ignore[attr-defined]
        return function

    return shown


def is_of_rows(
    algorithm: str | None, parameters: Mapping[str, Any], rows: Callable[[], bool], *, only_rows: bool = False
) -> bool:
    """Return whether what is asked for is about rows of a table, and not about trees: the one place that decides.

    A search that is named decides; then `only_rows`, which says that something is asked for that only rows can have;
    then what is asked for that only trees can have (m, n, negative); and then `rows`, whether the input has rows.

    >>> flat = lambda: True
    >>> is_of_rows("maximal", {}, flat), is_of_rows(None, {"m": 3}, flat), is_of_rows(None, {"k": 3}, flat)
    (False, False, True)
    """
    if algorithm is not None:
        return algorithm in TABLE_ALGORITHMS
    asks_trees = any(parameters.get(name) not in (None, ()) for name in ("m", "n", "negative"))
    return only_rows or (not asks_trees and rows())
