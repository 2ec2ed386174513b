"""Joins of columns against joins by dictionaries, and the kernels under them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.support.strategies import properties
from treeanon.io.relational.plan import DANGLING, NULL, KeyClash, RepeatedKey, find_targets
from treeanon.kernels.joins import group_rows, in_circles


def slow_targets(own: list[tuple[Any, ...]], target: list[tuple[Any, ...]]) -> list[int] | tuple[int, int]:
    """The row of each key, or the first two rows that have one key."""
    places: dict[tuple[Any, ...], int] = {}
    for row, key in enumerate(target):
        if None in key:
            continue
        if key in places:
            return places[key], row
        places[key] = row
    return [NULL if None in key else places.get(key, DANGLING) for key in own]


WHOLE = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.decimal128(7, 2)]
BIG = [pa.int64(), pa.decimal128(19, 0), pa.decimal128(38, 0), pa.decimal256(60, 5)]
HUGE = [pa.uint64(), pa.decimal128(20, 0), pa.decimal128(38, 4), pa.decimal256(70, 0)]
TEXT = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
POOLS: list[tuple[list[Any], list[pa.DataType]]] = [
    (list(range(-4, 12)), WHOLE),
    (list(range(0, 10**7, 10**6)), [pa.int32(), pa.int64(), pa.uint32(), pa.float64()]),
    ([*range(2**63 - 9, 2**63), *range(-(2**63), -(2**63) + 9)], BIG),
    (list(range(2**63 - 5, 2**63 + 9)), HUGE[1:]),
    (list(range(2**63, 2**63 + 9)), HUGE),
    (["", " ", "a", "A", "a ", "ä", "a\u0308", "\U0001f600", "1", "01"], TEXT),
    ([dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(9999, 12, 31)], [pa.date32()]),
    ([True, False], [pa.bool_()]),
    ([Decimal("1.5"), Decimal("1.25"), Decimal("2")], [pa.decimal128(9, 2), pa.decimal256(70, 50)]),
    ([0.5, 1.0, 0.0, -0.0, 8.0], [pa.float64(), pa.float32()]),
    ([b"", b"\xff"], [pa.binary()]),
]


def in_chunks(values: list[Any], kind: pa.DataType, rnd: Random) -> pa.ChunkedArray:
    at = sorted(rnd.randrange(len(values) + 1) for _ in range(rnd.randint(0, 3)))
    parts = [values[a:b] for a, b in zip([0, *at], [*at, len(values)], strict=True)]
    return pa.chunked_array([pa.array(part, kind) for part in parts], kind)


def check_find_targets(rnd: Random) -> None:
    chosen = rnd.choices(POOLS, k=rnd.choice([1, 1, 2, 3]))
    pools = [pool + [None] * rnd.choice([0, 1, 3]) for pool, _ in chosen]
    target = [tuple(rnd.choice(pool) for pool in pools) for _ in range(rnd.randint(0, 12))]
    if rnd.random() < 0.8:
        target = list(dict.fromkeys(target))
    own = [tuple(rnd.choice(pool) for pool in pools) for _ in range(rnd.randint(0, 12))]
    own += [rnd.choice(target) for _ in range(rnd.randint(0, 6)) if target]
    sides = []
    for rows in (own, target):
        kinds = [rnd.choice(types) for _, types in chosen]
        kinds = [pa.null() if all(row[at] is None for row in rows) else kind for at, kind in enumerate(kinds)]
        sides.append([in_chunks([row[at] for row in rows], kind, rnd) for at, kind in enumerate(kinds)])
    expected = slow_targets(own, target)
    if isinstance(expected, tuple):
        with pytest.raises(RepeatedKey) as caught:
            find_targets(*sides)
        assert target[caught.value.first] == target[caught.value.second]
        assert (caught.value.first, caught.value.second) == expected
    else:
        found = find_targets(*sides)
        assert (found.tolist(), found.dtype) == (expected, np.int32)


test_find_targets, test_find_targets_thoroughly = properties(check_find_targets, 250, 20_000)


def one(values: list[Any], kind: pa.DataType | None = None) -> list[pa.ChunkedArray]:
    return [pa.chunked_array([pa.array(values, kind)])]


@pytest.mark.parametrize("other", [pa.string(), pa.date32(), pa.bool_(), pa.timestamp("s"), pa.binary(), pa.int8()])
def test_a_column_of_nulls_refers_to_nothing_whatever_its_type(other: pa.DataType) -> None:
    some = pa.scalar(1).cast(pa.int32()).cast(other) if other in (pa.date32(), pa.bool_(), pa.int8()) else None
    values = pa.array([some.as_py()] if some is not None else [None], other)
    assert find_targets(one([None, None], pa.string()), [pa.chunked_array([values])]).tolist() == [NULL, NULL]
    expected = [NULL if value is None else DANGLING for value in values.to_pylist()]
    assert find_targets([pa.chunked_array([values])], one([None, None], pa.string())).tolist() == expected
    pairs = [[*one([1, 2, 1]), pa.chunked_array([pa.nulls(3, other)])], [*one([1, 2]), *one(["a", "b"])]]
    assert find_targets(*pairs).tolist() == [NULL] * 3
    assert find_targets(*reversed(pairs)).tolist() == [DANGLING] * 2


@pytest.mark.parametrize(
    ("own", "target", "told"),
    [
        (one([1]), one(["1"]), ("integers", "texts")),
        (one(["1"], pa.dictionary(pa.int8(), pa.string())), one([1.5]), ("texts", "numbers")),
        (one([2**63 - 1]), one([1.5]), ("integers", "numbers")),
        (one([True]), one([1]), ("values of type bool", "integers")),
        (one([dt.date(2020, 1, 1)]), one(["2020-01-01"]), ("values of type date32[day]", "texts")),
        (one([[1]]), one([[1]]), ("values of type list<item: int64>", "values of type list<item: int64>")),
    ],
)
def test_columns_that_cannot_be_compared_clash(own: Any, target: Any, told: tuple[str, str]) -> None:
    with pytest.raises(KeyClash) as caught:
        find_targets(own, target)
    assert (caught.value.column, caught.value.own, caught.value.target) == (0, *told)
    with pytest.raises(KeyClash) as caught:
        find_targets([*one([7]), *own], [*one([7]), *target])
    assert caught.value.column == 1


def test_a_fraction_among_whole_numbers_is_no_clash() -> None:
    assert find_targets(one([1.5, 2.0, None]), one([1, 2])).tolist() == [DANGLING, 1, NULL]
    assert find_targets(one([2]), one([Decimal("1.5"), Decimal("2.0")])).tolist() == [1]
    assert find_targets(one([2**63, 2], pa.uint64()), one([1, 2])).tolist() == [DANGLING, 1]


def test_keys_of_an_extension_type_are_compared_by_what_they_hold() -> None:
    uuids = pa.array([b"a" * 16, b"b" * 16, None], pa.uuid())
    assert find_targets([pa.chunked_array([uuids])], [pa.chunked_array([uuids[1:]])]).tolist() == [DANGLING, 0, NULL]


# --- kernels ---------------------------------------------------------------------------------------------------------


def check_group_rows(rnd: Random) -> None:
    owners = rnd.randint(0, 5)
    owner = [rnd.randint(-1, owners - 1) for _ in range(rnd.randint(0, 12))]
    starts, order = group_rows(np.array(owner, np.int32), owners)
    groups = [order[starts[x] : starts[x + 1]].tolist() for x in range(owners)]
    assert groups == [[row for row, whose in enumerate(owner) if whose == x] for x in range(owners)]
    assert len(starts) == owners + 1 and len(order) == starts[-1]


def check_in_circles(rnd: Random) -> None:
    size = rnd.randint(0, 9)
    target = [rnd.randint(-2, size - 1) for _ in range(size)]
    expected = set()
    for start in range(size):
        at = target[start]
        for _ in range(size):
            if at < 0 or at == start:
                break
            at = target[at]
        if at == start:
            expected.add(start)
    found = in_circles(np.array(target, np.int32)).tolist()
    assert set(found) == expected
    assert len(found) == len(expected)


test_group_rows, test_group_rows_thoroughly = properties(check_group_rows)
test_in_circles, test_in_circles_thoroughly = properties(check_in_circles, 250)


def test_a_long_chain_is_walked_once() -> None:
    size = 300_000
    chain = np.arange(1, size + 1, dtype=np.int32)
    chain[-1] = -1
    assert not len(in_circles(chain))
    chain[-1] = 0
    assert len(in_circles(chain)) == size
