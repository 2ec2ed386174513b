"""The package's own functions: one name each for trees, tables, and data of other libraries."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, Unpack, overload

from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.algorithms.tree.registry import TREE_ALGORITHMS, TREE_DEFAULT
from treeanon.algorithms.tree.solution import Solution
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.forest.report import Origin
from treeanon.infer.persons import refuse_repeats_of
from treeanon.io.beyond.findings import check_kinds, found_beyond
from treeanon.io.given import Data, Frame, Given
from treeanon.io.memory import Records
from treeanon.privacy import Guarantee
from treeanon.privacy.models.model import asks_for_size, largest_k
from treeanon.privacy.models.registry import models_of
from treeanon.progress import Progress
from treeanon.release.append_batch import MAX_HELD, Appended, Asked
from treeanon.release.append_batch import append as append_persons
from treeanon.release.append_history import History, Persons, persons_of, reading_schema, together
from treeanon.release.parameters import (
    GuaranteeParameters,
    ModelParameters,
    RowParameters,
    TreeParameters,
    VerifyRowParameters,
    flat_parameters,
    is_of_rows,
    refuse_unknown,
    shows,
)
from treeanon.release.reapply import TableSolution, apply_table, is_of_table
from treeanon.release.reapply import apply as apply_forest
from treeanon.release.table import PermutedRelease, anonymize_table
from treeanon.release.table_release import TableRelease
from treeanon.release.tree import anonymize as anonymize_forest
from treeanon.release.tree_release import Release
from treeanon.schema.controls import controls_of
from treeanon.schema.load import SchemaLike, schema_of
from treeanon.spark.interface import are_dataframes, engine_named, is_dataframe
from treeanon.table import Table
from treeanon.table.controls import with_controls
from treeanon.table.permuted import Permuted
from treeanon.verifier.controls import GroupBound
from treeanon.verifier.freeform import FreeformVerdict, verify_freeform
from treeanon.verifier.permuted import PermutedVerdict, verify_permuted
from treeanon.verifier.table import TableVerdict, verify_table
from treeanon.verifier.tree import as_counted
from treeanon.verifier.tree import verify as verify_forest
from treeanon.verifier.verdict import Verdict

Rows = list[dict[str, Any]]


class SparkFrame(Protocol):
    """A dataframe of Spark."""

    @property
    def sparkSession(self) -> Any:
        """The session it belongs to."""


class VerifyTreeParameters(GuaranteeParameters, total=False):
    """What can be asked of a check of trees."""

    patterns: bool
    jobs: int | None
    progress: Progress | None


@overload
def anonymize(data: Forest, **asked: Unpack[TreeParameters]) -> Release: ...
@overload
def anonymize(data: Table, *, publish: Literal["permuted"], **asked: Unpack[RowParameters]) -> PermutedRelease: ...
@overload
def anonymize(
    data: Table, *, publish: Literal["generalized"] = ..., **asked: Unpack[RowParameters]
) -> TableRelease: ...
@overload
def anonymize(
    data: str | Path, *, schema: SchemaLike, publish: Literal["permuted"], **asked: Unpack[RowParameters]
) -> PermutedRelease: ...
@overload
def anonymize(data: str | Path, *, schema: SchemaLike, **asked: Unpack[TreeParameters]) -> Release | TableRelease: ...
@overload
def anonymize(
    data: str | Path, *, schema: SchemaLike, publish: Literal["generalized"] = ..., **asked: Unpack[RowParameters]
) -> Release | TableRelease: ...
@overload
def anonymize(
    data: SparkFrame | Mapping[str, SparkFrame],
    *,
    schema: SchemaLike,
    sample: int | None = ...,
    **asked: Unpack[TreeParameters],
) -> Any: ...
@overload
def anonymize(
    data: SparkFrame, *, schema: SchemaLike, sample: int | None = ..., **asked: Unpack[RowParameters]
) -> Any: ...
@overload
def anonymize(
    data: Records, *, schema: SchemaLike, publish: Literal["permuted"], **asked: Unpack[RowParameters]
) -> tuple[Rows, Rows]: ...
@overload
def anonymize(data: Records, *, schema: SchemaLike, **asked: Unpack[TreeParameters]) -> Rows: ...
@overload
def anonymize(
    data: Records, *, schema: SchemaLike, publish: Literal["generalized"] = ..., **asked: Unpack[RowParameters]
) -> Rows: ...
@overload
def anonymize(
    data: Mapping[str, Records], *, schema: SchemaLike, **asked: Unpack[TreeParameters]
) -> dict[str, Rows]: ...
@overload
def anonymize(
    data: Mapping[str, Frame], *, schema: SchemaLike, **asked: Unpack[TreeParameters]
) -> dict[str, Frame]: ...
@overload
def anonymize(
    data: Frame, *, schema: SchemaLike, publish: Literal["permuted"], **asked: Unpack[RowParameters]
) -> tuple[Frame, Frame]: ...
@overload
def anonymize(data: Frame, *, schema: SchemaLike, **asked: Unpack[TreeParameters]) -> Frame: ...
@overload
def anonymize(
    data: Frame, *, schema: SchemaLike, publish: Literal["generalized"] = ..., **asked: Unpack[RowParameters]
) -> Frame: ...
@shows(TreeParameters, RowParameters)
def anonymize(
    data: Any,
    *,
    schema: SchemaLike | None = None,
    publish: Literal["generalized", "permuted"] | None = None,
    sample: int | None = None,
    **asked: Any,
) -> Any:
    """Return a checked release of persons; GuaranteeError if there cannot be one.

    The release is of the kind that the data are: a `Forest` (trees) gives a `Release`, a `Table` a `TableRelease`, a
    list of dicts a list of dicts, a frame of pandas, polars, pyarrow or DuckDB such a frame, a dict of frames by the
    names of tables such a dict, and a dataframe of Spark a dataframe. In frames, values that are published as they are
    keep the type of their column, such as truth values and dates. A path gives a `Release` or `TableRelease`, which
    has `write`. Records come in random order, keys are fresh, and nothing is returned before the check has passed.

    Rows (of a table, or by a schema of format csv or parquet, or in a frame of which every class is a plain column)
    are protected by models of groups of rows; trees (all else) by k^(m,n)-anonymity. A search of the other kind can be
    named where the data allow both.

    Parameters of data
        data: a Forest, a Table, the path of an input, a list of dicts, a frame, or a dict of frames by table names,
            which the `key`s of the schema tie.
        schema: what is in the data, where they are no Forest or Table: a Schema, the path of one, or its TOML text.
        publish: "generalized" (default), or "permuted": rows keep their quasi values, and how often each group has
            each sensitive value is told apart from them. That gives a PermutedRelease, or two lists or frames. It hides
            the values, not who is in the table.
        sample: of Spark alone: how many records the driver searches in.

    Parameters of the guarantee
        k: nobody can be told from fewer than k persons. Required, unless `max_loss` or another model is given.
        m: trees: an attacker knows up to m values of a person (default 2).
        n: trees: and up to n relations between them (default 1).
        attacker: trees: "independent" (default), or "joint": also knows that relations speak of the same nodes.
        negative: trees: a class, or several, of which an attacker may know what a person lacks.
        as_published: trees: True for k^(m,n)-anonymity as published, which counts what is left in the release alone; by
            default what is known of the original is hidden: nodes are left out where a relation is rare, and traces of
            moved nodes count.
        l: l-diversity of the sensitive classes. 1 states that none is wanted. Rows: a number, or one for each column.
        diversity: trees: "frequency" (default) or "distinct", in persons; rows: "distinct" (default), "frequency",
            "entropy", or "recursive", which needs `c`.
        c: rows: the c of recursive (c,l)-diversity.
        alpha: rows: (alpha,k)-anonymity, no sensitive value is more frequent in a group than alpha; for one value alone
            {"illness:HIV": 0.4}.
        p: rows: p-sensitive k-anonymity, a group has p different sensitive values.
        t: rows: t-closeness, the values of a group are as near to those of the table as t.
        emd: rows: the distance of t-closeness: "equal" (default), "ordered" or "hierarchical".
        sensitive: rows: several sensitive columns are "separate" (default), each protected by itself, or "joined": the
            others may be known.
        models: rows: further models: objects (`treeanon.privacy.models`), or texts such as "t-closeness:t=0.2".

    Parameters of the search
        algorithm: the search, by name; `treeanon algorithms` lists them. Trees: "maximal" unless named; rows: "local".
        parameters: those of a single search, by name, such as {"g": 3} for "gcs".
        round_ranges: rows: True for ranges that end at intervals of the hierarchies, not at values of the data.
        taking_apart: trees: how rare relations are ended: "leave-out" (default), "move" (default as published) or
            "none".
        weights: how much more than others (1) what is lost in a class counts, for each class named.
        levels: rows: the least and the highest level of the hierarchy that values of a class are published on, for each
            class named: (1, 3), "1..3", (None, 2), or one level.
        styles: rows: how the values of a class are published, for each class named: "ranges", "sets" or "hierarchy".
        spans: rows: the most that any published value of a class may stand for, for each class named: of numbers the
            distance of its ends, of others a count of leaves.
        max_group_loss: rows: the largest NCP (0 to 1) that any group may have.
        effort: how long to search: 1 is usual, 2 twice as long; "maximal" also takes a time such as "30s".
        max_suppressed: how many persons may be left out: a count, a share such as 0.01, or a text such as "1%".
        max_loss: the largest k is wanted whose loss (0 to 1) is no higher; of rows for "onedim-dual" alone.
        complete: trees: carry the result of "acs", "gcs" or "ocs" on until nothing can be made finer.
        seed: makes the search, and the order of what is published, repeatable: for tests.
        jobs: the number of cores to use, where several can be.
        progress: a function of what is done and of how much (None: nobody knows).

    >>> import treeanon as ta
    >>> schema = '''
    ... version = 1
    ... [input]
    ... format = "csv"
    ... [[class]]
    ... name = "age"
    ... path = "age"
    ... hierarchy = { prefix = [1] }
    ... '''
    >>> people = [{"age": 34}, {"age": 35}, {"age": 41}, {"age": 42}]
    >>> sorted(row["age"] for row in ta.anonymize(people, schema=schema, k=2))
    ['3*', '3*', '4*', '4*']
    >>> import pyarrow as pa
    >>> sorted(ta.anonymize(pa.Table.from_pylist(people), schema=schema, k=2)["age"].to_pylist())
    ['3*', '3*', '4*', '4*']
    """
    algorithm = asked.get("algorithm")
    extra = {"publish": publish, "sample": sample}
    more = {name: value for name, value in extra.items() if value is not None}
    if isinstance(data, Forest):
        if algorithm in TABLE_ALGORITHMS:
            raise UsageError(f"{algorithm} is a search of tables: anonymize(forest.flatten(), …), a row a person")
        return _of_forest(data, {**asked, **more})
    if isinstance(data, Table):
        _refuse_trees(algorithm)
        return _of_table(data, {**asked, **more})
    if is_dataframe(data) or are_dataframes(data):
        found = schema_of(schema)
        rows = is_of_rows(algorithm, asked, lambda: found.input.is_of_rows, only_rows=publish is not None)
        flat = flat_parameters({**asked, **more}, "rows" if rows else "trees", "sample", "publish")
        return engine_named("spark").publish_frame(data, found, flat)
    given = Given.of(data, schema, jobs=asked.get("jobs"))
    found_data = read_for_release(given, {**asked, **more})
    if isinstance(found_data, Table):
        return _like(given, _of_table(found_data, {**asked, **more}))
    return _like(given, _of_forest(found_data, {**asked, **more}))


def read_for_release(given: Given, asked: Mapping[str, Any]) -> Forest | Table:
    """Return data as what the parameters of a release ask for: rows or trees."""
    algorithm = asked.get("algorithm")
    if asked.get("publish") is not None or _are_rows(given, asked):
        _refuse_trees(algorithm)
        found: Forest | Table = given.table()
    else:
        found = given.forest()
    if given.kind != "path":
        refuse_repeats_of(Origin(given.data, given.schema))
    return found


def _of_forest(forest: Forest, asked: Mapping[str, Any]) -> Release:
    return anonymize_forest(forest, **flat_parameters(asked, "trees"))


def _of_table(table: Table, asked: Mapping[str, Any]) -> TableRelease | PermutedRelease:
    flat = flat_parameters(asked, "rows", "publish")
    flat.pop("jobs", None)  # searches of tables use one core
    found: TableRelease | PermutedRelease = anonymize_table(table, **flat)
    return found


def _are_rows(given: Given, asked: Mapping[str, Any]) -> bool:
    """Whether data that can be rows are to be: rows in memory can be nothing else, unless their schema has trees."""
    if given.kind != "path" and given.schema.input.is_of_rows and given.is_rows:
        return True
    return is_of_rows(asked.get("algorithm"), asked, lambda: given.is_rows)


def _refuse_trees(algorithm: str | None) -> None:
    if algorithm in TREE_ALGORITHMS:
        raise UsageError(
            f"{algorithm} is a search of trees: read the input with treeanon.read; the default is {TREE_DEFAULT}"
        )


def _like(given: Given, release: Release | TableRelease | PermutedRelease) -> Any:
    """Return what is published as the kind that was given; a path gives the release, to be written."""
    if given.kind == "path":
        return release
    if given.kind == "records":
        return release.to_records() if isinstance(release, Release) else release.to_records(given.data)
    if isinstance(release, Release) and given.kind == "tables":
        return release.to_frames(given.data)
    return release.to_frame(given.data)


@overload
def verify(data: Forest, guarantee: Guarantee | None = ..., **asked: Unpack[VerifyTreeParameters]) -> Verdict: ...
@overload
def verify(data: Table, *, k: int, original: Table) -> FreeformVerdict: ...
@overload
def verify(data: Table, **asked: Unpack[VerifyRowParameters]) -> TableVerdict: ...
@overload
def verify(data: Permuted, **asked: Unpack[ModelParameters]) -> PermutedVerdict: ...
@overload
def verify(
    data: Data, *, schema: SchemaLike, k: int, original: Data, ignore: Collection[str] = ...
) -> FreeformVerdict: ...
@overload
def verify(
    data: Data, *, schema: SchemaLike, ignore: Collection[str] = ..., **asked: Unpack[VerifyTreeParameters]
) -> Verdict | TableVerdict: ...
@overload
def verify(
    data: Data, *, schema: SchemaLike, ignore: Collection[str] = ..., **asked: Unpack[VerifyRowParameters]
) -> Verdict | TableVerdict: ...
@shows(VerifyTreeParameters, VerifyRowParameters)
def verify(
    data: Any,
    guarantee: Guarantee | None = None,
    *,
    schema: SchemaLike | None = None,
    original: Any = None,
    ignore: Collection[str] = (),
    **asked: Any,
) -> Any:
    """Return the verdict on published trees or rows: whether they keep a guarantee, whoever made them.

    Trees give a `Verdict`, rows a `TableVerdict`, which have `holds`; what is trees and what rows is as for
    `anonymize`. What is read by a schema does not hold either if it has more than is counted, such as fields that the
    schema does not name or, in files, comments, nulls and repeats: `beyond` of the verdict tells kinds and numbers.

    Parameters
        data: a Forest, a Table, a permuted release (`read_permuted`), or data with a schema as `anonymize` takes them.
        guarantee: trees: the guarantee as a whole, instead of its parts.
        schema: what is in the data, where they are no Forest or Table: a Schema, the path of one, or its TOML text.
        original: rows: the input of a freeform release, in which no rows need look alike; checked for `k` alone.
        ignore: kinds of content beyond what is counted that do not matter, such as "comments".
        k, m, n, attacker, negative, l, diversity, as_published: the guarantee of trees, as for `anonymize`.
        k, l, diversity, c, alpha, p, t, emd, sensitive, models: the models of rows, as for `anonymize`.
        spans, max_group_loss: rows: bounds of what is published, as for `anonymize`.
        patterns: trees: whether to tell which classes fail (default True).
        jobs: trees: the number of cores to use (default: all).
        progress: trees: a function of what is done and of how much.

    >>> import treeanon as ta
    >>> table = ta.Table.of_texts({"age": (["34", "34", "41"], ta.Hierarchy.flat(["34", "41"]))})
    >>> ta.verify(table, k=2).holds
    False
    """
    if isinstance(data, Forest | Table | Permuted):
        if ignore:
            raise UsageError("ignore is for what is read by a schema: of a Forest or Table all is counted")
        return _verdict(data, guarantee, original, asked)
    check_kinds(ignore)
    given = Given.of(data, schema, released=True, jobs=asked.get("jobs"))
    read = given.read(rows=_are_rows(given, asked))
    if isinstance(read, Forest):
        negative = asked.get("negative") or (guarantee.negative if isinstance(guarantee, Guarantee) else ())
        read = as_counted(read, Guarantee(1, negative=(negative,) if isinstance(negative, str) else tuple(negative)))
    if original is not None and not isinstance(original, Table):
        original = Given.of(original, schema).table()
    return found_beyond(_verdict(read, guarantee, original, asked), given.beyond(read).without(ignore))


def _verdict(data: Any, guarantee: Guarantee | None, original: Any, asked: dict[str, Any]) -> Any:
    if isinstance(data, Forest):
        refuse_unknown({**asked, **({} if original is None else {"original": original})}, VerifyTreeParameters)
        return verify_forest(data, guarantee, **{name: value for name, value in asked.items() if value is not None})
    if isinstance(guarantee, int):
        # A table's k was the first argument once.
        asked, guarantee = {"k": guarantee, **asked}, None
    if guarantee is not None:
        raise UsageError("a guarantee is for trees; name the models of rows: k, l, t and so on")
    refuse_unknown(asked, VerifyRowParameters)
    spans, most = asked.pop("spans", None), asked.pop("max_group_loss", None)
    if (spans or most is not None) and (original is not None or isinstance(data, Permuted)):
        raise UsageError("spans and max_group_loss are for rows that were put into groups with general values")
    models = models_of(**asked)
    if original is not None:
        if isinstance(data, Permuted) or not models or not all(map(asks_for_size, models)):
            raise UsageError("original is for a freeform release of rows, of which nothing but k can be checked")
        return verify_freeform(original, data, largest_k(models))
    if isinstance(data, Permuted):
        return verify_permuted(data, models, measured=True)
    data = with_controls(data, controls_of({"spans": spans}))
    return verify_table(data, models, measured=True, bound=None if most is None else GroupBound(float(most)))


@overload
def apply(solution: Solution | str | Path, data: Forest) -> Release: ...
@overload
def apply(solution: TableSolution | str | Path, data: Table) -> TableRelease: ...
@overload
def apply(
    solution: Solution | TableSolution | str | Path, data: str | Path, *, schema: SchemaLike
) -> Release | TableRelease: ...
@overload
def apply(solution: Solution | TableSolution | str | Path, data: Records, *, schema: SchemaLike) -> Rows: ...
@overload
def apply(solution: Solution | str | Path, data: Mapping[str, Records], *, schema: SchemaLike) -> dict[str, Rows]: ...
@overload
def apply(solution: Solution | str | Path, data: Mapping[str, Frame], *, schema: SchemaLike) -> dict[str, Frame]: ...
@overload
def apply(solution: Solution | TableSolution | str | Path, data: Frame, *, schema: SchemaLike) -> Frame: ...
def apply(solution: Any, data: Any, *, schema: SchemaLike | None = None) -> Any:
    """Return the release that a solution makes of other data than it was found for, checked for its guarantee.

    GuaranteeError if the guarantee does not hold for these data. What comes back is as for `anonymize`.

    Parameters
        solution: a solution, or the path of its file, which `Release.write_solution` has written.
        data: a Forest, a Table, or data with a schema as `anonymize` takes them.
        schema: what is in the data, where they are no Forest or Table: a Schema, the path of one, or its TOML text.

    >>> import treeanon as ta
    >>> schema = 'version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "ill"\\npath = "ills[]"'
    >>> forest = ta.Forest.from_records(ta.Schema.loads(schema), [[["ill", "Flu", []]], [["ill", "Acne", []]]])
    >>> found = ta.anonymize(forest, k=2).solution
    >>> ta.apply(found, [{"ills": ["Acne"]}, {"ills": ["Flu", "Acne"]}], schema=schema)
    [{'ills': ['*']}, {'ills': ['*']}]
    """
    if isinstance(data, Forest):
        return apply_forest(solution, data)
    if isinstance(data, Table):
        return apply_table(solution, data)
    given = Given.of(data, schema)
    of_rows = isinstance(solution, TableSolution) or (isinstance(solution, str | Path) and is_of_table(solution))
    if of_rows:
        return _like(given, apply_table(solution, given.table()))
    return _like(given, apply_forest(solution, given.forest()))


def append(
    solution: Solution | str | Path,
    data: Forest | Data,
    *,
    schema: SchemaLike | None = None,
    history: History | str | Path | None = None,
    earlier: Forest | Data | None = None,
    published: Forest | str | Path | Sequence[str | Path] | None = None,
    person: str | None = None,
    full: bool = False,
    k: int | None = None,
    max_held: int | float | str = MAX_HELD,
    anew: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Appended:
    """Return the release of persons who are new since the last one, by its solution: a batch that hides all of its own.

    Whoever knows in which batch a person came finds as many records there as the guarantee says. Persons for whom that
    cannot be are held back: they wait in the history that comes back with the release (docs/append.md has the
    definition, and what it does not say). For l-diversity, negative knowledge and what is known of the same nodes
    either all who are left then are published, or nobody. Tables are refused. TooManyHeldError, a GuaranteeError, if
    too many are held back; it has a coarser solution.

    Parameters
        solution: the solution of the release before, or the path of its file.
        data: the delivery: a Forest, or data with a schema as `anonymize` takes them.
        schema: what is in the data, where they are no Forest: a Schema, the path of one, or its TOML text.
        history: who was published and who waits: what the append before has given or written (None: the first one).
        earlier: at the first append: the input of the release before, so that its persons are recognized.
        published: what was published so far, a Forest or files, to be checked together with the batch.
        person: the class of role identifier by which persons are recognized (None: by all of their content).
        full: the delivery has everybody, not new persons alone: who was published before is recognized and left aside.
            A DataError tells how many of them have changed or are missing.
        k: another k than that of the solution.
        max_held: how many may be held back: a count, a share such as 0.1, or a text such as "10%".
        anew: a coarser solution is searched for, by which everything is published anew, older persons from what is
            `published`: they only become more general.
        jobs: the number of cores for checks (default: all).
        progress: a function of what is done and of how much.

    >>> import treeanon as ta
    >>> text = 'version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "ill"\\npath = "ills[]"'
    >>> schema = ta.Schema.loads(text)
    >>> flu, acne = [["ill", "Flu", []]], [["ill", "Acne", []]]
    >>> first = ta.anonymize(ta.Forest.from_records(schema, [flu, flu, acne, acne]), k=2)
    >>> new = ta.append(first.solution, ta.Forest.from_records(schema, [flu, flu, acne]), max_held="50%")
    >>> new, list(new.release.forest.records())
    (<Appended: 2 persons published, 1 held back>, [[['ill', 'Flu', []]], [['ill', 'Flu', []]]])
    >>> ta.append(first.solution, ta.Forest.from_records(schema, [acne]), history=new.history)
    <Appended: 2 persons published, 0 held back>
    """
    if isinstance(solution, str | Path) and is_of_table(solution):
        raise UsageError("append: this is the solution of a table, and only persons of trees can be appended")

    def delivered(given: Forest | Data) -> Persons:
        if isinstance(given, Forest):
            if person is not None:
                raise UsageError(
                    "person: a Forest has no identifiers; give the data that it was read from, and the schema"
                )
            return Persons(given)
        own = schema_of(schema)
        return persons_of(Given.of(given, reading_schema(own, person), jobs=jobs).forest(), own, person)

    return append_persons(
        solution,
        delivered(data),
        history=history,
        earlier=None if earlier is None else delivered(earlier),
        published=_published(published, schema, jobs),
        asked=Asked(person, full, k, max_held, anew, jobs, progress),
    )


def _published(
    given: Forest | str | Path | Sequence[str | Path] | None, schema: SchemaLike | None, jobs: int | None
) -> Forest | None:
    """Return all that was published so far as one forest."""
    if given is None or isinstance(given, Forest):
        return given
    files = [given] if isinstance(given, str | Path) else list(given)
    if not files:
        return None
    first, *others = (Given.of(file, schema, jobs=jobs).forest() for file in files)
    return together(first, [tree for other in others for tree in other.records()])
