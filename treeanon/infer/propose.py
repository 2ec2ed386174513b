"""From an input to findings: samples it, counts what is there, decides."""

from __future__ import annotations

from pathlib import Path

from treeanon.errors import DataError
from treeanon.infer.decide import decide
from treeanon.infer.leaves import Leaves, bare, dotted_name
from treeanon.infer.model import Findings, LeftOut, Sample
from treeanon.infer.namespaces import Prefixes
from treeanon.infer.render import render_schema
from treeanon.infer.sample import relational_format, rows_format, take_sample
from treeanon.infer.tree_classes import tree_classes
from treeanon.infer.walk_json import walk_json
from treeanon.io.columns.csv_dialect import given_delimiter
from treeanon.schema import Schema
from treeanon.schema.layout import ROOT


def propose(
    source: str | Path,
    *,
    format: str | None = None,
    delimiter: str = "",
    record: str | None = None,
    sample: int = 1000,
    home: str | Path = ".",
) -> Findings:
    """What a schema for this input could be, found in its first records; `home` is the folder where it is to lie.

    `delimiter` is that of a CSV file, if its header is not to tell.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "people.ndjson")
    >>> _ = path.write_text('{"age": 34, "visits": [{"ward": "A"}]}\\n')
    >>> [(found.name, found.type, found.path.text(slashed=False)) for found in propose(path).classes]
    [('age', 'integer', 'age'), ('ward', 'text', 'visits[].ward')]
    """
    relational, rows = relational_format(source, format), rows_format(source, format)
    delimiter = given_delimiter(delimiter, relational or rows or "documents")
    if relational is not None:
        from treeanon.infer.tables import propose_tables

        return propose_tables(source, format=relational, record=record, sample=sample)
    if rows is not None:
        from treeanon.infer.rows import propose_rows

        return propose_rows(source, format=rows, delimiter=delimiter, record=record, sample=sample, home=Path(home))
    taken = take_sample(source, format=format, record=record, most=sample)
    try:
        findings = _from_trees(taken) if taken.format == "trees" else _from_documents(taken)
    except DataError as problem:
        raise DataError(problem.message, source=str(source), place=problem.place) from None
    if not findings.classes:
        raise DataError("no field in the sample could become a class", source=str(source))
    # loading tells what lies under what, and proves that the schema is one
    layout = Schema.loads(render_schema(findings)).layout
    names = [published.name for published in layout.classes]
    return findings.with_parents({c.name: None if c.parent == ROOT else names[c.parent] for c in layout.classes})


def _from_trees(taken: Sample) -> Findings:
    return Findings(taken, tree_classes(taken.records))


def _from_documents(taken: Sample) -> Findings:
    if taken.format != "xml":
        root, kinds = walk_json(taken.records)
        leaves = Leaves(False, dotted_name, kinds).gather(root)
        return _findings(taken, leaves, {})
    from treeanon.infer.walk_xml import walk_xml

    prefixes = taken.prefixes or Prefixes(taken.records)
    for name in _record_tags(taken):
        prefixes.short(name)
    root, kinds = walk_xml(taken.records)
    leaves = Leaves(True, prefixes.short, kinds).gather(root)
    return _findings(taken, leaves, dict(prefixes.used))


def _findings(taken: Sample, leaves: Leaves, namespaces: dict[str, str]) -> Findings:
    """What was decided; a withheld class that differs from a published one by its predicates only is left unnamed."""
    found = decide(leaves.found, len(taken.records), slashed=leaves.slashed)
    public = {bare(each.path) for each in found if each.published and each.path is not None}
    unnamed = [each for each in found if each.path and not each.published and bare(each.path) in public]
    left = [LeftOut(each.path.text(slashed=leaves.slashed), each.why) for each in unnamed if each.path]
    named = tuple(each for each in found if each not in unnamed)
    return Findings(taken, named, (*leaves.left_out, *left), namespaces)


def _record_tags(taken: Sample) -> list[str]:
    """The qualified tags from the root to the records, whose namespaces the schema must declare."""
    if taken.record is None or taken.record.whole_file:
        return []
    first = taken.records[0]
    return [str(element.tag) for element in [*reversed(list(first.iterancestors())), first]]
