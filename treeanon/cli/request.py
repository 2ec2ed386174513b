"""What the commands that make a release are asked for, the options that say it, and the library's requests for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, TypedDict

import click

from treeanon.algorithms.algorithm import parse_parameters
from treeanon.algorithms.table.registry import table_algorithm_named
from treeanon.algorithms.tree.registry import TREE_DEFAULT, tree_algorithm_named
from treeanon.cli.options import (
    MODEL_PARAMETERS,
    AlgorithmName,
    check_required,
    model_options,
    params_option,
    parsed,
    parsed_for_trees,
    reduce_option,
)
from treeanon.cli.printing import print_result
from treeanon.cli.reading import Reading
from treeanon.cli.report import PageRequest

if TYPE_CHECKING:
    from treeanon.release import DocumentsRelease, PermutedRelease, Release, Request, TableRelease, TableRequest
    from treeanon.release.table_request import Publish
    from treeanon.schema import Schema
    from treeanon.spark.interface import DistributedRelease

    AnyRelease = Release | TableRelease | PermutedRelease | DocumentsRelease | DistributedRelease


@dataclass(frozen=True)
class Made:
    """What a command has made: the release (None: it was a dry run), its facts, as --json has them, and all files."""

    release: AnyRelease | None
    facts: Mapping[str, Any]
    files: tuple[str, ...]


def told(release: AnyRelease, facts: Mapping[str, Any], request: CommandRequest) -> Made:
    """Print the facts of a release if --json is given, and return what was made."""
    print_result(facts, as_json=request.as_json)
    files = (request.output, request.solution, request.page.target, request.page.report)
    return Made(release, facts, tuple(name for name in files if name is not None))


@dataclass(frozen=True, kw_only=True)
class CommandRequest:
    """What the command line asks for; `models` has the parameters of privacy models beyond k."""

    source: str
    schema: Schema
    reading: Reading
    k: int | None
    m: int | None
    n: int | None
    attacker: str
    negative: tuple[str, ...]
    as_published: bool
    taking_apart: str | None
    models: Mapping[str, Any]
    algorithm: str | None
    params: Mapping[str, str]
    weights: Mapping[str, str] | None
    levels: Mapping[str, str] | None
    styles: Mapping[str, str] | None
    spans: Mapping[str, str] | None
    max_group_loss: float | None
    effort: str | None
    max_suppressed: str
    max_loss: float | None
    reduced: tuple[str, ...]
    publish: str | None
    round_ranges: bool = False
    release: str = "table"
    rest: str | None = None
    output: str = ""
    solution: str | None = None
    target_format: str | None = None
    force: bool = False
    seed: int | None = None
    quiet: bool = False
    as_json: bool = False
    mining: bool = False
    ignore_memory: bool = False
    page: PageRequest = field(default_factory=PageRequest)

    @property
    def is_table(self) -> bool:
        """Whether a table is released: by the search, by what only tables have, or by the input."""
        from treeanon.io.reading import holds_rows
        from treeanon.release.parameters import is_of_rows

        return is_of_rows(
            self.algorithm,
            {"m": self.m, "n": self.n, "negative": self.negative},
            lambda: holds_rows(self.source, self.schema, self.reading["format"]),
            only_rows=bool(asks_for_table(self.models) or self.reduced or self.publish or self.release == "documents"),
        )

    def table_request(self) -> TableRequest:
        """Return the request for a release of a table."""
        from treeanon.release import TableRequest
        from treeanon.release.table_request import default_search, unprotected_by
        from treeanon.schema.controls import SETTINGS, controls_of

        publish: Publish = "permuted" if self.publish == "permuted" else "generalized"
        algorithm = table_algorithm_named(self.algorithm or default_search(publish))
        options = parsed([algorithm], self.params)
        if self.effort is not None:
            options |= parse_parameters(algorithm, {"effort": self.effort})
        given = {"max_loss": self.max_loss, "max_group_loss": self.max_group_loss}
        options |= {name: value for name, value in given.items() if value is not None}
        check_required(algorithm, options)
        return TableRequest(
            models_of_options(self.k, self.models), algorithm.name, self.max_suppressed, options,
            unprotected=unprotected_by(self.models["l"]), publish=publish, round_ranges=self.round_ranges,
            controls=controls_of({one.name: getattr(self, one.name) for one in SETTINGS}),
        )  # fmt: skip

    def tree_request(self) -> Request:
        """Return the request for a release of trees; UsageError for options that only tables have."""
        if self.k is None and self.max_loss is None:
            raise click.UsageError("-k is required (or --max-loss)")
        if asks_for_table(self.models):
            raise click.UsageError("--c, --alpha, --t, --p, and --l by class or of another form, apply to tables only")
        refuse_table_models(self.models)
        from treeanon.schema.controls import SETTINGS

        tables: list[tuple[str, object]] = [
            ("--reduce", self.reduced), ("--publish", self.publish), ("--round-ranges", self.round_ranges),
            ("--max-group-loss", self.max_group_loss is not None),
            *((one.flag, getattr(self, one.name)) for one in SETTINGS if one.name != "weights"),
        ]  # fmt: skip
        for flag, value in tables:
            if value:
                raise click.UsageError(f"{flag} applies to tables only; choose one of their algorithms with -a")
        if self.release != "table":
            raise click.UsageError("--release applies to tables only; choose one of their algorithms with -a")
        if self.rest is not None:
            raise click.UsageError("--rest applies to --release documents only")
        return self.tree_request_of(
            self.models["l"], self.models["diversity"], algorithm=self.algorithm or TREE_DEFAULT,
            max_suppressed=self.max_suppressed, max_loss=self.max_loss,
        )  # fmt: skip

    def tree_request_of(self, l: int | None, diversity: Any, *, algorithm: str = TREE_DEFAULT, **more: Any) -> Request:  # noqa: E741
        """Return the request for a release of trees with this diversity; `more` are further fields of it."""
        from treeanon.release import Request

        options, complete = parsed_for_trees(tree_algorithm_named(algorithm), self.params)
        options |= {name: value for name in ("effort", "taking_apart") if (value := getattr(self, name))}
        options |= {"weights": {name: float(text) for name, text in self.weights.items()}} if self.weights else {}
        return Request(
            self.k,
            2 if self.m is None else self.m,
            1 if self.n is None else self.n,
            self.attacker,  # type: ignore[arg-type]
            l,
            diversity,
            self.negative,
            algorithm=algorithm,
            complete=complete,
            seed=self.seed,
            jobs=self.reading["jobs"],
            options=options,
            as_published=self.as_published,
            **more,
        )

    def refuse_tree_options(self, more: str = "") -> None:
        """Refuse options that only trees have."""
        given = {
            "-m": self.m is not None,
            "-n": self.n is not None,
            "--attacker": self.attacker != "independent",
            "--negative": bool(self.negative),
            "--as-published": self.as_published,
            "--taking-apart": self.taking_apart is not None,
        }
        refuse_tree_flags([flag for flag, there in given.items() if there], more)

    def refuse_other_options(self) -> None:
        """Refuse options that only releases of trees or of documents have."""
        if self.mining:
            raise click.UsageError("--mining applies to trees only")
        if self.rest is not None:
            raise click.UsageError("--rest applies to --release documents only")
        self.refuse_tree_options()


def refuse_tree_flags(flags: list[str], more: str = "") -> None:
    """Refuse these options, which only trees have."""
    if flags:
        verb = "applies" if len(flags) == 1 else "apply"
        known = "in a table all quasi-identifiers of a row are taken as known"
        raise click.UsageError(f"{' and '.join(flags)} {verb} to trees only: {known}{more}")


def models_of_options(k: int | None, models: Mapping[str, Any]) -> Any:
    """Return the privacy models that options ask for."""
    from treeanon.privacy.models.registry import models_of

    return models_of(k, **{name: value for name, value in models.items() if value is not None})


COUNTED_WHOLE = (
    "Counted in objects that stay whole; what was published of merged trees is verified with --objects merged"
)
"""What to say of a release that fails, where the schema leaves it open what objects are."""

_ABOUT_MODELS = ("emd", "sensitive")
"""Options that say how models of tables count, and ask for none."""


def refuse_table_models(models: Mapping[str, Any]) -> None:
    """Refuse options about models of tables, where trees are published or verified."""
    for name in _ABOUT_MODELS:
        if models.get(name) not in (None, "equal"):  # the default of --emd
            raise click.UsageError(f"--{name} applies to tables only")


def asks_for_table(models: Mapping[str, Any]) -> bool:
    """Return whether an option asks for a privacy model that only tables can satisfy."""
    of_trees = ("l", "diversity", *_ABOUT_MODELS)
    return (
        any(value is not None for name, value in models.items() if name not in of_trees)
        or models["diversity"] in ("entropy", "recursive")
        or isinstance(models["l"], dict)
    )


def setting_option(flag: str, name: str, text: str, metavar: str = "CLASS=N") -> Callable[..., Any]:
    """Return the repeated option CLASS=VALUE of a setting of columns."""

    def gathered(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str] | None:
        from treeanon.schema.controls import setting_named

        setting = setting_named(name)
        found: dict[str, str] = {}
        for pair in given:
            column, equals, value = pair.rpartition("=")
            try:
                setting.read(value)
            except ValueError:
                equals = ""
            if not equals or not column:
                wrong = f"must be CLASS={setting.form} ({setting.expected}), for example {setting.example}"
                raise click.BadParameter(wrong, ctx, option)
            if column in found:
                raise click.BadParameter("a class is given twice", ctx, option)
            found[column] = value
        return found or None

    return click.option(flag, name, multiple=True, callback=gathered, metavar=metavar, help=text)


_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("-k", type=int, metavar="N", help="Minimum group size (with --max-loss: smallest k)."),
    click.option("-m", type=int, metavar="N", help="Trees: values an attacker may know [default: 2]."),
    click.option("-n", type=int, metavar="N", help="Trees: relations between them [default: 1]."),
    click.option(
        "--attacker",
        type=click.Choice(["independent", "joint"]),
        default="independent",
        metavar="KIND",
        help="Trees: independent [default] or joint relations.",
    ),
    model_options,
    click.option("--negative", multiple=True, metavar="CLASS", help="Trees: absent values may be known as well."),
    click.option(
        "--taking-apart",
        type=click.Choice(["leave-out", "move", "none"]),
        metavar="HOW",
        help="Trees: end relations by move, leave-out, none.",
    ),
    click.option("--as-published", is_flag=True, help="Trees: the guarantee as TREE has it (weaker)."),
    click.option(
        "--algorithm",
        "-a",
        type=AlgorithmName(),
        metavar="NAME",
        help="Search algorithm; see `treeanon algorithms`.",
    ),
    params_option,
    setting_option("--weight", "weights", "Relative weight of a class (default 1)."),
    setting_option("--level", "levels", "Tables: least and highest level of a class.", "CLASS=A..B"),
    setting_option("--style", "styles", "Tables: ranges, sets or hierarchy of a class.", "CLASS=STYLE"),
    setting_option("--max-span", "spans", "Tables: greatest span of published values of a class."),
    click.option("--max-group-loss", type=float, metavar="X", help="Tables: largest loss (NCP) of any group."),
    click.option("--effort", metavar="N|Ns", help="Search effort: 1 is usual; 30s: time limit."),
    reduce_option,
    click.option(
        "--publish",
        type=click.Choice(["generalized", "permuted"]),
        metavar="FORM",
        help="generalized [default] or permuted groups.",
    ),
    click.option("--round-ranges", is_flag=True, help="Tables: ranges end at intervals of the hierarchy."),
    click.option("--max-suppressed", default="0", metavar="N|N%", help="Records that may be suppressed [default: 0]."),
    click.option("--max-loss", type=float, metavar="X", help="Largest k with at most this value loss."),
)

_NAMES = (
    "k", "m", "n", "attacker", "negative", "taking_apart", "as_published",
    "algorithm", "params", "weights", "levels", "styles", "spans", "effort", "max_suppressed", "max_loss",
    "max_group_loss", "reduced", "publish", "round_ranges",
)  # fmt: skip


class ReleaseOptions(TypedDict):
    """The values of these options, as fields of a `CommandRequest`."""

    k: int | None
    m: int | None
    n: int | None
    attacker: str
    negative: tuple[str, ...]
    taking_apart: str | None
    as_published: bool
    models: dict[str, Any]
    algorithm: str | None
    params: dict[str, str]
    weights: dict[str, str] | None
    levels: dict[str, str] | None
    styles: dict[str, str] | None
    spans: dict[str, str] | None
    max_group_loss: float | None
    effort: str | None
    max_suppressed: str
    max_loss: float | None
    reduced: tuple[str, ...]
    publish: str | None
    round_ranges: bool


def release_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command that makes a release, which are given to it together as `options`."""

    @wraps(command)
    def gathered(*args: Any, **given: Any) -> Any:
        options = {name: given.pop(name) for name in _NAMES}
        options["models"] = {name: given.pop(name) for name in MODEL_PARAMETERS}
        return command(*args, options=options, **given)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered
