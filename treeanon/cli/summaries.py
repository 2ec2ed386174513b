"""What `anonymize` and `apply` print about a release: guarantee, verification, output, losses; no value of the data.

Also what `anonymize` would do: the schema and the request are checked and told, no record is read, nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.checks import check_extra_output, check_folder, refuse_hierarchies
from treeanon.cli.printing import counted, is_library, print_result, printable, reading_notes
from treeanon.cli.report import check_page
from treeanon.cli.request import CommandRequest

if TYPE_CHECKING:
    from treeanon.metrics import MiningLoss
    from treeanon.privacy.models import Model
    from treeanon.release import DocumentsRelease, PermutedRelease, Release, Request, TableRelease, TableRequest
    from treeanon.risks.trees import OneMore
    from treeanon.schema import Schema
    from treeanon.schema.model import Objects
    from treeanon.spark.interface import DistributedRelease
    from treeanon.table import Table
    from treeanon.verifier.freeform import FreeformVerdict
    from treeanon.verifier.permuted import PermutedVerdict
    from treeanon.verifier.table import TableVerdict


_DECLARED_SAFE = "declared safe by the schema"
_MOST_MINIMAL = 10
"""So many k-minimal combinations of levels are listed; all of them are in the data of --json."""


def release_summary(
    release: Release | DistributedRelease,
    output: str,
    solution: str | None = None,
    mining: MiningLoss | None = None,
    one_more: OneMore | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Return the summary of a release of trees, if known with whom one more known value singles out."""
    from treeanon.io.relational.urls import shown
    from treeanon.reports import losses_text

    data = release.as_dict()
    counts = data["counts"]
    lines = [
        f"Guarantee: {release.solution.guarantee.sentence}",
        f"Verified in the output: {release.verdict.sentence}",
        *([] if one_more is None else [f"Beyond it: {one_more.sentence}"]),
        f"Written to {shown(output)}: {_nodes_line(counts)}",
    ]
    if solution:
        # Without a common cut, each record was recoded by itself.
        applies = release.solution.cut is not None
        lines.append(_solution_line(solution, applies=applies))
    lines += notes
    lines += cut_lines(data) + objective_lines(data)
    lines += sacrifice_lines(data)
    lines += reading_notes(counts)
    lines += ["", *losses_text(release.loss, mining).splitlines()]
    # Names of files and classes may hold control characters that would steer the terminal.
    return "\n".join(map(printable, lines))


def reached_lines(verdict: TableVerdict | PermutedVerdict | FreeformVerdict) -> list[str]:
    """Return what the groups of a release reach in each sensitive column, a line for each measure."""
    found = getattr(verdict, "reached", ())
    rows = [(printable(column.column), one) for column in found for one in column.measures]
    if not rows:
        return []
    wide, long = max(len(name) for name, _ in rows), max(len(one.label) for _, one in rows)
    lines = ["Reached by every group (and the size of the smallest group that reaches no more):"]
    for name, one in rows:
        lines.append(
            f"  {name:{wide}}  {one.label:{long}}  {_six_digits(one.reached):9}  {counted(one.persons, 'person')}"
        )
    return lines


def _six_digits(number: float) -> str:
    """Return a number with all of its six digits: what is rounded once more may not hold."""
    return f"{number:.6f}".rstrip("0").rstrip(".")


def merged_notes(schema: Schema, objects: Objects, why: str) -> list[str]:
    """Return what to say of a release of merged trees where the schema leaves open what objects are, and `why`."""
    if objects == "whole" or not schema.input.objects_open:
        return []
    # Of tables the schema alone does not know the keys, and so no layout.
    relational = schema.input.is_relational
    several = any(spec.path and len(spec.path.steps) > 1 for spec in schema.classes if spec.published)
    if not (several if relational else len(schema.layout.containers) > 1):
        return []
    if schema.why_merged:
        return [f"Trees are merged: {schema.why_merged}"]
    return [f"Trees are merged: {why}; verify and compare this release with --objects merged"]


def _nodes_line(counts: Mapping[str, int]) -> str:
    records = f"{counts['published_records']:,} of {counted(counts['records'], 'record')}"
    return f"{records}, {counts['published_nodes']:,} of {counted(counts['nodes'], 'node')}"


def _solution_line(solution: str, *, applies: bool) -> str:
    use = "for `treeanon apply`" if applies else "cannot be applied again, because each record was recoded separately"
    return f"Solution written to {solution} ({use}); not for publishing"


def cut_lines(data: Mapping[str, Any]) -> list[str]:
    """Return lines about what a published search saw: cuts and why they failed, how it chose, and if it ended early."""
    found = data.get("search", {})
    if "values_failed" not in found:
        return []
    failed = {"values": found["values_failed"], "structure": found["structure_failed"]}
    if found.get("extensions_failed"):
        failed["diversity or negative knowledge"] = found["extensions_failed"]
    told = ", ".join(f"{count:,} failed by {what}" for what, count in failed.items())
    options = data["options"]
    beam = f" (g = {options['g']})" if "g" in options else ""
    lines = [
        f"Search: {data['algorithm']}{beam} examined {counted(found['cuts'], 'cut')}, {told}",
        f"Chosen by {options['choose'].upper().replace('A', 'a')}: RPDa {found['rpda']:.5g}, with the levels of the "
        f"{found['scope']}; RPD {found['rpd']:.5g}",
    ]
    if found.get("ended_early"):
        lines.append("The search ended early: this is the best of what it had seen")
    if stricter := found.get("stricter"):
        what = ", ".join(f"{name} = {value}" for name, value in stricter.items())
        lines.append(f"Found for {what}, which is stricter than asked for and lost less")
    return lines


def objective_lines(data: Mapping[str, Any]) -> list[str]:
    """Return lines about the effort, and an objective with a measure of its own: in the release, and without it."""
    lines = _effort_lines(data)
    found = data.get("search", {}).get("objective")
    if not isinstance(found, Mapping):
        return lines
    what = "ML2, the share of frequent subtrees lost"
    if "queries" in found:
        what = f"mean relative error of {found['queries']:,} queries"
    before = f" (by the objective loss: {found['by_loss']:.3f})" if "by_loss" in found else ""
    return [*lines, f"Objective {data['options']['objective']}: {what}: {found['value']:.3f}{before}"]


def _effort_lines(data: Mapping[str, Any]) -> list[str]:
    """Return a line about what more effort has gained."""
    gained = data.get("search", {}).get("gained")
    if gained is None:
        return []
    said = f"the objective is {gained:.4g} lower" if gained > 0 else "the objective is no lower"
    return [f"Effort {data['options']['effort']}: {data['search']['walks']:,} walks; {said} than after the first round"]


def sacrifice_lines(data: Mapping[str, Any]) -> list[str]:
    """Return lines about what a release of trees withholds, suppresses, ends and publishes unchanged."""
    lines = []
    if data["withheld"]:
        lines.append(f"Withheld classes, too rare to be published safely: {', '.join(data['withheld'])}")
    if data["suppressed"]:
        lines.append(f"Suppressed: {counted(data['suppressed'], 'record')}")
    nodes = data.get("counts", {}).get("nodes_left_out")
    left_out = "Left out for" if nodes is None else f"Left out: {counted(nodes, 'node')}, for"
    for word, ended in (("Disassociated:", data["disassociated"]), (left_out, data["left_out"])):
        if ended:
            total = sum(part["pairs"] for part in ended)
            pairs = ", ".join(f"{part['upper']} ⇝ {part['lower']} ({part['pairs']:,})" for part in ended)
            lines.append(f"{word} {counted(total, 'relation')}: {pairs}")
    if pointed := data.get("counts", {}).get("pointed_to"):
        lines.append(
            "This protects less than the default: what is left of moved nodes points to"
            f" {counted(pointed['persons'], 'person')} of {pointed['of']:,}"
        )
    sensitive = "sensitive, diverse in every group" if data["guarantee"].get("l", 1) > 1 else "sensitive"
    for role, names in data["published_as_they_are"].items():
        reason = {"keep": _DECLARED_SAFE, "sensitive": sensitive}.get(role, role)
        lines.append(f"Published unchanged ({reason}): {', '.join(names)}")
    return lines


def table_release_summary(release: TableRelease, output: str, solution: str | None = None) -> str:
    """Return the summary of a release of a table."""
    from treeanon.reports import flat_losses_text
    from treeanon.verifier.freeform import FreeformVerdict

    data = release.as_dict()
    counts = data["counts"]
    lines = [
        f"Guarantee: {release.sentence}",
        f"Verified in the output: {release.verdict.sentence}",
        f"Written to {output}: {counts['published_rows']:,} of {counted(counts['rows'], 'row')}",
    ]
    if solution:
        lines.append(_solution_line(solution, applies="levels" in data))
    lines += search_lines(data)
    lines += [f"warning: {text}" for text in release.warnings]
    if any(model.sensitive is not None for model in release.models):
        lines += [*general_value_notes(release.table), *order_notes(release.table, release.models)]
    lines += reading_notes(counts)
    lines += ["", *flat_losses_text(release.loss, alike=not isinstance(release.verdict, FreeformVerdict)).splitlines()]
    return "\n".join(map(printable, lines))


def general_value_notes(table: Table) -> list[str]:
    """Return notes about sensitive columns with values that cover others, which the models count separately."""
    from treeanon.table.reductions import general_columns

    return [
        f"note: {name} contains general values, which the models count as distinct from the values below them"
        for name in general_columns(table)
    ]


def order_notes(table: Table, models: Sequence[Model]) -> list[str]:
    """Return notes about sensitive columns of texts whose order t-closeness goes by."""
    from treeanon.privacy.models import TCloseness

    asked = [model for model in models if isinstance(model, TCloseness) and model.distance == "ordered"]
    return [
        f"note: values of {column.name} are no numbers, so the ordered distance takes the order of the rows of its"
        " hierarchy"
        for column in table.sensitive
        if any(model.orders_by_rows(column) for model in asked)
    ]


def search_lines(data: Mapping[str, Any]) -> list[str]:
    """Return lines about what a search of a table did, and what is published unchanged."""
    lines = []
    if data["suppressed"]:
        lines.append(f"Suppressed: {counted(data['suppressed'], 'record')}")
    if "levels" in data:
        lines.append("Levels: " + ", ".join(f"{name} {level}" for name, level in data["levels"].items()))
    lines += _minimal_lines(data.get("minimal", ()))
    search = data["search"]
    if "lattice" in search:
        checked = f"{search['checked']:,} of {counted(search['lattice'], 'lattice node')}"
        lines.append(f"Algorithm {data['algorithm']}: {checked} checked")
    if "gap" in search:
        told = f"not proven to be the least, which is at most {ceil(search['gap'] * 10_000) / 10_000:.2%} lower"
        lines.append(f"Algorithm {data['algorithm']}: the loss is {'proven least' if search['is_optimal'] else told}")
    for role, names in data["published_as_they_are"].items():
        protected = any(model for model in data["verification"]["models"] if model["column"] in names)
        reason = "sensitive, protected by the models above" if protected else role
        lines.append(f"Published unchanged ({_DECLARED_SAFE if role == 'keep' else reason}): {', '.join(names)}")
    return lines


def _minimal_lines(minimal: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the k-minimal combinations of levels, of which the one of the release is preferred."""
    if len(minimal) < 2:
        return []
    shown = [
        "  "
        + ", ".join(f"{name} {level}" for name, level in one["levels"].items())
        + (f" ({counted(one['suppressed'], 'record')} suppressed)" if one["suppressed"] else "")
        for one in minimal[:_MOST_MINIMAL]
    ]
    more = len(minimal) - len(shown)
    rest = [f"  and {more:,} more (--json, --solution)"] if more else []
    return [f"All {len(minimal):,} k-minimal combinations of levels:", *shown, *rest]


def permuted_summary(release: PermutedRelease, output: str) -> str:
    """Return the summary of a release as permutations: what it hides, and what it does not."""
    from treeanon.reports import permuted_losses_text
    from treeanon.verifier.permuted import promise

    data = release.as_dict()
    counts, hidden = data["counts"], data["hidden"]
    exact = ", ".join(data["published_as_they_are"]["quasi"])
    lines = [
        f"Guarantee: {promise(hidden, release.models, release.verdict)}",
        f"Only {hidden} is protected. Who is in the table is not hidden: {exact} are published unchanged.",
        f"Verified in the output: {release.verdict.sentence}",
        f"Written to {output}: {counts['published_rows']:,} of {counted(counts['rows'], 'row')}",
    ]
    if data["suppressed"]:
        lines.append(f"Suppressed: {counted(data['suppressed'], 'record')}")
    for role, names in data["published_as_they_are"].items():
        if role != "quasi":
            reason = _DECLARED_SAFE if role == "keep" else role
            lines.append(f"Published unchanged ({reason}): {', '.join(names)}")
    lines += reading_notes(counts)
    lines += ["", *permuted_losses_text(release.loss).splitlines()]
    return "\n".join(map(printable, lines))


def documents_summary(release: DocumentsRelease, output: str) -> str:
    """Return the summary of a release of documents with the values of a table."""
    from treeanon.reports import flat_losses_text, losses_text

    data = release.as_dict()
    rows, trees, counts = data["rows"], data["trees"], data["counts"]
    unchanged = {"published_as_they_are": data["published_as_they_are"]}
    known = ", ".join(column.name for column in release.rows.table.quasi)
    lines = [
        f"Guarantee: by {known}, every group of persons satisfies: {', '.join(rows['models'])}.",
        f"Verified in the output: {release.rows.verdict.sentence}",
    ]
    if release.trees is not None:
        lines.append(f"Guarantee: {release.trees.solution.guarantee.sentence}")
        lines.append(f"Verified in the output: {release.trees.verdict.sentence}")
    elif release.rest:
        lines.append(f"Dropped: {', '.join(release.rest)}")
    lines.append(f"Written to {output}: {_nodes_line(counts)}")
    lines += search_lines({**rows, **({"published_as_they_are": {}} if trees else unchanged)})
    if trees:
        lines += sacrifice_lines({**trees, "suppressed": 0, **unchanged})
    lines += reading_notes(counts)
    lines += ["", *flat_losses_text(release.rows.loss).splitlines(), "", *losses_text(release.loss).splitlines()]
    return "\n".join(map(printable, lines))


def tell(request: CommandRequest, engine: str) -> dict[str, Any]:
    """Check what can be checked without the data; print, and return, what would be read, searched and written."""
    from treeanon.io.output import refuse_existing
    from treeanon.io.relational.urls import is_database, shown
    from treeanon.io.room import room_for
    from treeanon.io.sources import following_links

    wanted = request.table_request() if request.is_table else request.tree_request()
    wanted.check(request.schema)
    if not is_database(request.output):
        refuse_existing(request.output, force=request.force)
    check_folder(request.output)
    check_extra_output(request.solution, request.output, force=request.force)
    check_page(request)
    refuse_hierarchies(request.schema, request.output, request.solution)
    with following_links(request.schema.input.follow_links):
        files, size = _found(request)
    room = None if request.is_table else room_for(request.source, request.schema, request.reading["format"])
    written = {"output": shown(request.output), "solution": request.solution, "html": request.page.target}
    written["report"] = request.page.report
    plan: dict[str, Any] = {
        "input": shown(request.source),
        "files": files,
        "bytes": size,
        "schema": request.schema.source,
        "classes": {spec.name: spec.role for spec in request.schema.classes},
        "kind": "table" if request.is_table else "trees",
        "engine": engine,
        "guarantee": _guarantee(wanted),
        "algorithm": wanted.algorithm,
        "parameters": {name: str(value) for name, value in wanted.options.items()},
        **({} if room is None else {"memory": asdict(room)}),
        **{name: target for name, target in written.items() if target is not None},
    }
    if not (request.as_json or request.quiet or is_library()):
        click.echo("\n".join(map(printable, _lines(plan))))
    print_result(plan, as_json=request.as_json)
    return plan


def _found(request: CommandRequest) -> tuple[int | None, int | None]:
    """Return the number of files of the input and their bytes; FileError if there are none, None where it is not told.

    A database is not asked, and standard input is not read.
    """
    from treeanon.io.reading import input_format
    from treeanon.io.relational.file_store import open_file_store
    from treeanon.io.relational.urls import is_database
    from treeanon.io.sources import find_sources

    source = request.source
    if source == "-" or is_database(source):
        return None, None
    form = input_format(source, request.schema, request.reading["format"])
    if form.in_folder:
        return len(open_file_store(source).names()), None
    found = find_sources(source, form.endings if Path(source).is_dir() or not Path(source).exists() else ("",))
    return len(found.items), found.size


def _guarantee(wanted: Request | TableRequest) -> str:
    from treeanon.release import TableRequest

    if isinstance(wanted, TableRequest):
        return ", ".join(map(str, wanted.models))
    return wanted.guarantee.sentence


def _lines(plan: dict[str, Any]) -> list[str]:
    from treeanon.io.room import Room

    roles = list(plan["classes"].values())
    told = ", ".join(f"{roles.count(role)} {role}" for role in dict.fromkeys(roles))
    size = "" if plan["bytes"] is None else f", {plan['bytes']:,} bytes"
    files = "" if plan["files"] is None else f" ({counted(plan['files'], 'file')}{size})"
    options = "".join(f", {name} {value}" for name, value in plan["parameters"].items())
    search = f"{plan['kind']}, algorithm {plan['algorithm']}{options}, engine {plan['engine']}"
    return [
        f"Dry run: {'a sample' if 'memory' in plan else 'no record'} was read, nothing was written.",
        f"Read:    {plan['input']}{files}, by {plan['schema']}: classes {told}",
        f"Search:  {search}",
        f"Promise: {plan['guarantee']}",
        *([f"Memory:  {Room(**plan['memory']).sentence}"] if "memory" in plan else []),
        *(f"Write:   {plan[name]}{more}" for name, more in _WRITTEN.items() if name in plan),
    ]


_WRITTEN = {
    "output": " (the release, after it is verified)",
    "solution": " (the solution)",
    "html": " (the page)",
    "report": " (the report to sign)",
}
