"""Summaries of releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from treeanon.cli.printing import counted, printable, told_reading

if TYPE_CHECKING:
    from treeanon.metrics import MiningLoss
    from treeanon.release import DocumentsRelease, PermutedRelease, Release, TableRelease
    from treeanon.spark.interface import DistributedRelease
    from treeanon.table import Table


def told_release(
    release: Release | DistributedRelease, output: str, solution: str | None = None, mining: MiningLoss | None = None
) -> str:
    """What a release is, what it cost and where it went, in plain words and without a value of the data."""
    from treeanon.io.relational.urls import shown
    from treeanon.report import losses_text

    told = release.as_dict()
    counts = told["counts"]
    lines = (
        release.solution.guarantee.sentence,
        f"Verified by counting in what was written: {release.verdict.sentence}",
        f"{counts['published_records']:,} of {counted(counts['records'], 'record')}, {counts['published_nodes']:,} of"
        f" {counts['nodes']:,} nodes written to {shown(output)}",
        *([f"solution written to {solution}, {_use_of(release)}: not for publishing"] if solution else []),
        *told_sacrifices(told),
        *told_reading(counts),
        "",
        *losses_text(release.loss, mining).splitlines(),
    )
    # Names of files and classes may hold control characters that would steer the terminal.
    return "\n".join(map(printable, lines))


def _use_of(release: Release | DistributedRelease) -> str:
    local = release.solution.cut is None
    return "which cannot be applied again, as it recodes each record by itself" if local else "for `treeanon apply`"


def told_sacrifices(told: Mapping[str, Any]) -> list[str]:
    """Lines that tell what trees have lost beside details of values, and what is published as it is."""
    lines = []
    if told["withheld"]:
        lines.append(f"withheld, as too rare to be published safely: {', '.join(told['withheld'])}")
    if told["suppressed"]:
        lines.append(f"{counted(told['suppressed'], 'person')} left out as outliers")
    if told["disassociated"]:
        total = sum(part["pairs"] for part in told["disassociated"])
        listed = ", ".join(f"{part['upper']} ⇝ {part['lower']} ({part['pairs']:,})" for part in told["disassociated"])
        lines.append(f"{counted(total, 'relation')} taken apart: {listed}")
    for role, names in told["published_as_they_are"].items():
        sensitive = "sensitive, diverse in every group" if told["guarantee"].get("l", 1) > 1 else "sensitive"
        declared = {"keep": "declared safe by the schema", "sensitive": sensitive}.get(role, role)
        lines.append(f"published as they are ({declared}): {', '.join(names)}")
    return lines


def told_table_release(release: TableRelease, output: str, solution: str | None = None) -> str:
    """What a release is, what it cost and where it went, in plain words and without a value of the data."""
    from treeanon.report import flat_losses_text
    from treeanon.verifier.freeform import FreeformVerdict

    told = release.as_dict()
    counts = told["counts"]
    lines = [
        release.sentence,
        f"Verified by counting in what was written: {release.verdict.sentence}",
        f"{counts['published_rows']:,} of {counts['rows']:,} rows written to {output}",
    ]
    if solution:
        use = (
            "for `treeanon apply`" if "levels" in told else "which cannot be applied again: each row was recoded alone"
        )
        lines.append(f"solution written to {solution}, {use}: not for publishing")
    lines += told_search(told)
    if any(model.sensitive is not None for model in release.models):
        lines += told_general(release.table)
    lines += told_reading(counts)
    lines += ["", *flat_losses_text(release.loss, alike=not isinstance(release.verdict, FreeformVerdict)).splitlines()]
    return "\n".join(map(printable, lines))


def told_general(table: Table) -> list[str]:
    """Lines that tell where different sensitive values need not be different things."""
    from treeanon.table.spellings import general_columns

    return [
        f"note: {name} holds general values; the models count each as a value of its own, beside those under it"
        for name in general_columns(table)
    ]


def told_search(told: Mapping[str, Any]) -> list[str]:
    """Lines that tell what a search of a table did, and what is published as it is."""
    lines = []
    if told["suppressed"]:
        lines.append(f"{counted(told['suppressed'], 'person')} left out as outliers")
    if "levels" in told:
        lines.append("levels: " + ", ".join(f"{name} {level}" for name, level in told["levels"].items()))
    search = told["search"]
    if "lattice" in search:
        lines.append(
            f"{told['algorithm']}: {search['checked']:,} of {search['lattice']:,} nodes of the lattice checked"
        )
    for role, names in told["published_as_they_are"].items():
        spoken = any(model for model in told["verification"]["models"] if model["column"] in names)
        what = "sensitive, as the models ask in every group" if spoken else role
        lines.append(
            f"published as they are ({'declared safe by the schema' if role == 'keep' else what}): {', '.join(names)}"
        )
    return lines


def told_permuted(release: PermutedRelease, output: str) -> str:
    """What a permuted release is, what it hides and what not, and where it went; without a value of the data."""
    from treeanon.report import permuted_losses_text
    from treeanon.verifier.permuted import promise

    told = release.as_dict()
    counts, hidden = told["counts"], told["hidden"]
    exact = told["published_as_they_are"]["quasi"]
    lines = [
        promise(hidden, release.models, release.verdict),
        f"Only {hidden} is hidden. Who is in the table is not: {', '.join(exact)} are published as they are.",
        f"Verified by counting in what was written: {release.verdict.sentence}",
        f"{counts['published_rows']:,} of {counts['rows']:,} rows written to {output}",
    ]
    if told["suppressed"]:
        lines.append(f"{counted(told['suppressed'], 'person')} left out as outliers")
    for role, names in told["published_as_they_are"].items():
        if role != "quasi":
            how = "declared safe by the schema" if role == "keep" else role
            lines.append(f"published as they are ({how}): {', '.join(names)}")
    lines += told_reading(counts)
    lines += ["", *permuted_losses_text(release.loss).splitlines()]
    return "\n".join(map(printable, lines))


def told_documents(release: DocumentsRelease, output: str) -> str:
    """What a release is, what it cost and where it went, in plain words and without a value of the data."""
    from treeanon.report import flat_losses_text, losses_text

    told = release.as_dict()
    rows, trees, counts = told["rows"], told["trees"], told["counts"]
    same = {"published_as_they_are": told["published_as_they_are"]}
    known = ", ".join(column.name for column in release.rows.table.quasi)
    lines = [
        f"By {known}, each person looks like others of a group that satisfies: {', '.join(rows['models'])}.",
        f"Verified by counting in what was written: {release.rows.verdict.sentence}",
    ]
    if release.trees is not None:
        lines.append(release.trees.solution.guarantee.sentence)
        lines.append(f"Verified by counting in what was written: {release.trees.verdict.sentence}")
    elif release.rest:
        lines.append(f"left out: {', '.join(release.rest)}")
    lines.append(
        f"{counts['published_records']:,} of {counts['records']:,} records, {counts['published_nodes']:,} of"
        f" {counts['nodes']:,} nodes written to {output}"
    )
    lines += told_search({**rows, **({"published_as_they_are": {}} if trees else same)})
    if trees:
        lines += told_sacrifices({**trees, "suppressed": 0, **same})
    lines += told_reading(counts)
    lines += ["", *flat_losses_text(release.rows.loss).splitlines(), "", *losses_text(release.loss).splitlines()]
    return "\n".join(map(printable, lines))
