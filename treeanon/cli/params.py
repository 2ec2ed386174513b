"""`--param NAME=VALUE`: parameters of single searches, and the options that they had before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from treeanon.algorithms.algorithm import Algorithm, parse_parameters
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS, TREE_DEFAULT
from treeanon.cli.printing import say
from treeanon.parameters import Parameter

if TYPE_CHECKING:
    from treeanon.algorithms.tree.registry import TreeAlgorithm

COMPLETE = Parameter("complete", "flag", "Refine the cut that was found to a maximal one.", default=False)
"""A parameter of each search whose cut the default search can refine."""

OPTION_OF = {
    "weights": "--weight",
    "effort": "--effort",
    "taking_apart": "--taking-apart",
    "max_loss": "--max-loss",
    "max_suppressed": "--max-suppressed",
}
"""The options of `anonymize` for parameters that several searches share."""

FORMER_OPTIONS = (
    "g", "closed", "scope", "recoding", "objective", "complete", "loss", "preference", "matrix", "metric", "label",
    "method", "look_back", "window", "primal", "seconds", "mode", "split", "style", "order", "columns", "form", "block",
    "bits", "centers",
)  # fmt: skip
"""Parameters that were options of their own in version 0.1, and are for one release more: hidden, with a hint."""

_FORMER_FLAGS = ("complete", "matrix")


def algorithm_named(name: str) -> Algorithm:
    """Return the search of that name, of trees or of tables; KeyError for none."""
    return TREE_ALGORITHMS[name] if name in TREE_ALGORITHMS else TABLE_ALGORITHMS[name]


def algorithm_names() -> list[str]:
    """Return the names of all searches: of trees, then of tables."""
    return [*TREE_ALGORITHMS, *TABLE_ALGORITHMS]


def own_parameters(algorithm: Algorithm) -> tuple[Parameter, ...]:
    """Return the parameters that `--param` sets: those that are no options of the command."""
    own = tuple(parameter for parameter in algorithm.parameters if not parameter.shared)
    return (*own, COMPLETE) if getattr(algorithm, "completable", False) else own


def parsed(algorithms: Sequence[Algorithm], params: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of parameters that one of several searches has; UsageError for those that the first lacks."""
    found: dict[str, Any] = {}
    for name, text in params.items():
        owner = next((one for one in algorithms if one.takes(name)), algorithms[0])
        found |= parse_parameters(owner, {name: text})
    return found


def check_required(algorithm: Algorithm, given: Mapping[str, Any]) -> None:
    """Raise UsageError, naming the option, for a parameter that the search needs and that is not given."""
    for name in algorithm.needs:
        if name not in given:
            option = OPTION_OF.get(name, f"--param {name}=VALUE")
            raise click.UsageError(f"algorithm {algorithm.name!r} requires {option}")


def parsed_for_trees(algorithm: TreeAlgorithm, params: Mapping[str, str]) -> tuple[dict[str, Any], bool]:
    """Return the parameters of a search of trees, and whether its cut is to be refined to a maximal one."""
    others = {name: text for name, text in params.items() if name != COMPLETE.name}
    if COMPLETE.name not in params:
        return parsed([algorithm], others), False
    try:
        complete = bool(COMPLETE.parse(params[COMPLETE.name]))
    except ValueError as problem:
        raise click.UsageError(f"--param complete: {problem}") from None
    return parsed([algorithm, TREE_ALGORITHMS[TREE_DEFAULT]], others), complete


def params_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--param`, and the former options, which are given to the command together as `params`."""

    @wraps(command)
    def gathered(*args: Any, params: dict[str, str], **given: Any) -> Any:
        former = {name: given.pop(name) for name in FORMER_OPTIONS}
        used = {name: str(value).lower() if value is True else value for name, value in former.items() if value}
        for name, text in used.items():
            if name in params:
                raise click.UsageError(f"{_flag(name)} and --param {name} are the same; choose one")
            old = _flag(name) if name in _FORMER_FLAGS else f"{_flag(name)} {text}"
            say(f"hint: {old} is deprecated; use --param {name}={text}", quiet=given.get("quiet", False))
        return command(*args, params={**params, **used}, **given)

    for name in FORMER_OPTIONS:
        flag = name in _FORMER_FLAGS
        gathered = click.option(_flag(name), name, hidden=True, is_flag=flag, type=bool if flag else str)(gathered)
    return click.option(
        "--param",
        "params",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_pairs,
        shell_complete=_completed,
        help="Set a parameter of the algorithm (repeatable).",
    )(gathered)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _pairs(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Return the values by name; a name may be written with dashes."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not (name and equals and value):
            raise click.BadParameter("must be NAME=VALUE, for example g=3", ctx, option)
        if name in found:
            raise click.BadParameter(f"{name} is given twice", ctx, option)
        found[name] = value
    return found


def _completed(ctx: click.Context, option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return what may be typed: a name of a parameter with its equals sign, or a value of a choice."""
    named = ctx.params.get("algorithm")
    names = [named] if named in algorithm_names() else algorithm_names()
    found = {text: help for name in names for text, help in _texts(algorithm_named(name))}
    return [CompletionItem(text, help=help) for text, help in found.items() if text.startswith(incomplete)]


def _texts(algorithm: Algorithm) -> Iterator[tuple[str, str]]:
    for parameter in own_parameters(algorithm):
        values = parameter.choices or (("true", "false") if parameter.kind == "flag" else ("",))
        yield from ((f"{parameter.name}={value}", parameter.help) for value in values)


class AlgorithmName(click.ParamType):  # type: ignore[type-arg]
    """The name of a search algorithm, also of one that another package adds."""

    name = "algorithm"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of a search; the error for an unknown one lists them all."""
        if value not in algorithm_names():
            self.fail(f"unknown algorithm {value!r}; choose from {', '.join(algorithm_names())}", param, ctx)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin so, each with its summary."""
        names = (name for name in algorithm_names() if name.startswith(incomplete))
        return [CompletionItem(name, help=algorithm_named(name).summary) for name in names]
