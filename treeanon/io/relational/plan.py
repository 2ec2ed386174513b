"""The plan of a schema: stops, each a table reached by a key, with the columns needed there.

Also joins as columns: which row each row refers to, and the rows of every stop of a plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from treeanon.arrays import Ints
from treeanon.schema import FieldPath, Layout, Schema, Step
from treeanon.schema.keys import ForeignKey
from treeanon.schema.model import Link

if TYPE_CHECKING:
    import pyarrow as pa


MOVED_TABLE = "treeanon_moved_"
"""Begins the names of the tables that hold, in a release, what was disassociated from rows of another table."""

RECORD_COLUMN = "treeanon_record"
"""The column of a released record table that says which of its rows are persons, where not all of them are."""


@dataclass
class Stop:
    """One table on a path: reached by a link from the stop `above`, as rows of `container` or looked up for them.

    `columns` has the column of each class that is read here; `fixed` the column that a predicate holds to a constant.
    """

    index: int
    labels: tuple[str, ...]
    table: str
    link: Link | None
    above: int
    container: int
    fixed: tuple[str, str] | None = None
    columns: dict[int, str] = field(default_factory=dict)

    @property
    def is_container(self) -> bool:
        """Whether every row here is a container: the record, or a row of a child table."""
        return self.link is None or self.link.down

    @property
    def place(self) -> str:
        """What paths to columns here begin with."""
        return "".join(f"{label}." for label in self.labels)


@dataclass(frozen=True)
class Plan:
    """The stops of a schema, each after the one above it.

    `record_column` is the column that says which rows are persons, where there is one; "" where every row is.
    """

    layout: Layout
    stops: tuple[Stop, ...]
    record_column: str = RECORD_COLUMN

    def below(self, stop: Stop) -> list[Stop]:
        """Return the stops reached by links of this one."""
        return [other for other in self.stops if other.above == stop.index]

    def tables(self) -> dict[str, dict[str, None]]:
        """Return every table with its needed columns, in the order of their first use."""
        wanted: dict[str, dict[str, None]] = {}
        for stop in self.stops:
            names = wanted.setdefault(stop.table, {})
            names.update(dict.fromkeys(stop.columns.values()))
            if stop.fixed is not None:
                names[stop.fixed[0]] = None
            if stop.link is not None:
                key = stop.link.key
                wanted.setdefault(key.table, {}).update(dict.fromkeys(key.columns))
                wanted.setdefault(key.target, {}).update(dict.fromkeys(key.target_columns))
        return wanted

    def valued(self, table: str) -> dict[str, None]:
        """Return the columns of a table whose values are read: those of classes and of predicates."""
        stops = [stop for stop in self.stops if stop.table == table]
        names = [name for stop in stops for name in (*stop.columns.values(), *(stop.fixed or ())[:1])]
        return dict.fromkeys(names)

    def followed(self) -> list[ForeignKey]:
        """Return the keys that are followed, each once."""
        return list(dict.fromkeys(stop.link.key for stop in self.stops if stop.link is not None))


def make_plan(schema: Schema, record_column: str = RECORD_COLUMN) -> Plan:
    """Return the plan of a resolved schema; see `Plan` for `record_column`.

    >>> from treeanon.schema.relational import resolve
    >>> schema = Schema.loads('''
    ... version = 1
    ... [input]
    ... format = "tables"
    ... record = "customer"
    ... key = ["orders.custkey -> customer.custkey", "customer.nationkey -> nation.key"]
    ... [[class]]
    ... name = "price"
    ... path = "orders.price"
    ... [[class]]
    ... name = "nation"
    ... path = "nation.name"
    ... ''')
    >>> [(stop.table, stop.container, list(stop.columns.values())) for stop in make_plan(resolve(schema)).stops]
    [('customer', 0, []), ('orders', 1, ['price']), ('nation', 0, ['name'])]
    """
    assert schema.input.relations is not None and schema.input.record is not None
    layout, links = schema.layout, schema.input.relations.links
    stops = [Stop(0, (), schema.input.record.names[0], None, -1, 0)]
    known: dict[tuple[Step, ...], int] = {(): 0}
    for index, published in enumerate(layout.classes):
        path = published.spec.path
        if path is None:
            continue
        for length in range(1, len(path.steps)):
            way = path.steps[:length]
            if way in known:
                continue
            above = stops[known[way[:-1]]]
            step = way[-1]
            labels = (*above.labels, step.label or "")
            link = links[labels]
            container = _container(layout, stops, above, step) if link.down else above.container
            fixed = (step.predicate.names[0], step.predicate.value) if step.predicate is not None else None
            known[way] = len(stops)
            stops.append(Stop(len(stops), labels, link.table, link, above.index, container, fixed))
        stops[known[path.steps[:-1]]].columns[index] = path.steps[-1].name or ""
    return Plan(layout, tuple(stops), record_column)


def _container(layout: Layout, stops: list[Stop], above: Stop, step: Step) -> int:
    way = tuple(reversed(list(_looked_up(stops, above))))
    for container in layout.containers:
        if (container.parent, container.wrappers, container.name) == (above.container, way, step.label) and (
            container.predicate == step.predicate
        ):
            return container.index
    raise KeyError(FieldPath((step,)).text(slashed=False))


def _looked_up(stops: list[Stop], stop: Stop) -> Iterator[str]:
    """Return the labels from a stop up to the rows of its container."""
    while not stop.is_container:
        yield stop.labels[-1]
        stop = stops[stop.above]


NULL = -1
"""The target of a row whose key is null."""

DANGLING = -2
"""The target of a row whose key names no row."""

_AT_ONCE = 1 << 18
_COMPACT = 8
"""Whole numbers that lie in a range of so many times their count, or less, are looked up by place."""


class KeyClash(Exception):
    """Columns of a key cannot be compared with their target: what each of the first two that clash holds."""

    def __init__(self, column: int, own: str, target: str) -> None:
        super().__init__(column, own, target)
        self.column, self.own, self.target = column, own, target


class RepeatedKey(Exception):
    """Two rows have the same key: their numbers."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(first, second)
        self.first, self.second = first, second


def find_targets(own: Sequence[pa.ChunkedArray], target: Sequence[pa.ChunkedArray]) -> Ints:
    """Return for every row the row whose target columns equal its own columns; NULL or DANGLING where there is none.

    >>> import pyarrow as pa
    >>> find_targets([pa.chunked_array([[7, 9, None, 8]])], [pa.chunked_array([[9, 7]])]).tolist()
    [1, 0, -1, -2]
    """
    pairs = [_comparable(a, b, number) for number, (a, b) in enumerate(zip(own, target, strict=True))]
    if len(pairs) == 1:
        return _positions(*pairs[0])
    return _positions(*_combined(pairs))


def _comparable(own: pa.ChunkedArray, target: pa.ChunkedArray, number: int) -> tuple[Any, Any]:
    """Return both columns with one type; raise KeyClash where none keeps their values."""
    import pyarrow as pa
    import pyarrow.types as of

    a, b = _plain(own), _plain(target)
    if a.type == b.type and not of.is_nested(a.type):
        return a, b
    if a.null_count == len(a):
        return pa.nulls(len(a), b.type), b
    if b.null_count == len(b):
        return a, pa.nulls(len(b), a.type)
    if (kind := _common_number(a.type, b.type)) is not None:
        try:
            return a.cast(kind), b.cast(kind)
        except pa.ArrowInvalid:  # integers that the type would round
            pass
    raise KeyClash(number, kind_text(own.type), kind_text(target.type))


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """Return the column as one array: of 64-bit integers if it holds whole numbers, else of its own type."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as of

    kind = column.type
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], kind)
    if of.is_dictionary(kind):
        return _plain(array.cast(kind.value_type))
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(array.storage)
    if of.is_null(kind):
        return array.cast(pa.int64())
    if of.is_integer(kind) or of.is_floating(kind) or of.is_decimal(kind):
        try:
            return array.cast(pa.int64())
        except pa.ArrowInvalid:  # fractions, or beyond 64 bits
            # Nought is added as there are two of it, which are one.
            return pc.add(array, 0.0) if of.is_floating(kind) else array
    if of.is_string(kind) or of.is_string_view(kind):
        return array.cast(pa.large_string())
    return array


def _common_number(*kinds: pa.DataType) -> pa.DataType | None:
    """Return a type that holds all these numbers: fractions, or integers beyond 64 bits; None for other types."""
    import pyarrow as pa
    import pyarrow.types as of

    if all(of.is_integer(kind) or of.is_decimal(kind) for kind in kinds):
        return pa.decimal256(76, max(kind.scale if of.is_decimal(kind) else 0 for kind in kinds))
    floats = all(of.is_integer(kind) or of.is_floating(kind) for kind in kinds)
    return pa.float64() if floats else None


def kind_text(kind: pa.DataType) -> str:
    """Return in words what a column of that type holds."""
    import pyarrow.types as of

    kind = kind.value_type if of.is_dictionary(kind) else kind
    if of.is_integer(kind):
        return "integers"
    if of.is_floating(kind) or of.is_decimal(kind):
        return "numbers"
    if of.is_string(kind) or of.is_large_string(kind) or of.is_string_view(kind):
        return "texts"
    return f"values of type {kind}"


def _positions(own: pa.Array, target: pa.Array) -> Ints:
    """Return the place of each of the own values among the target's."""
    import pyarrow.types as of

    if of.is_integer(target.type):
        found = _by_place(own, target)
        if found is not None:
            return found
    return _by_hash(own, target)


def _by_place(own: pa.Array, target: pa.Array) -> Ints | None:
    """Return positions by a table of all numbers between the least and the greatest; None if that is too long."""
    values, filled = _numbers(target)
    if not filled.any():
        return np.where(_numbers(own)[1], DANGLING, NULL).astype(np.int32)
    low, high = int(values[filled].min()), int(values[filled].max())
    if high - low >= _COMPACT * len(values) + 1024:
        return None
    table = np.full(high - low + 1, DANGLING, np.int32)
    rows = np.flatnonzero(filled).astype(np.int32)
    table[values[rows] - low] = rows
    if np.count_nonzero(table >= 0) < len(rows):
        _refuse_repeated(values, rows)
    sought, known = _numbers(own)
    found: Ints = np.where(known, DANGLING, NULL).astype(np.int32)
    for start in range(0, len(sought), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        inside = known[part] & (sought[part] >= low) & (sought[part] <= high)
        found[part][inside] = table[sought[part][inside] - low]
    return found


def _numbers(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of an array of 64-bit integers (0 for null), and which are not null."""
    filled = np.ones(len(array), bool) if not array.null_count else np.asarray(array.is_valid())
    return np.asarray(array.fill_null(0) if array.null_count else array), filled


def _refuse_repeated(values: np.ndarray, rows: Ints) -> None:
    order = rows[np.argsort(values[rows], kind="stable")]
    again = np.flatnonzero(values[order[1:]] == values[order[:-1]])
    at = again[np.argmin(order[again + 1])]
    raise RepeatedKey(int(order[at]), int(order[at + 1]))


def _by_hash(own: pa.Array, target: pa.Array) -> Ints:
    import pyarrow.compute as pc

    found = pc.index_in(own, value_set=target, skip_nulls=True)
    if len(target) - target.null_count > len(target.unique().drop_null()):
        codes = np.asarray(target.dictionary_encode().indices.fill_null(-1))
        _refuse_repeated(codes, np.flatnonzero(codes >= 0).astype(np.int32))
    out = np.asarray(found.fill_null(DANGLING)).astype(np.int32)
    if own.null_count:
        out[np.asarray(own.is_null())] = NULL
    return out


def _combined(pairs: Sequence[tuple[Any, Any]]) -> tuple[pa.Array, pa.Array]:
    """Return several columns as one of numbers, equal where all of them are; null where one is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    own = target = None
    for a, b in pairs:
        values = pa.concat_arrays([b.unique(), a.unique()]).unique().drop_null()
        codes = [
            np.asarray(pc.index_in(x, value_set=values, skip_nulls=True).fill_null(-1)).astype(np.int64) for x in (a, b)
        ]
        if own is None or target is None:
            own, target = codes
            continue
        own, target = (_joint(x, y, len(values)) for x, y in zip((own, target), codes, strict=True))
        # Numbered anew, so that products of many columns stay small.
        _, numbers = np.unique(np.concatenate([target, own]), return_inverse=True)
        numbers = numbers.astype(np.int64)
        target, own = (
            np.where(x < 0, -1, n) for x, n in ((target, numbers[: len(target)]), (own, numbers[len(target) :]))
        )
    assert own is not None and target is not None
    return pa.array(own, mask=own < 0), pa.array(target, mask=target < 0)


def _joint(left: np.ndarray, right: np.ndarray, size: int) -> np.ndarray:
    return np.where((left < 0) | (right < 0), -1, left * size + right)
