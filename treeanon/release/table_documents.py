"""Documents with a table release in them: what a person has once, and the rest left out or made safe too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from treeanon.algorithms.table.result import scattered, style_of
from treeanon.arrays import Ints, Longs, unique_values
from treeanon.errors import GuaranteeError, UsageError
from treeanon.forest import Forest
from treeanon.io import output_format, write
from treeanon.io.output import Written
from treeanon.io.relational.urls import shown
from treeanon.kernels.tree.forest import group_by_record
from treeanon.kernels.tree.objects import canonical_trees
from treeanon.metrics.measure import Losses, measure
from treeanon.metrics.table import measure as measure_rows
from treeanon.privacy.models.model import largest_k
from treeanon.progress import Progress
from treeanon.release.table import check_recoding, fulfill_table
from treeanon.release.table_release import TableRelease
from treeanon.release.table_request import TableRequest, group_bound
from treeanon.release.tree import counts_of, fulfill
from treeanon.release.tree_release import Release, read_again, unprotected_classes
from treeanon.release.tree_request import Request, persons
from treeanon.schema.layout import ROOT
from treeanon.table import Table
from treeanon.table.reductions import flatten
from treeanon.verifier.table import TableVerdict, verify_table
from treeanon.verifier.tree import verify
from treeanon.verifier.verdict import Verdict

Rest = Literal["drop"] | Request

_OF_ROWS = ("models", "verification", "algorithm", "options", "losses", "suppressed", "levels", "search")
_OF_TREES = ("guarantee", "verification", "algorithm", "options", "withheld", "disassociated", "left_out", "search")


@dataclass(frozen=True, repr=False)
class DocumentsRelease:
    """Published trees whose classes of the person are, as `rows`, a release that satisfies all models of a table.

    `trees` tells of the search that made the whole trees k^(m,n)-anonymous, which began with these rows in place: its
    solution is not one for the input. It is None where all other classes are left out. The two guarantees hold each
    for itself. `loss` is that of the whole trees, `rows.loss` that of the rows, both against the input. `kept` has the
    records of the input that those of `forest` come from.
    """

    forest: Forest
    rows: TableRelease
    trees: Release | None
    loss: Losses
    counts: Mapping[str, Any]
    kept: Longs

    def __repr__(self) -> str:
        return f"<DocumentsRelease: {len(self.forest):,} records, of {', '.join(self.classes)}: {self.rows!r}>"

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the person."""
        return tuple(column.name for column in self.rows.table.columns)

    @property
    def rest(self) -> tuple[str, ...]:
        """The other classes."""
        classes = self.forest.classes
        return tuple(name for name in classes.names[classes.types :] if name not in self.classes)

    def write(
        self,
        target: str | Path,
        *,
        format: str | None = None,
        force: bool = False,
        seed: int | None = None,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> tuple[TableVerdict, Verdict | None]:
        """Write the documents, and return the verdicts on what was written: on its rows, and on its trees.

        Before the target appears, what was written is read again by the same schema; unless that gives exactly the
        published trees, and they hold both guarantees, GuaranteeError is raised and nothing appears. Records come in
        random order; `seed` makes it repeatable, for tests.
        """
        form = output_format(target, self.forest.schema, format)
        verdicts: list[tuple[TableVerdict, Verdict | None]] = []

        def check(written: Written) -> None:
            verdicts.append(self._check(written, shown(str(target)), form.name, jobs))

        write(self.forest, target, format=form.name, force=force, seed=seed, progress=progress, check=check)
        return verdicts[-1]

    def _check(self, found: Written, target: str, format: str, jobs: int | None) -> tuple[TableVerdict, Verdict | None]:
        """Return the verdicts on what was written, which is to become `target`."""
        written = read_again(found, target, self.forest, format, jobs)
        bound = group_bound(self.rows.found.algorithm, self.rows.options, self.rows.table.columns)
        published = self._as_published(rows_of(written, self.classes))
        of_rows = verify_table(published, self.rows.models, bound=bound)
        of_trees = None if self.trees is None else verify(written, self.trees.solution.guarantee, jobs=jobs)
        if not of_rows.holds or (of_trees is not None and not of_trees.holds):
            raise GuaranteeError(f"{target}: not published, for the guarantee does not hold for what was written")
        return of_rows, of_trees

    def _as_published(self, table: Table) -> Table:
        """The rows by the hierarchies that they were made by: those built from a release are of what it shows alone."""
        columns = []
        for own, column in zip(self.rows.table.columns, table.columns, strict=True):
            codes = own.hierarchy.encode("" if text is None else text for text in column.texts())
            missing = np.where(column.codes < 0, column.codes, codes).astype(np.int32)
            columns.append(replace(own, codes=missing))
        return Table(tuple(columns))

    def as_dict(self) -> dict[str, Any]:
        """Return the facts of the release as plain data, without a value of the data."""
        rows, trees = self.rows.as_dict(), None if self.trees is None else self.trees.as_dict()
        return {
            "release": "documents",
            "classes_of_the_person": list(self.classes),
            "rest": {"classes": list(self.rest), "treated": "dropped" if trees is None else "anonymized"},
            "rows": {name: rows[name] for name in _OF_ROWS if name in rows},
            "trees": None if trees is None else {name: trees[name] for name in _OF_TREES},
            "losses": self.loss.as_dict(),
            "counts": dict(self.counts),
            "published_as_they_are": unprotected_classes(self.forest),
        }


def documents_of(
    forest: Forest,
    request: TableRequest,
    rest: Rest = "drop",
    *,
    seed: int | None = None,
    progress: Progress | None = None,
) -> DocumentsRelease:
    """Return the documents in which the classes of the person are as a request for a table release has them; checked.

    Classes of the person are those that the record itself holds, once and under no other class. The others are left
    out, or, where `rest` is a request for a release of trees, a search makes the whole trees k^(m,n)-anonymous; it may
    make the values of the person more general once more. UsageError for ranges and sets of values, which trees cannot
    hold; GuaranteeError if both guarantees cannot be had.

    >>> import treeanon as ta
    >>> from treeanon.privacy.models import KAnonymity
    >>> schema = ta.Schema.loads('version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "age"\\n'
    ...     'path = "age"\\nhierarchy = { prefix = [1] }\\n[[class]]\\nname = "ill"\\npath = "ills[]"')
    >>> trees = [[["age", text, []], ["ill", "Flu", []]] for text in ("34", "35", "41", "42")]
    >>> release = documents_of(ta.Forest.from_records(schema, trees), TableRequest((KAnonymity(2),)))
    >>> release.rows.verdict.holds, list(release.forest.records())[1:3]
    (True, [[['age', '3*', []]], [['age', '4*', []]]])
    """
    names = person_classes(forest)
    table = rows_of(forest, names)
    _check_request(request, rest, table)
    made = fulfill_table(request, table, seed=seed, progress=progress)
    begun, kept = _with_release(forest, names, request, table, made, keep_rest=rest != "drop")
    if not isinstance(rest, Request):
        return DocumentsRelease(begun, made, None, measure(forest, begun, kept), counts_of(forest, begun), kept)
    trees = fulfill(rest, begun, progress)
    kept = kept if trees.kept is None else kept[trees.kept]
    loss, counts = measure(forest, trees.forest, kept), counts_of(forest, trees.forest)
    rows = _again(made, table, rows_of(trees.forest, names), seed)
    trees = replace(trees, loss=loss, counts=counts, kept=kept)
    return DocumentsRelease(trees.forest, rows, trees, loss, counts, kept)


def _with_release(
    forest: Forest,
    names: tuple[str, ...],
    request: TableRequest,
    table: Table,
    made: TableRelease,
    *,
    keep_rest: bool,
) -> tuple[Forest, Longs]:
    """Return the trees with the rows of a release in place, and which records they come from."""
    recoded, kept = made.recoded(table)
    if means := [column.name for column in table.quasi if column.spec.controls.microaggregate]:
        raise UsageError(f"a release of documents has nodes of hierarchies: class {means[0]!r} is microaggregated")
    if any(column.covers is not None for column in recoded.columns):
        raise _no_nodes(request)
    check_recoding(table, recoded, kept, persons(request.max_suppressed, table.persons))
    others = [name for name in forest.classes.names if name not in names]
    begun = with_rows((forest if keep_rest else forest.without(others)).take(kept), recoded)
    if not _same_codes(rows_of(begun, names), recoded):
        raise GuaranteeError("the trees do not have the values of the rows found: please report it")
    return begun, kept


def person_classes(forest: Forest) -> tuple[str, ...]:
    """Return the classes that the record itself holds, under no other class, and of which no person has two values."""
    classes = forest.classes
    held = classes.class_of[forest.label]
    record = np.repeat(np.arange(len(forest)), np.diff(forest.offsets))
    found = []
    for index, published in enumerate(forest.schema.layout.classes):
        # A class without a path, as in trees files, is of no container.
        if published.parent == ROOT and published.container <= 0 and not published.is_object:
            owners = record[held == index]
            if len(unique_values(owners)) == len(owners):
                found.append(published.name)
    return tuple(found)


def rows_of(forest: Forest, names: tuple[str, ...]) -> Table:
    """Return the flat view of these classes alone, a row a record."""
    table = flatten(forest.without([name for name in forest.classes.names if name not in names]))
    return Table(tuple(column for column in table.columns if column.name in names), None, table.report)


def with_rows(forest: Forest, rows: Table) -> Forest:
    """Return the forest in which record i has the values of row i; a value for one that was missing is a new node.

    Rows have a value wherever the record has one.
    """
    classes, size = forest.classes, len(forest)
    record = np.repeat(np.arange(size, dtype=np.int32), np.diff(forest.offsets))
    above = np.where(forest.parent < 0, -1, forest.parent + forest.offsets[record]).astype(np.int32)
    label = forest.label.copy()
    held = classes.class_of[label]
    more: list[tuple[Ints, Ints]] = []
    for column in rows.columns:
        index = classes.index(column.name)
        nodes = np.flatnonzero(held == index)
        published = (classes.first[index] + column.codes).astype(np.int32)
        label[nodes] = published[record[nodes]]
        is_new = column.codes >= 0
        is_new[record[nodes]] = False
        new = np.flatnonzero(is_new).astype(np.int32)
        more.append((new, published[new]))
    owners = np.concatenate([record, *(new for new, _ in more)])
    labels = np.concatenate([label, *(published for _, published in more)])
    parents = np.concatenate([above, np.full(len(owners) - len(above), -1, np.int32)])
    trees = canonical_trees(*group_by_record(owners, parents, labels, size), np.zeros(0, np.int32), classes.types)
    return Forest(forest.schema, classes, *trees, forest.report)


def _check_request(request: TableRequest, rest: Rest, table: Table) -> None:
    """UsageError, before the search, for what cannot become documents."""
    if not table.quasi:
        raise UsageError("no class of role quasi is one that the record itself holds once: there is nothing to protect")
    bare = [model.name for model in request.models if model.sensitive == ()]
    if bare and not table.sensitive:
        raise UsageError(f"{', '.join(bare)} needs a class of role sensitive that the record itself holds once")
    if isinstance(rest, Request) and persons(rest.max_suppressed, 10**9):
        raise UsageError("persons are left out by the search of the table alone: max_suppressed is of its request")
    if request.search.freeform:
        raise UsageError(f"{request.algorithm} makes no groups of rows alike, which documents are checked for")
    style = request.options.get("style", request.search.style)
    if request.search.takes("style") and any(
        style_of(column, style) != "hierarchy" for column in request.controlled(table).quasi
    ):
        raise _no_nodes(request)


def _no_nodes(request: TableRequest) -> UsageError:
    if request.search.takes("style"):
        what = "ask for nodes of the hierarchies (--param style=hierarchy)"
    else:
        what = "choose a search of the table that publishes nodes of the hierarchies (-a)"
    return UsageError(
        f"{request.algorithm} would publish ranges or sets of values, which documents cannot hold: {what}"
    )


def _same_codes(one: Table, other: Table) -> bool:
    pairs = zip(one.columns, other.columns, strict=True)
    return all(a.name == b.name and np.array_equal(a.codes, b.codes) for a, b in pairs)


def _again(made: TableRelease, table: Table, rows: Table, seed: int | None) -> TableRelease:
    """The release of the rows as the search of the trees has left them; GuaranteeError if the models hold no more."""
    verdict = verify_table(rows, made.models, bound=group_bound(made.found.algorithm, made.options, made.table.columns))
    if not verdict.holds:
        raise GuaranteeError(
            "what the search of the trees made of the classes of the person does not satisfy all models: leave the"
            " rest out, or ask less of the trees"
        )
    losses = measure_rows(table, rows, k=largest_k(made.models))
    return replace(made, table=scattered(rows, seed), loss=losses, verdict=verdict)
