"""Data in memory that hold trees: lists of dicts, frames with nested columns, and frames tied by keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

import numpy as np
import orjson

from treeanon.errors import DataError, UsageError
from treeanon.forest import Forest
from treeanon.forest.persons import builder_of
from treeanon.formats import NESTED
from treeanon.io.columns.arrow import DictSource, FrameSource, arrow_of
from treeanon.io.columns.frames import frame_like, in_input_types, input_types, nested_in_input_types
from treeanon.io.columns.python_values import check_columns_exist, value_text
from treeanon.io.interface import ReadOptions, reader_of, writer_of
from treeanon.io.persons import in_rows
from treeanon.io.reading import nothing_found
from treeanon.io.relational.reading import read_tables, resolved
from treeanon.io.relational.source import Place, TableInfo
from treeanon.io.relational.writing import make_tables
from treeanon.io.sources import Source
from treeanon.randomness import random_orders, shuffled
from treeanon.schema import Schema, Step
from treeanon.schema.keys import ForeignKey
from treeanon.schema.layout import MOVED
from treeanon.schema.persons import as_lines

if TYPE_CHECKING:
    import pyarrow as pa

    from treeanon.io.relational.arrow_tables import TableOut

T = TypeVar("T")

Records = Sequence[Mapping[str, Any]]

_AT_ONCE = 20_000


def forest_of_records(
    records: Iterable[Mapping[str, Any]],
    schema: Schema,
    *,
    name: str = "the records",
    show_values: bool = False,
    jobs: int = 1,
) -> Forest:
    """Return the forest of dicts that hold dicts and lists, one for each person, as NDJSON would hold them.

    Dates and decimal numbers count as their texts. The schema may be of any format but rows.

    >>> schema = Schema.loads('version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "ill"\\npath = "ills[]"')
    >>> list(forest_of_records([{"ills": ["Flu"]}], schema).records())
    [[['ills[]', '*', [['ill', 'Flu', []]]]]]
    """
    lines = b"\n".join(json_line(record, name, number) for number, record in enumerate(records, start=1))
    return _forest_of_lines(lines, schema, name, show_values=show_values, jobs=jobs)


def _forest_of_lines(lines: bytes, schema: Schema, name: str, *, show_values: bool, jobs: int) -> Forest:
    schema = as_lines(schema).for_format(NESTED)
    builder = builder_of(schema)
    source = Source(name, len(lines), lambda: cast(BinaryIO, BytesIO(lines)))
    for batch in reader_of(NESTED)([source], builder.reads, ReadOptions(jobs=jobs), builder.report):
        builder.add(batch)
    if not builder.records:
        raise DataError(nothing_found(schema, NESTED), source=name)
    return builder.finish(show_values=show_values, jobs=jobs)


def json_line(record: object, name: str, number: int) -> bytes:
    """Return a record as a line of NDJSON; errors name its number, never a value."""
    try:
        return orjson.dumps(record, default=_plain)
    except TypeError:
        # It knows no whole numbers of more than 64 bits, and no lone surrogates, which the reader refuses by name.
        try:
            return json.dumps(record, default=_plain, allow_nan=False).encode()
        except (TypeError, ValueError, RecursionError):
            words = "holds something that is no text, number, date, truth value, list or dict"
            raise DataError(words, source=name, place=f"record {number}") from None


def _plain(value: Any) -> str:
    """Return the text of a value for which JSON has no form of its own."""
    if isinstance(value, bytes | bytearray | memoryview):
        raise TypeError
    if type(value).__module__ in ("decimal", "datetime", "uuid"):
        return value_text(value)
    raise TypeError


def records_of_forest(forest: Forest, seed: int | None = None) -> list[dict[str, Any]]:
    """Return the records of a forest as dicts, in random order, values as JSON has them. `seed` is for tests."""
    return [json.loads(text) for text in _texts(_as_written(forest, seed), seed)]


def nested_of_forest(forest: Forest, like: Any, seed: int | None = None, *, shuffle: bool = True) -> Any:
    """Return the records of a forest as a frame of the library of another one, in random order.

    Its columns are nested as the paths of the schema go; every value is a text, for a published one may be a range,
    except for what is published as it is, which has the types of the other frame.
    Without `shuffle` they are in their own order.
    """
    # Numbers are taken as they are written, which no conversion can change.
    forest = _as_written(forest, seed)
    records = [json.loads(text, parse_int=str, parse_float=str) for text in _texts(forest, seed, shuffle=shuffle)]
    return _nested_of_records(records, forest.schema, like)


def _kept(schema: Schema) -> frozenset[tuple[str, ...]]:
    """Return the paths at which nothing lies but what is published as it is."""
    found: dict[tuple[str, ...], bool] = {}
    for spec in schema.classes:
        if spec.published and spec.path is not None:
            path = tuple(step.name for step in spec.path.steps if step.name is not None)
            found[path] = found.get(path, True) and spec.role != "quasi" and not spec.pseudonym
    return frozenset(path for path, kept in found.items() if kept)


def _as_written(forest: Forest, seed: int | None) -> Forest:
    """Return the records, or rows of persons, that are written."""
    return in_rows(forest, random_orders(seed))


def _texts(forest: Forest, seed: int | None, *, shuffle: bool = True) -> Iterator[str]:
    texts = writer_of(NESTED).texts(forest, forest.schema.for_format(NESTED))
    order = shuffled(len(forest), seed) if shuffle else np.arange(len(forest))
    for start in range(0, len(order), _AT_ONCE):
        yield from texts.records(forest.take(order[start : start + _AT_ONCE]))


def forest_of_nested(
    frame: Any, schema: Schema, *, name: str = "the frame", show_values: bool = False, jobs: int = 1
) -> Forest:
    """Return the forest of a frame whose columns hold structs and lists; a null field is one that is not there."""
    batches = arrow_of(frame).to_batches(max_chunksize=_AT_ONCE)
    records = (without_nulls(row) for batch in batches for row in batch.to_pylist())
    return forest_of_records(records, schema, name=name, show_values=show_values, jobs=jobs)


def without_nulls(value: Any) -> Any:
    """Return a value of Arrow as JSON has it; what was moved is a text there, for it has no one type."""
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    if isinstance(value, dict):
        there = ((key, item) for key, item in value.items() if item is not None)
        return {key: _opened(item) if key == MOVED else without_nulls(item) for key, item in there}
    return value


def _opened(text: object) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


def _nested_of_records(records: Sequence[dict[str, Any]], schema: Schema, like: Any) -> Any:
    import pyarrow as pa

    moved = any(map(_has_moved, records))
    text, array = pa.string(), pa.list_

    def struct(fields: Mapping[str, pa.DataType]) -> pa.DataType:
        return pa.struct({**fields, **({MOVED: text} if moved else {})})

    kind = nested_type(schema.for_format(NESTED), text, array, struct)
    rows = pa.array([_closed(record) for record in records], kind)
    if kept := _kept(schema.for_format(NESTED)):
        rows = nested_in_input_types(rows, pa.schema(list(input_types(like, [f.name for f in kind]).items())), kept)
        kind = rows.type
    return frame_like(pa.table(rows.flatten(), names=[field.name for field in kind]), like)


def _has_moved(value: Any) -> bool:
    if isinstance(value, dict):
        return MOVED in value or any(map(_has_moved, value.values()))
    return isinstance(value, list) and any(map(_has_moved, value))


def _closed(value: Any) -> Any:
    if isinstance(value, list):
        return [_closed(item) for item in value]
    if isinstance(value, dict):
        return {
            key: json.dumps(item, ensure_ascii=False) if key == MOVED else _closed(item) for key, item in value.items()
        }
    return value


def nested_type(schema: Schema, text: T, array: Callable[[T], T], struct: Callable[[Mapping[str, T]], T]) -> T:
    """Return the type of published records: structs and arrays as the paths of the classes go, texts at their ends.

    The types are those of any library: its text, and what makes its arrays and its structs.

    >>> schema = Schema.loads('version = 1\\n[input]\\nformat = "ndjson"\\n[[class]]\\nname = "i"\\npath = "a[].b"')
    >>> print(nested_type(schema, "text", lambda kind: f"[{kind}]", lambda fields: str(dict(fields))))
    {'a': "[{'b': 'text'}]"}
    """
    paths: list[tuple[Step, ...]] = []
    for published in schema.layout.classes:
        if published.spec.path is not None:
            steps = tuple(published.spec.path.steps)
            paths.append(steps)
            # Items of mixed arrays are chosen by constants, which stand in them.
            for place, step in enumerate(steps, start=1):
                if step.predicate is not None:
                    paths.append((*steps[:place], *(Step(name) for name in step.predicate.names)))
    return _nested(list(dict.fromkeys(paths)), text, array, struct)


def _nested(
    paths: Sequence[tuple[Step, ...]], text: T, array: Callable[[T], T], struct: Callable[[Mapping[str, T]], T]
) -> T:
    paths = [path for path in paths if path]
    if not paths:
        return text
    if paths[0][0].name is None:
        return array(_nested([path[1:] for path in paths], text, array, struct))
    fields: dict[str, T] = {}
    for name in dict.fromkeys(path[0].name for path in paths):
        mine = [path for path in paths if path[0].name == name]
        inner = _nested([path[1:] for path in mine], text, array, struct)
        repeated = any(path[0].repeated or path[0].predicate is not None for path in mine)
        fields[str(name)] = array(inner) if repeated else inner
    return struct(fields)


class TablesSource:
    """Frames or lists of dicts by the names of tables, as a source of tables; `made` are those of a release.

    `columns` are those that an empty list of dicts is taken to have.
    """

    files = ""
    by_column = True
    left_out: tuple[str, ...] = ()

    def __init__(
        self,
        frames: Mapping[str, Any],
        name: str = "the frames",
        made: Sequence[TableOut] = (),
        columns: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.name = name
        known = {**(columns or {}), **{table.name: table.data.column_names for table in made}}
        self._sources = {table: _table_source(frame, table, known.get(table, ())) for table, frame in frames.items()}
        primary = {table.name: table.primary for table in made}
        self._infos = {
            table: TableInfo(source.tables()[source.table].columns, primary.get(table, ()))
            for table, source in self._sources.items()
        }
        self._keys = [key for table in made for key in table.foreign]

    def tables(self) -> Mapping[str, TableInfo]:
        """Return all tables by name."""
        return self._infos

    def keys(self) -> Sequence[ForeignKey]:
        """Return the keys between tables of a release; frames declare none."""
        return self._keys

    def read(self, table: str, columns: Sequence[str], most: int | None = None) -> pa.Table:
        """Return these columns of a table; see `TableSource`."""
        check_columns_exist(self._infos, table, columns, self.name)
        source = self._sources[table]
        return source.read(source.table, columns, most)

    def place(self, table: str, row: int) -> Place:
        """Return where a row of a table is."""
        return Place(f"table {table}", f"row {row + 1}")

    def close(self) -> None:
        """Do nothing: nothing is open."""


def _table_source(frame: Any, table: str, columns: Sequence[str]) -> FrameSource | DictSource:
    name = f"table {table}"
    if not isinstance(frame, Sequence):
        return FrameSource(frame, name)
    return DictSource(frame, name, () if frame else columns)


def _columns_named(schema: Schema) -> dict[str, list[str]]:
    """Return the columns that a schema of tables names, by their tables."""
    found: dict[str, dict[str, None]] = {}
    for key in schema.input.keys:
        found.setdefault(key.table, {}).update(dict.fromkeys(key.columns))
        found.setdefault(key.target, {}).update(dict.fromkeys(key.target_columns))
    root = schema.input.record.names[0] if schema.input.record else ""
    for spec in schema.classes:
        if spec.path is not None:
            names = [root, *(str(step.name) for step in spec.path.steps)]
            found.setdefault(names[-2], {})[names[-1]] = None
    return {table: list(columns) for table, columns in found.items()}


def forest_of_tables(
    frames: Mapping[str, Any],
    schema: Schema,
    *,
    show_values: bool = False,
    jobs: int = 1,
    made: Sequence[TableOut] = (),
) -> Forest:
    """Return the forest of frames (or lists of dicts) by the names of tables, tied by the keys of the schema."""
    if not schema.input.is_relational:
        raise UsageError('several frames are tables tied by keys: the schema must say format = "tables"')
    source = TablesSource(frames, made=made, columns=_columns_named(schema))
    schema = resolved(schema, source)
    builder = builder_of(schema)
    builder.add(read_tables(source, builder.reads, ReadOptions(jobs=jobs), builder.report))
    if not builder.records:
        raise DataError(nothing_found(schema, "tables"), source=source.name)
    return builder.finish(show_values=show_values, jobs=jobs)


def tables_of_forest(forest: Forest, seed: int | None = None) -> list[TableOut]:
    """Return the tables of a forest that was read from tables: fresh keys, rows in random order."""
    orders = random_orders(seed)
    forest = in_rows(forest, orders)
    return make_tables(forest, forest.schema, orders)


def frames_like(tables: Sequence[TableOut], like: Mapping[str, Any], schema: Schema | None = None) -> dict[str, Any]:
    """Return tables by their names, each as a frame of the library that the frame of that name (or the first) has.

    What the schema publishes as it is has the types that it has there.
    """
    first = next(iter(like.values()))
    kept = {} if schema is None else _kept_columns(schema)
    made = {table.name: table.data for table in tables}
    for name, columns in kept.items():
        if name in made and name in like:
            made[name] = in_input_types(made[name], input_types(like[name], columns))
    return {name: _like(data, like.get(name, first)) for name, data in made.items()}


def _kept_columns(schema: Schema) -> dict[str, list[str]]:
    """Return the columns that hold nothing but what is published as it is, by their tables."""
    root = schema.input.record.names[0] if schema.input.record else ""
    places: dict[tuple[str, str], bool] = {}
    for spec in schema.classes:
        if spec.published and spec.path is not None:
            names = [root, *(str(step.name) for step in spec.path.steps)]
            place = (names[-2], names[-1])
            places[place] = places.get(place, True) and spec.role != "quasi" and not spec.pseudonym
    found: dict[str, list[str]] = {}
    for (table, column), kept in places.items():
        if kept:
            found.setdefault(table, []).append(column)
    return found


def _like(data: pa.Table, like: Any) -> Any:
    return data.to_pylist() if isinstance(like, Sequence) else frame_like(data, like)
