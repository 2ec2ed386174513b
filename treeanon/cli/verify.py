"""`treeanon verify`: whether published trees keep a guarantee, whoever made them."""

from __future__ import annotations

import os
from typing import Any, Literal

import click

from treeanon.cli.common import (
    printable,
    progress_bar,
    read_records,
    reading_options,
    result,
    say,
    schema_option,
    talking_options,
    told_dropped,
)

_MOST = 12


@click.command()
@click.argument("release", metavar="RELEASE")
@schema_option
@click.option("-k", type=click.IntRange(1), required=True, help="The least number of persons behind what is known.")
@click.option("-m", type=click.IntRange(1, 8), default=2, show_default=True, help="How many values are known at most.")
@click.option("-n", type=click.IntRange(0, 64), default=1, show_default=True, help="How many relations between them.")
@click.option(
    "--attacker",
    type=click.Choice(["independent", "joint"]),
    default="independent",
    show_default=True,
    help="joint: also knows that the relations speak of the same nodes.",
)
@click.option(
    "--l", "l", type=click.IntRange(1), default=1, show_default=True, help="How diverse sensitive classes must be."
)
@click.option(
    "--diversity",
    type=click.Choice(["distinct", "frequency"]),
    default="distinct",
    show_default=True,
    help="distinct: at least l values a group; frequency: none with more than 1/l of it.",
)
@click.option("--negative", multiple=True, metavar="CLASS", help="It is also known which values of it are absent.")
@click.option("--ignore-unnamed", is_flag=True, help="Answer for the named fields alone, if there are others.")
@reading_options
@talking_options
def command(
    release: str,
    schema: str,
    k: int,
    m: int,
    n: int,
    attacker: Literal["independent", "joint"],
    l: int,  # noqa: E741
    diversity: Literal["distinct", "frequency"],
    negative: tuple[str, ...],
    source_format: str | None,
    on_error: Literal["error", "skip"],
    strict: bool,
    show_values: bool,
    jobs: int | None,
    ignore_unnamed: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Check whether published trees are k^(m,n)-anonymous, and tell the largest k that holds.

    RELEASE is a file, a folder, a glob or a zip of files, the URL of a database, or `-`, also one that treeanon did
    not make. Every combination of up to m values and n relations that anybody holds is counted. What fails is told by
    classes, never by values. Exit code 0: the guarantee holds; 1: it does not, or there are fields that the schema
    does not name (in tables: also keys that are more than numbers of rows).

    \b
    treeanon verify out.xml -s schema.toml -k 5
    treeanon verify out.xml -s schema.toml -k 20 -m 3 -n 2 --attacker joint --json
    """
    from treeanon.privacy import Guarantee, verify
    from treeanon.schema import Schema

    asked = Guarantee(k, m, n, attacker, l, diversity, negative)
    loaded = Schema.load(schema)
    cores = jobs or os.cpu_count() or 1
    forest = read_records(
        release, loaded, quiet=quiet, format=source_format, on_error=on_error, strict=strict,
        show_values=show_values, jobs=jobs,
    )  # fmt: skip
    with progress_bar("checking", quiet=quiet) as progress:
        verdict = verify(forest, asked, jobs=cores, progress=progress)
    kept = [spec.name for spec in loaded.classes if spec.published and spec.role not in ("quasi", "sensitive")]
    skipped = forest.report.skipped if forest.report else 0
    unread = {**forest.report.dropped.paths(), **forest.report.keys} if forest.report else {}
    strays = forest.report.strays() if forest.report else []
    if as_json:
        more = {
            "declared_safe": kept,
            "skipped_records": skipped,
            "not_looked_at": unread,
            "strays": strays,
        }
        result({**verdict.as_dict(), **more}, as_json=True)
    elif not quiet:
        click.echo("\n".join(_told(verdict)))
    if kept:
        say(f"not checked, declared safe by the schema: {printable(', '.join(kept))}", quiet=quiet)
    if skipped:
        say(f"warning: {skipped:,} broken records skipped, which the answer knows nothing of", quiet=quiet)
    if unread:
        left = "not looked at" if ignore_unnamed else "not looked at, so that nothing can be said of the file"
        say(f"the file has fields that the schema does not name or withholds, {left}:", quiet=quiet)
        say("\n".join(told_dropped(unread)), quiet=quiet)
    if strays:
        say("beside the persons there are:", quiet=quiet)
        say("\n".join(f"  {printable(line)}" for line in strays), quiet=quiet)
    return 0 if verdict.holds and (ignore_unnamed or not (unread or strays)) else 1


def _told(verdict: Any) -> list[str]:
    """The verdict as lines for people."""
    asked = verdict.guarantee
    lines = [printable(verdict.sentence), asked.sentence]
    if not verdict.holds:
        lines[1] = f"Asked for: {asked.sentence}"
    lines.append(f"{verdict.persons:,} persons, {verdict.label_sets:,} sets of values looked at.")
    if verdict.failures:
        lines.append("What fails:")
        lines.extend(f"  {printable(failure.sentence)}" for failure in verdict.failures[:_MOST])
        if len(verdict.failures) > _MOST:
            lines.append(f"  … and {len(verdict.failures) - _MOST:,} more patterns (--json lists all)")
    return lines
