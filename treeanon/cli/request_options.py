"""Options of every command that makes a release: what must hold, how it is searched for, and what it may cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, TypedDict

import click

from treeanon.algorithms.table.options import OPTIONS
from treeanon.algorithms.table.registry import FLAT_ALGORITHMS, FLAT_DEFAULT, PERMUTED_DEFAULT
from treeanon.algorithms.tree.registry import ALGORITHMS, CLOSED, DEFAULT, OBJECTIVES, RECODINGS, SCOPES
from treeanon.cli.request import SHARED
from treeanon.cli.table_options import MODEL_PARAMETERS, Sectioned, model_options, reduce_option, search_options

_TAKEN = (*SHARED, "seed", "max_suppressed")
"""Options of searches of tables that the command has anyhow."""


class Releasing(Sectioned):
    """A command that makes a release: its options by what they are about, then the searches."""

    sections: ClassVar = {
        "What must hold": ("k", *MODEL_PARAMETERS),
        "The search": ("algorithm", "max_suppressed", "max_loss", "weights", "effort"),
        "Trees": (
            "m", "n", "attacker", "negative", "recoding", "objective", "g", "closed", "scope", "complete", "mining",
        ),
        "Tables (CSV and Parquet, or records made one row a person)": (
            "reduced", "publish", "release", "rest", *(name for name in OPTIONS if name not in _TAKEN),
        ),
        "Input and output": (
            "schema", "output", "target_format", "source_format", "solution", "html", "audience", "force",
            "engine", "sample",
        ),
    }  # fmt: skip

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options, then the searches."""
        super().format_options(ctx, formatter)
        with formatter.section(f"Searches of trees (-a; {DEFAULT} unless named)"):
            formatter.write_dl([(one.name, one.help) for one in ALGORITHMS.values()])
        defaults = f"{FLAT_DEFAULT} unless named; for --publish permuted {PERMUTED_DEFAULT}"
        with formatter.section(f"Searches of tables (-a; {defaults})"):
            formatter.write_dl([(one.name, one.help) for one in FLAT_ALGORITHMS.values()])


def _weights(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, float] | None:
    """CLASS=NUMBER, any number of times."""
    weights = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            equals = ""
        if not equals or not name or not 0 <= weights[name] < float("inf"):
            raise click.BadParameter("must be CLASS=NUMBER, for example diagnosis=5", ctx, option)
    return weights or None


_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option(
        "-k", type=int, metavar="N", help="Nobody can be told from fewer than N persons (--max-loss: the least)."
    ),
    click.option("-m", type=int, metavar="N", help="Values an attacker may know of a person.  [default: 2]"),
    click.option("-n", type=int, metavar="N", help="Relations between them they may know.  [default: 1]"),
    click.option(
        "--attacker",
        type=click.Choice(["independent", "joint"]),
        default="independent",
        show_default=True,
        help="joint: they also know that relations speak of the same nodes.",
    ),
    model_options,
    click.option("--negative", multiple=True, metavar="CLASS", help="They may also know what of CLASS a person lacks."),
    click.option(
        "--algorithm",
        "-a",
        type=click.Choice([*ALGORITHMS, *FLAT_ALGORITHMS]),
        metavar="NAME",
        help="How the release is found: one of the searches below.",
    ),
    click.option("--recoding", type=click.Choice(RECODINGS), help="sibling: let frequent values out of a general one."),
    click.option("--objective", type=click.Choice(OBJECTIVES), help="What the search makes as small as it can."),
    click.option(
        "--weight",
        "weights",
        multiple=True,
        callback=_weights,
        metavar="CLASS=N",
        help="What is dearer than the rest (1).",
    ),
    click.option("--effort", metavar="N|Ns", help="How long to search: 1 is usual, 2 twice as long; 30s: for so long."),
    click.option("--g", "g", type=int, metavar="N", help="gcs, ocs: cuts to keep in each step."),
    click.option("--closed", type=click.Choice(CLOSED), help="acs, gcs, ocs: what is not tried again."),
    click.option("--scope", type=click.Choice(SCOPES), help="acs, gcs, ocs: where RPDa counts the nodes of a level."),
    click.option("--complete", is_flag=True, help="acs, gcs, ocs: carry the cut on to a maximal one."),
    reduce_option,
    click.option(
        "--publish",
        type=click.Choice(["generalized", "permuted"]),
        help="permuted: quasi values as they are, and apart from the rows how often each group has each sensitive"
        " value; that hides whose a value is, not who is there: -k is then the size of groups.  [default: generalized]",
    ),
    search_options(*_TAKEN),
    click.option("--max-suppressed", default="0", metavar="N|N%", help="Persons that may be left out as outliers."),
    click.option("--max-loss", type=float, metavar="X", help="The largest k whose value loss (0 to 1) is at most X."),
)

_ALL = ("k", "algorithm", "max_suppressed")
_OF_TREES = ("m", "n", "attacker", "negative", "recoding", "objective", "g", "closed", "scope", "complete")
_OF_TABLES = (*MODEL_PARAMETERS, "reduced", "publish", *(name for name in OPTIONS if name not in _TAKEN))


class Asking(TypedDict):
    """What these options say, as `Asked` has it."""

    k: int | None
    algorithm: str | None
    max_suppressed: str
    options: dict[str, Any]
    trees: dict[str, Any]


def asking_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of every command that makes a release, which is given them together, as `asking`."""

    @wraps(command)
    def gathered(*args: Any, **given: Any) -> Any:
        asking = {name: given.pop(name) for name in _ALL}
        asking["trees"] = {name: given.pop(name) for name in _OF_TREES}
        asking["options"] = {name: given.pop(name) for name in (*_OF_TABLES, *SHARED)}
        return command(*args, asking=asking, **given)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered
