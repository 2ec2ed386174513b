"""Options that commands share, and how their help is laid out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

if TYPE_CHECKING:
    pass

F = TypeVar("F", bound=Callable[..., Any])

FORMS = ("distinct", "frequency", "entropy", "recursive")

DISTANCES = ("equal", "ordered", "hierarchical")

MODEL_PARAMETERS = ("l", "diversity", "c", "alpha", "p", "t", "emd")


class Sectioned(click.Command):
    """A command whose help lists its options in sections; `sections` has the names of their parameters by title."""

    sections: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options, those of no section last."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        left = {option.name: record for option in options if (record := option.get_help_record(ctx))}
        for title, names in self.sections.items():
            records = [left.pop(name) for name in names if name in left]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        with formatter.section("Options" if not self.sections else "Reading and printing"):
            formatter.write_dl(list(left.values()))


class PerColumn(click.ParamType):  # type: ignore[type-arg]
    """A number, or one for a column: [CLASS=]N."""

    name = "number"

    def __init__(self, *, whole: bool) -> None:
        self.whole = whole

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int | float]:
        """The class (empty: all of them) and the number."""
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
    """One number for all columns, or one for each of those named: "" are the others, which want no diversity."""
    if not given:
        return None
    if any(column == "" for column, _ in given):
        if len(given) == 1:
            return given[0][1]
        if param.name != "l" or dict(given)[""] != 1:
            more = "; --l 1 beside them: none for the others" if param.name == "l" else ""
            raise click.BadParameter(f"give one number for all classes, or CLASS=N for each{more}", ctx, param)
    if len({column for column, _ in given}) < len(given):
        raise click.BadParameter("a class has two numbers", ctx, param)
    return dict(given)


def per_column(flag: str, name: str, text: str, *, whole: bool = False, metavar: str = "[CLASS=]X") -> Callable[[F], F]:
    """An option that is one number for all sensitive classes, or one for each that is named."""
    return click.option(
        flag, name, multiple=True, type=PerColumn(whole=whole), callback=_gathered, metavar=metavar, help=text
    )


def model_options(command: F) -> F:
    """Options for the privacy models beyond k; each of what it takes for every sensitive class, or for one."""
    for option in reversed(
        (
            per_column("--l", "l", "Diversity in sensitive classes; 1: none is wanted there.", metavar="[CLASS=]N"),
            click.option(
                "--diversity",
                type=click.Choice(FORMS),
                default="distinct",
                show_default=True,
                help="What --l counts: N values, none more frequent than 1/N, their entropy, recursive (c,l).",
            ),
            click.option("--c", "c", type=float, metavar="X", help="recursive: most frequent < c times the rest."),
            per_column("--alpha", "alpha", "(alpha,k): no value in more than this share of a group."),
            per_column("--t", "t", "t-closeness: values spread as in the whole table, up to t."),
            click.option(
                "--emd",
                type=click.Choice(DISTANCES),
                default="equal",
                show_default=True,
                help="--t: how far one value is from another.",
            ),
            per_column("--p", "p", "p-sensitive: at least p values in a group.", whole=True, metavar="[CLASS=]N"),
        )
    ):
        command = option(command)
    return command


reduce_option = click.option(
    "--reduce",
    "reduced",
    multiple=True,
    metavar="CLASS=HOW",
    help="How several values of a class become one: count, min, max, mean, mode or set. May be repeated.",
)

schema_option = click.option(
    "--schema", "-s", required=True, metavar="FILE", help="The schema (TOML) that names what may be published."
)

output_option = click.option(
    "--output",
    "-o",
    required=True,
    metavar="PATH",
    help="Where to write: a file, `-` (standard output), a folder or .zip, a database's URL; .gz and .zst compress.",
)

force_option = click.option("--force", is_flag=True, help="Replace the output if it exists.")

seed_option = click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    help="Repeatable random order. For tests only: do not publish a seeded release.",
)


def talking_options(command: F) -> F:
    """Options of every command about what it prints."""
    command = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on standard output.")(
        command
    )
    return click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors (and the result of --json).")(
        command
    )
