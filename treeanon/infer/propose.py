"""The steps from an input to findings: sample, count, decide.

The classes of a trees file and the class that each lies under.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from treeanon.errors import DataError
from treeanon.formats import FORMATS
from treeanon.infer.decide import decide
from treeanon.infer.json_sample import walk_json
from treeanon.infer.leaves import Leaves, bare, dotted_name
from treeanon.infer.model import Finding, Findings, LeftOut, Prefixes, Sample
from treeanon.infer.render import render_schema
from treeanon.infer.sample import relational_format, rows_format, take_sample
from treeanon.io.columns.csv_dialect import given_delimiter
from treeanon.schema import Schema
from treeanon.schema.layout import ROOT

_STAR = "*"


class _Seen:
    """Counts of the classes seen above each class."""

    def __init__(self) -> None:
        self.above: dict[str, set[str]] = {}
        self.times: Counter[str] = Counter()
        self.values: dict[str, set[str]] = {}
        self.records: Counter[str] = Counter()

    def record(self, tree: Any, number: int) -> None:
        """Count one record's nodes; DataError if they are malformed."""
        here: set[str] = set()
        stack: list[tuple[Any, tuple[str, ...]]] = [(tree, ())]
        while stack:
            nodes, trail = stack.pop()
            if not isinstance(nodes, list):
                raise _malformed(number)
            for node in nodes:
                if not (isinstance(node, list) and len(node) == 3 and all(isinstance(text, str) for text in node[:2])):
                    raise _malformed(number)
                name = node[0]
                if name != _STAR:
                    self.above.setdefault(name, set()).update(trail)
                    self.times[name] += 1
                    self.values.setdefault(name, set()).add(node[1])
                    here.add(name)
                stack.append((node[2], (*trail, name)))
        self.records.update(here)


def _malformed(number: int) -> DataError:
    return DataError("a tree is an array of [class, value, [children]] with texts", place=f"record {number}")


def tree_classes(records: list[Any]) -> tuple[Finding, ...]:
    """Return the classes, each under the lowest of those seen above it.

    >>> found = tree_classes([{"tree": [["ward", "A", [["illness", "flu", []]]]]}, {"tree": [["illness", "flu", []]]}])
    >>> [(each.name, each.under) for each in found]
    [('ward', '/'), ('illness', 'ward')]
    """
    seen = _Seen()
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict) or "tree" not in record:
            raise DataError('must be an object with a member "tree"', place=f"record {number}")
        seen.record(record["tree"], number)
    parents = _parents(seen.above)
    return tuple(_finding(name, under, seen) for name, under in parents.items())


def _finding(name: str, under: str | None, seen: _Seen) -> Finding:
    distinct = len(seen.values[name])
    where = "directly under the record" if under is None else f"below {under!r}"
    return Finding(
        name,
        None,
        under=under or "/",
        why=f"its nodes were seen {where}",
        facts=f"{distinct:,} distinct value{'s' if distinct != 1 else ''}",
        records=seen.records[name],
        occurrences=seen.times[name],
        distinct=distinct,
    )


def _parents(above: dict[str, set[str]]) -> dict[str, str | None]:
    """Return for every class the one it lies under; all classes seen above one class lie on one path."""
    parents: dict[str, str | None] = {}
    waiting = dict(above)
    while waiting:
        ready = [name for name in waiting if above[name] <= parents.keys()]
        if not ready:
            raise DataError("classes lie under each other in a circle: no class tree holds them")
        for name in ready:
            del waiting[name]
        parents |= {name: _lowest(above[name], parents) for name in ready}
    return parents


def _lowest(names: set[str], parents: dict[str, str | None]) -> str | None:
    """Return the lowest class of a path through all of the names; branches are chained to form that path."""
    path: list[str] = []
    for name in sorted(names, key=lambda each: (len(_path(each, parents)), each)):
        below = [each for each in _path(name, parents) if each not in path]
        if below and path:
            # what lies above the branch is on the path already
            parents[below[0]] = path[-1]
        path += below
    return path[-1] if path else None


def _path(name: str, parents: dict[str, str | None]) -> list[str]:
    """Return the classes from the top down to this one."""
    path: list[str] = []
    at: str | None = name
    while at is not None:
        path.append(at)
        at = parents[at]
    return path[::-1]


def propose(
    source: str | Path,
    *,
    format: str | None = None,
    delimiter: str = "",
    record: str | None = None,
    sample: int = 1000,
    home: str | Path = ".",
) -> Findings:
    """Return a proposed schema for an input, from its first records; `home` is the schema's folder.

    `delimiter` is that of a CSV file; without it, the header decides.

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
        findings = _from_trees(taken) if FORMATS[taken.format].names_classes else _from_documents(taken)
    except DataError as problem:
        raise DataError(problem.message, source=str(source), place=problem.place) from None
    if not findings.classes:
        raise DataError("no field in the sample could become a class", source=str(source))
    # loading yields the parents, and proves that the schema is valid
    layout = Schema.loads(render_schema(findings)).layout
    names = [published.name for published in layout.classes]
    return findings.with_parents({c.name: None if c.parent == ROOT else names[c.parent] for c in layout.classes})


def _from_trees(taken: Sample) -> Findings:
    return Findings(taken, tree_classes(taken.records))


def _from_documents(taken: Sample) -> Findings:
    if not FORMATS[taken.format].slashed:
        root, kinds = walk_json(taken.records)
        leaves = Leaves(False, dotted_name, kinds).gather(root)
        return _findings(taken, leaves, {})
    from treeanon.infer.xml_sample import walk_xml

    prefixes = taken.prefixes or Prefixes(taken.records)
    for name in _record_tags(taken):
        prefixes.short(name)
    root, kinds = walk_xml(taken.records)
    leaves = Leaves(True, prefixes.short, kinds).gather(root)
    return _findings(taken, leaves, dict(prefixes.used))


def _findings(taken: Sample, leaves: Leaves, namespaces: dict[str, str]) -> Findings:
    """Return the findings; a withheld class that differs from a published one only by predicates is left out."""
    found = decide(leaves.found, len(taken.records), slashed=leaves.slashed)
    public = {bare(each.path) for each in found if each.published and each.path is not None}
    unnamed = [each for each in found if each.path and not each.published and bare(each.path) in public]
    left = [LeftOut(each.path.text(slashed=leaves.slashed), each.why) for each in unnamed if each.path]
    named = tuple(each for each in found if each not in unnamed)
    return Findings(taken, named, (*leaves.left_out, *left), namespaces)


def _record_tags(taken: Sample) -> list[str]:
    """Return the qualified tags from the root to the records, whose namespaces the schema must declare."""
    if taken.record is None or taken.record.whole_file:
        return []
    first = taken.records[0]
    return [str(element.tag) for element in [*reversed(list(first.iterancestors())), first]]
