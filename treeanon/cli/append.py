"""`treeanon append`: publish new persons by the solution of an earlier release, as a batch of their own."""

from __future__ import annotations

import os
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, ClassVar

import click

from treeanon.cli.checks import (
    announce_compilation,
    beside,
    check_extra_output,
    check_folder,
    check_form,
    refuse_own_input,
    refuse_two_on_stdout,
)
from treeanon.cli.options import (
    Command,
    force_option,
    output_option,
    printing_options,
    schema_option,
    seed_option,
    to_option,
)
from treeanon.cli.printing import counted, print_result, progress_bar, say
from treeanon.cli.reading import Reading, load_schema, read_records, reading_options
from treeanon.cli.summaries import merged_notes, release_summary

if TYPE_CHECKING:
    from treeanon.algorithms.tree.solution import Solution
    from treeanon.forest import Forest
    from treeanon.release.append_batch import Appended
    from treeanon.release.append_history import Persons
    from treeanon.schema import Schema


class _Append(Command):
    """The command, whose help has a group of its own."""

    groups: ClassVar = {
        "Persons": ("earlier", "history", "person", "full"),
        "Batch": ("k", "max_held", "published", "anew", "solution_out"),
        **{title: names for title, names in Command.groups.items() if title in ("Input and output", "General")},
    }


@click.command(cls=_Append)
@click.argument("source", metavar="NEW")
@click.option("--solution", required=True, metavar="FILE", help="Solution of the release before.")
@schema_option
@output_option
@click.option("--earlier", metavar="INPUT", help="First time: the input of the release before.")
@click.option(
    "--history", metavar="FILE", help="Who is published, who waits; rewritten [default: beside the solution]."
)
@click.option("--person", metavar="CLASS", help="Identifier that tells who is who [default: content].")
@click.option("--full", is_flag=True, help="NEW has everybody, not new persons alone.")
@click.option("-k", "k", type=click.IntRange(2), metavar="K", help="Minimum persons [default: the solution's].")
@click.option("--max-held", metavar="N", help="Persons that may be held back: 12 or 5% [default: 10%].")
@click.option("--published", multiple=True, metavar="FILE", help="What is published so far (repeat for several).")
@click.option("--anew", is_flag=True, help="Publish everything anew, by a coarser cut.")
@click.option("--solution-out", metavar="FILE", help="With --anew: the coarser solution.")
@to_option
@force_option
@seed_option
@reading_options
@printing_options
def command(
    source: str,
    solution: str,
    schema: str,
    output: str,
    earlier: str | None,
    history: str | None,
    person: str | None,
    full: bool,
    k: int | None,
    max_held: str | None,
    published: tuple[str, ...],
    anew: bool,
    solution_out: str | None,
    target_format: str | None,
    force: bool,
    seed: int | None,
    reading: Reading,
    quiet: bool,
    as_json: bool,
) -> None:
    """Publish persons who are new since the last release, by its solution.

    Whoever knows in which batch a person came finds as many records in it as the guarantee says. Persons for whom that
    cannot be are held back in the history, a private file, and are published by a later append. If more than --max-held
    are, nothing is written, a coarser cut is proposed, and the exit code is 1. Exit code 3: somebody who was published
    has changed or is missing.

    \b
    treeanon append new.xml --solution out.solution.json -s schema.toml -o out-2.xml
    """
    from treeanon.io import output_format
    from treeanon.io.output import refuse_existing
    from treeanon.io.relational.urls import shown
    from treeanon.release.append_batch import MAX_HELD, Asked, append

    if anew and not (published and solution_out):
        raise click.UsageError("--anew requires --published, which becomes more general, and --solution-out")
    if solution_out and not anew:
        raise click.UsageError("--solution-out is for --anew: without it the solution stays the same")
    refuse_two_on_stdout(output, as_json=as_json)
    state, target_state = _history_files(history, solution, solution_out)
    inputs = [source, solution, schema, *published, *([earlier] if earlier else [])]
    refuse_own_input([*inputs, state], [output, solution_out])
    refuse_own_input(inputs, [target_state])
    check_extra_output(solution_out, output, force=force, option="--solution-out")
    check_extra_output(target_state, output, force=force or target_state == state, option="--history")
    refuse_existing(output, force=force)
    check_folder(output)
    loaded = load_schema(schema, reading)
    found = _solution_of(solution)
    form = output_format(output, loaded, target_format)
    check_form(loaded, form, output, target_state, solution_out)
    announce_compilation(quiet=quiet)
    delivery = _delivered(source, loaded, person, reading, quiet=quiet)
    with progress_bar("checking", quiet=quiet) as progress:
        done = append(
            found,
            delivery,
            history=state if os.path.exists(state) else None,  # noqa: PTH110 - which never raises
            earlier=None if earlier is None else _delivered(earlier, loaded, person, reading, quiet=quiet),
            published=_all_published(published, loaded, reading, quiet=quiet),
            asked=Asked(person, full, k, max_held or MAX_HELD, anew, reading["jobs"], progress),
        )
    with ExitStack() as stack:
        stack.enter_context(done.history.written_after(target_state, force=True))
        if done.release is not None:
            with progress_bar("writing", quiet=quiet) as progress:
                done.release.write(
                    output, format=form.name, force=force, seed=seed, jobs=reading["jobs"], progress=progress
                )
        rest = stack.pop_all()
    with nullcontext() if done.release is None else beside(output), rest:
        if solution_out and done.release is not None:
            done.release.write_solution(solution_out, force=force)
    told = _lines(done, target_state, is_compared=full or bool(earlier) or os.path.exists(state))  # noqa: PTH110
    if done.release is None:
        say("\n".join(told), quiet=quiet)
    else:
        notes = merged_notes(loaded, done.release.solution.objects, "so are those that the solution was made for")
        say(release_summary(done.release, output, solution_out, notes=[*told, *notes]), quiet=quiet)
    print_result({**done.as_dict(), "output": shown(output), "history": target_state}, as_json=as_json)


def _history_files(history: str | None, solution: str, solution_out: str | None) -> tuple[str, str]:
    """Return the history that is read, if it is there, and the one that is written."""
    if history is not None:
        return history, history
    return _beside(solution), _beside(solution_out or solution)


def _beside(solution: str) -> str:
    """Return the history that lies beside a solution.

    >>> _beside("a/out.solution.json"), _beside("own.json")
    ('a/out.history.json', 'own.history.json')
    """
    return f"{solution.removesuffix('.json').removesuffix('.solution')}.history.json"


def _solution_of(solution: str) -> Solution:
    from treeanon.release import SolutionFile
    from treeanon.release.reapply import is_of_table

    if is_of_table(solution):
        raise click.UsageError("this is the solution of a table; only persons of trees can be appended")
    return SolutionFile.load(solution).solution


def _delivered(source: str, schema: Schema, person: str | None, reading: Reading, *, quiet: bool) -> Persons:
    """Read persons, with what they are recognized by."""
    from treeanon.release.append_history import persons_of, reading_schema

    forest = read_records(source, reading_schema(schema, person), reading, quiet=quiet)
    return persons_of(forest, schema, person)


def _all_published(files: tuple[str, ...], schema: Schema, reading: Reading, *, quiet: bool) -> Forest | None:
    """Read everything that was published so far."""
    from treeanon.release.append_history import together

    if not files:
        return None
    first, *others = (read_records(file, schema, {**reading, "format": None}, quiet=quiet) for file in files)
    return together(first, [tree for other in others for tree in other.records()])


def _lines(done: Appended, history: str, *, is_compared: bool) -> list[str]:
    """Return what to say of the persons of a delivery."""
    counts = done.counts
    came = f"New: {counted(counts['delivered'], 'person')}"
    if counts["known"]:
        came += f" ({counts['known']:,} published before)"
    if counts["waited"]:
        came += f", and {counts['waited']:,} held back before"
    lines = [f"{came}; published {counts['published']:,}, held back {counts['held']:,}"]
    if done.release is None:
        lines.append("Nobody is published this time: they are too few to be hidden")
    if done.is_anew:
        lines.append(f"Published anew: {counted(counts['published_before'], 'person')}; the losses are of the new ones")
    if alike := counts.get("alike"):
        lines.append(
            f"warning: {counted(alike, 'new person')} equal to one published before: if they are the same, publish none"
            " of this, and use --full or --person"
        )
    if counts.get("published_before", known := done.history.persons - counts["published"]) < known:
        lines.append(
            f"warning: the published files have {counts['published_before']:,} persons, and {known:,} are known"
        )
    if not is_compared:
        lines.append("Not looked for: persons of the earlier release among the new ones (--earlier)")
    if done.history.person is not None:
        lines.append(f"Recognized by class {done.history.person}, which is kept as keyed hashes and not published")
    return [*lines, f"History written to {history}: private, never to be published"]
