"""Options that commands share, and the layout of their help.

`--param NAME=VALUE` is here, too: parameters of single searches, and the options that they had before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click
from click.shell_completion import CompletionItem

from treeanon.algorithms.algorithm import Algorithm, parse_parameters
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS, TREE_DEFAULT
from treeanon.cli.printing import say, show_warnings
from treeanon.formats import FORMATS
from treeanon.parameters import Parameter

if TYPE_CHECKING:
    from treeanon.algorithms.tree.registry import TreeAlgorithm


F = TypeVar("F", bound=Callable[..., Any])
SENSITIVE = ("separate", "joined")
FORMS = ("distinct", "frequency", "entropy", "recursive")
DISTANCES = ("equal", "ordered", "hierarchical")
MODEL_PARAMETERS = ("l", "diversity", "c", "alpha", "p", "t", "emd", "sensitive", "models")

_NAMED = ("objective", "queries")
"""Parameters of searches that have an option of their own, too."""

_WIDEST = 22
"""Columns of an option with its value; longer ones have a line of their own."""

_NAMES = ("FILE", "FOLDER", "INPUT", "PATH", "RELEASE", "SOLUTION", "BEFORE", "AFTER")
"""What stands for names of files in the help."""

_SHOWS_ALL = "treeanon.cli.help_all"


class Command(click.Command):
    """A command whose help lists its options in groups.

    `groups` has the parameters of each group by its title; options of no group come first, as `others`. Those in `rare`
    are listed by `--help-all` only, so that `--help` fits two screens.
    """

    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Guarantee": ("k", "m", "n", "recommended", "attacker", "negative", "as_published", *MODEL_PARAMETERS),
        "Search": (
            "algorithm", "params", *_NAMED, "taking_apart", "effort", "weights", "max_suppressed", "max_loss",
            "max_group_loss", "mining",
        ),
        "Tables": ("as_table", "levels", "styles", "spans", "reduced", "publish", "round_ranges", "release", "rest"),
        "Input and output": (
            "schema", "output", "source_format", "target_format", "delimiter", "schema_out", "solution", "html",
            "report", "audience", "engine", "sample", "on_error", "strict", "objects", "csv_safe", "follow_links",
            "show_values", "seed", "force",
        ),
        "General": ("jobs", "ignore_memory", "quiet", "as_json", "help_all", "help"),
    }  # fmt: skip
    others: ClassVar[str] = "Options"
    rare: ClassVar[frozenset[str]] = frozenset(
        ("models", "round_ranges", *_NAMED, "taking_apart", "delimiter", "on_error", "strict", "objects", "show_values")
    ) | {"csv_safe", "follow_links", "levels", "styles", "spans", "max_group_loss", "sensitive", "seed", "jobs"}

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with --help-all where --help does not list all."""
        params = super().get_params(ctx)
        if not any(param.name in self.rare for param in params):
            return params
        return [*params[:-1], _HELP_ALL, params[-1]]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a name of a file that is empty would be that of the working folder."""
        for param in self.params:
            is_given = ctx.get_parameter_source(param.name or "") is not click.core.ParameterSource.DEFAULT
            if param.metavar in _NAMES and ctx.params.get(param.name or "") == "" and is_given:
                raise click.UsageError(
                    f"{param.opts[0] if param.opts[0] != param.name else param.metavar}: is empty", ctx
                )
        with show_warnings(quiet=bool(ctx.params.get("quiet"))):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups, their texts in one column."""
        hidden = () if ctx.meta.get(_SHOWS_ALL) else self.rare
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option) and one.name not in hidden]
        # Click gives its own option --help a name of its own.
        names = {"--help": "help"}
        records = {names.get(one.opts[-1], one.name): record for one in options if (record := one.get_help_record(ctx))}
        width = min(_WIDEST, max(len(flag) for flag, _ in records.values()))
        # An option that two groups name is of the first one.
        grouped = {
            title: [records.pop(name) for name in members if name in records] for title, members in self.groups.items()
        }
        for title, members in {self.others: list(records.values()), **grouped}.items():
            _write_group(formatter, title, members, width)


def _write_group(formatter: click.HelpFormatter, title: str, records: Sequence[tuple[str, str]], width: int) -> None:
    if records:
        with formatter.section(title):
            formatter.write_dl([(flag.ljust(width), text) for flag, text in records], col_max=width)


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[_SHOWS_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help="Show all options."
)

schema_option = click.option("--schema", "-s", required=True, metavar="FILE", help="Schema of the input (TOML).")
output_option = click.option("--output", "-o", required=True, metavar="PATH", help="File, folder, .zip, URL or -.")


def _formats(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in FORMATS if name.startswith(incomplete)]


follow_links_option = click.option(
    "--follow-links", is_flag=True, help="Also read what links in folders of the input lead to out of them."
)

from_option = click.option(
    "--from",
    "source_format",
    metavar="FORMAT",
    shell_complete=_formats,
    help="Format of the input [default: by its name].",
)
to_option = click.option(
    "--to",
    "target_format",
    metavar="FORMAT",
    shell_complete=_formats,
    help="Format of the output [default: by its name].",
)
schema_out_option = click.option("--schema-out", metavar="FILE", help="Also write the schema of the output.")
force_option = click.option("--force", is_flag=True, help="Replace existing output.")
seed_option = click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="Seed for repeatable tests; never for publishing."
)
delimiter_option = click.option(
    "--delimiter", default="", metavar="C", help="Delimiter of CSV files, or tab [default: detected]."
)
reduce_option = click.option(
    "--reduce",
    "reduced",
    multiple=True,
    metavar="CLASS=HOW",
    help="Repeated values: count, min, max, mean, mode or set.",
)


def printing_options(command: F) -> F:
    """Add the options of every command about what it prints."""
    as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on standard output.")
    quiet = click.option("--quiet", "-q", is_flag=True, help="Print only errors (and the result of --json).")
    return quiet(as_json(command))


class PerColumn(click.ParamType):  # type: ignore[type-arg]
    """A number, or one for a column: [CLASS=]N."""

    name = "number"

    def __init__(self, *, whole: bool) -> None:
        self.whole = whole

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int | float]:
        """Return the class (empty: all of them) and the number."""
        if isinstance(value, tuple):
            return value
        column, _, text = str(value).rpartition("=")
        try:
            return column, int(text) if self.whole or text.strip().isdigit() else float(text)
        except ValueError:
            kind = "a whole number" if self.whole else "a number"
            self.fail(f"must be {kind}, or CLASS={kind} for one class", param, ctx)


def _gathered(
    ctx: click.Context, param: click.Parameter, given: tuple[tuple[str, int | float], ...]
) -> int | float | dict[str, int | float] | None:
    """Return one number for all columns, or one for each of those named; "" stands for the others, for which l is 1."""
    if not given:
        return None
    if any(column == "" for column, _ in given):
        if len(given) == 1:
            return given[0][1]
        if param.name != "l" or dict(given)[""] != 1:
            more = "; beside them only --l 1 (no diversity for the other classes)" if param.name == "l" else ""
            raise click.BadParameter(f"give one number for all classes, or CLASS=N for each{more}", ctx, param)
    if len({column for column, _ in given}) < len(given):
        raise click.BadParameter("a class is given twice", ctx, param)
    return dict(given)


def per_column(flag: str, name: str, text: str, *, whole: bool = False, metavar: str = "[CLASS=]X") -> Callable[[F], F]:
    """Return an option that takes one number for all sensitive classes, or one for each that is named."""
    return click.option(
        flag, name, multiple=True, type=PerColumn(whole=whole), callback=_gathered, metavar=metavar, help=text
    )


_MODEL_OPTIONS: tuple[Callable[..., Any], ...] = (
    per_column("--l", "l", "l-diversity of sensitive classes; 1: none required.", metavar="[CLASS=]N"),
    click.option(
        "--diversity",
        type=click.Choice(FORMS),
        metavar="FORM",
        help="frequency [trees], distinct, entropy, recursive.",
    ),
    click.option("--c", "c", type=float, metavar="X", help="c of recursive (c,l)-diversity."),
    per_column("--alpha", "alpha", "(alpha,k): maximum share of a sensitive value."),
    per_column("--p", "p", "p-sensitive: distinct sensitive values in a group.", whole=True, metavar="[CLASS=]N"),
    per_column("--t", "t", "t-closeness: maximum distance from the whole table."),
    click.option(
        "--emd",
        type=click.Choice(DISTANCES),
        default="equal",
        metavar="DISTANCE",
        help="Of --t: equal [default], ordered or hierarchical.",
    ),
    click.option(
        "--sensitive",
        type=click.Choice(SENSITIVE),
        metavar="HOW",
        help="Several sensitive classes: each separate [default], or joined: the others may be known.",
    ),
    click.option(
        "--model",
        "models",
        multiple=True,
        callback=lambda ctx, param, given: given or None,
        metavar="NAME:PARAM=VALUE,…",
        help="Further privacy model of tables, also of another package (repeatable).",
    ),
)


def model_options(command: F) -> F:
    """Add the parameters of privacy models beyond k."""
    for option in reversed(_MODEL_OPTIONS):
        command = option(command)
    return command


COMPLETE = Parameter("complete", "flag", "Refine the cut that was found to a maximal one.", default=False)
"""A parameter of each search whose cut the default search can refine."""

OPTION_OF = {
    "weights": "--weight",
    "effort": "--effort",
    "taking_apart": "--taking-apart",
    "max_loss": "--max-loss",
    "max_group_loss": "--max-group-loss",
    "max_suppressed": "--max-suppressed",
}
"""The options of `anonymize` for parameters that several searches share."""

FORMER_OPTIONS = (
    "g", "closed", "scope", "recoding", "complete", "loss", "preference", "matrix", "metric", "label",
    "method", "look_back", "window", "primal", "seconds", "mode", "split", "order", "columns", "form", "block",
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
        for name in _NAMED:
            if value := given.pop(name):
                if name in params:
                    raise click.UsageError(f"{_flag(name)} and --param {name} are the same; choose one")
                params = {**params, name: value}
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
    gathered = click.option("--queries", metavar="FILE", help="Queries of --objective queries, one a line.")(gathered)
    gathered = click.option(
        "--objective", metavar="NAME", help="What is minimized: loss [default], mining, queries, …"
    )(gathered)
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
