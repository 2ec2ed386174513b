"""`treeanon algorithms`: the search algorithms, what each guarantees, where it is from, and its parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from treeanon.algorithms.algorithm import Algorithm
from treeanon.algorithms.table.registry import PERMUTED_DEFAULT, TABLE_ALGORITHMS, TABLE_DEFAULT, TableAlgorithm
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS, TREE_DEFAULT
from treeanon.cli.options import OPTION_OF, Command, algorithm_named, algorithm_names, own_parameters
from treeanon.cli.printing import print_result
from treeanon.parameters import Parameter

if TYPE_CHECKING:
    from treeanon.privacy.models.registry import ModelSpec


def _completed(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in algorithm_names() if name.startswith(incomplete)]


@click.command(cls=Command)
@click.argument("name", required=False, metavar="[NAME]", shell_complete=_completed)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on standard output.")
def command(name: str | None, as_json: bool) -> None:
    """List the search algorithms and the privacy models of tables, or describe the one called NAME.

    A description of an algorithm has what it guarantees, the paper that it is from, and its parameters, which
    `anonymize --param NAME=VALUE` sets.

    \b
    treeanon algorithms
    treeanon algorithms gcs
    treeanon anonymize patients.xml -s schema.toml -k 5 -a gcs --param g=4 -o out.xml
    """
    if name is None:
        if as_json:
            kinds = (("trees", TREE_ALGORITHMS, TREE_DEFAULT), ("tables", TABLE_ALGORITHMS, TABLE_DEFAULT))
            print_result(
                {**{kind: {"default": default, "algorithms": [_as_dict(one) for one in found.values()]}
                    for kind, found, default in kinds},
                 "models": [_model_as_dict(one) for one in _models().values()]},
                as_json=True,
            )  # fmt: skip
            return
        click.echo("\n".join(_listing(_width())))
        return
    if name not in algorithm_names():
        models = _models()
        if name not in models:
            names = ", ".join([*algorithm_names(), *models])
            raise click.UsageError(f"unknown algorithm {name!r}; choose from {names}")
        if as_json:
            print_result(_model_as_dict(models[name]), as_json=True)
        else:
            click.echo("\n".join(_model_description(models[name], _width())))
        return
    algorithm = algorithm_named(name)
    if as_json:
        print_result(_as_dict(algorithm), as_json=True)
    else:
        click.echo("\n".join(_description(algorithm, _width())))


def _width() -> int:
    return min(click.HelpFormatter(max_width=100).width, 100)


def _listing(width: int) -> Iterator[str]:
    yield f"Trees (default: {TREE_DEFAULT})"
    yield from _table(((one.name, one.summary) for one in TREE_ALGORITHMS.values()), width)
    yield ""
    yield f"Tables (default: {TABLE_DEFAULT}; with --publish permuted: {PERMUTED_DEFAULT})"
    yield from _table(((one.name, one.summary) for one in TABLE_ALGORITHMS.values()), width)
    yield ""
    yield "Privacy models of tables (--model NAME:PARAM=VALUE,…)"
    yield from _table(((one.name, one.help) for one in _models().values()), width)
    yield ""
    yield "`treeanon algorithms NAME` describes an algorithm or a model, and its parameters."


def _description(algorithm: Algorithm, width: int) -> Iterator[str]:
    yield f"{algorithm.name} (for {algorithm.kind})"
    yield from wrap(algorithm.summary[:1].upper() + algorithm.summary[1:] + ".", width)
    yield ""
    yield from _field("Guarantees", ", ".join(algorithm.guarantees), width)
    yield from _field("Source", algorithm.source or "treeanon", width)
    if isinstance(algorithm, TableAlgorithm):
        yield from _field("Columns", ", ".join(algorithm.honors) or "no settings of single columns", width)
    own, shared = own_parameters(algorithm), [one for one in algorithm.parameters if one.shared]
    yield ""
    yield "Parameters (--param NAME=VALUE):" if own else "No parameters of its own."
    yield from _table(((one.name, _parameter_text(one)) for one in own), width)
    if shared:
        yield ""
        yield "Options:"
        yield from _table(((OPTION_OF[one.name], _parameter_text(one)) for one in shared), width)


def _models() -> Mapping[str, ModelSpec]:
    from treeanon.privacy.models.registry import MODELS

    return MODELS


def _model_description(model: ModelSpec, width: int) -> Iterator[str]:
    yield f"{model.name} (privacy model of tables)"
    yield from wrap(model.help[:1].upper() + model.help[1:] + ".", width)
    yield ""
    yield f"Parameters (--model {model.name}:NAME=VALUE,…):"
    said = [(one.name, replace(one, help=f"{one.help[:1].upper()}{one.help[1:]}.")) for one in model.parameters]
    yield from _table(((name, _parameter_text(one)) for name, one in said), width)


def _model_as_dict(model: ModelSpec) -> dict[str, Any]:
    return {"name": model.name, "summary": model.help, "parameters": [one.as_dict() for one in model.parameters]}


def _field(title: str, text: str, width: int) -> list[str]:
    return wrap(text, width, initial_indent=f"{title + ':':12}", subsequent_indent=" " * 12, break_on_hyphens=False)


def _parameter_text(parameter: Parameter) -> str:
    """Return the help, the values that are taken, and the default."""
    default = str(parameter.default).lower() if isinstance(parameter.default, bool) else parameter.default
    more = "required" if parameter.required else "" if default is None else f"default: {default}"
    return f"{parameter.help} {parameter.expected.capitalize()}{f' [{more}]' if more else ''}."


def _table(rows: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """Lines of two columns, the second wrapped."""
    listed = list(rows)
    first = max((len(name) for name, _ in listed), default=0) + 4
    for name, text in listed:
        yield from wrap(
            text, width, initial_indent=f"  {name:{first - 2}}", subsequent_indent=" " * first, break_on_hyphens=False
        )


def _as_dict(algorithm: Algorithm) -> dict[str, Any]:
    return {
        **algorithm.as_dict(),
        "parameters": [one.as_dict() for one in own_parameters(algorithm)],
        "options": [{**one.as_dict(), "option": OPTION_OF[one.name]} for one in algorithm.parameters if one.shared],
    }
