"""Orders of a table's rows in which rows that are alike lie near each other.

After G. Ghinita, P. Karras, P. Kalnis and N. Mamoulis, "A framework for efficient data anonymization under privacy and
accuracy constraints" (ACM TODS 34(2), 2009), which maps the quasi columns to one dimension by a Hilbert curve or by
iDistance. Where we differ: rows can be sorted by one column after the other as well, or split again and again by the
column for which that pays most, both of which are often better; and several orders can be tried.

Rows in the order of splitting them: every block by the column for which that pays most.

Rows sorted by one column after the other.

Rows by their place on a Hilbert curve through all quasi columns.

Rows by the center they are nearest to, and then by how far they are from it.

All of them look at rows as points, a dimension a quasi column.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from treeanon.algorithms.table.onedim.costs import ColumnCosts, sampled_loss, scales_of, table_costs
from treeanon.algorithms.table.registry import Style
from treeanon.arrays import Floats, Ints, Longs, Words, unique_values
from treeanon.errors import UsageError
from treeanon.kernels.jit import for_rows
from treeanon.kernels.table.centers import center_tree, nearest_centers
from treeanon.kernels.table.onedim import turn_back, walked
from treeanon.kernels.table.orders import WORD, adaptive_rows, hilbert_words
from treeanon.metrics.table.ncp import Form
from treeanon.table import Column, Table
from treeanon.table.covers import value_ranks

_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Points:
    """points[r, c] is the rank of row r's value in the c-th quasi column, from 0 to sizes[c] - 1.

    Numbers rank by value, other values as the hierarchy has them, inner nodes before what is below them. A missing
    value ranks after all others.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"x": (["9", "10", None], Hierarchy.flat(["10", "9"]))})
    >>> Points.of(table).points.tolist(), Points.of(table).sizes.tolist()
    ([[0], [1], [2]], [3])
    """

    points: Ints
    sizes: Longs

    @classmethod
    def of(cls, table: Table) -> Points:
        """Return the points of a table's rows."""
        found = [column_ranks(column) for column in table.quasi]
        points = np.empty((len(table), len(found)), np.int32)
        for c, (ranks, _size) in enumerate(found):
            points[:, c] = ranks
        return cls(points, np.array([size for _ranks, size in found], np.int64))

    def __len__(self) -> int:
        return len(self.points)

    @property
    def scale(self) -> Floats:
        """What a step counts in each dimension, so that all are equally long."""
        return 1.0 / np.maximum(self.sizes - 1, 1)


def column_ranks(column: Column) -> tuple[Ints, int]:
    """Return the rank of every row's value, and how many ranks there are."""
    codes = column.codes
    ranks = value_ranks(column.hierarchy)
    seen = unique_values(codes)
    has_missing = len(seen) > 0 and seen[0] < 0
    if (ranks[seen[seen >= 0]] < 0).any():
        ranks = np.arange(len(column.hierarchy), dtype=np.int32)
    values = int(ranks.max(initial=0)) + 1
    return np.append(ranks, np.int32(values))[codes], values + has_missing


def in_blocks(task: Callable[[slice], None], rows: int) -> None:
    """Run the task for all rows, block by block, on all cores: kernels hold no interpreter lock."""
    blocks = [slice(start, min(start + _BLOCK, rows)) for start in range(0, rows, _BLOCK)]
    if len(blocks) < 2:
        for block in blocks:
            task(block)
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for _done in pool.map(task, blocks):
            pass


def sorted_rows(keys: list[npt.NDArray[np.generic]]) -> Longs:
    """Return the rows sorted by the keys, the first of which counts most."""
    return np.argsort(keys[0]) if len(keys) == 1 else np.lexsort(keys[::-1])


def tuple_keys(points: Points, columns: Longs) -> list[npt.NDArray[np.generic]]:
    """Return keys by which rows sort lexicographically, as few as 64 bits each allow."""
    keys: list[npt.NDArray[np.generic]] = []
    key, room = np.zeros(len(points), np.int64), 1
    for c in columns.tolist():
        size = int(points.sizes[c])
        if room * size >= 2**63:
            keys.append(key)
            key, room = np.zeros(len(points), np.int64), 1
        key = key * size + points.points[:, c]
        room *= size
    return [*keys, key]


def adaptive_order(columns: list[ColumnCosts], k: int) -> Longs:
    """Return the rows in an order made for groups of k rows.

    All rows are one block at first. A block is split by one column, in the middle of its range or by the children of
    the lowest node that covers it: that with the most gain for a bit of the entropy of the parts, where the gain is how
    much less k random rows of a part are expected to lose in that column than k of the whole block.

    >>> from treeanon.algorithms.table.onedim.costs import table_costs
    >>> from treeanon.hierarchy import Hierarchy
    >>> from treeanon.table import Table
    >>> table = Table.of_texts({"x": (["a", "b", "a", "b"], Hierarchy.flat(["a", "b"]))})
    >>> adaptive_order(table_costs(table, "taxonomy", "auto"), 2).tolist()
    [0, 2, 1, 3]
    """
    values, scales = scales_of(columns)
    return for_rows(adaptive_rows, len(values))(values, scales, k) if len(values) else np.zeros(0, np.int64)


def lexicographic_order(points: Points, columns: Longs) -> tuple[Longs, Floats]:
    """Return the rows sorted by these columns, the first of which counts most; and how far along the way each of them
    is.

    A column need not begin anew where one before it has moved: it goes up or down, whichever begins nearer.

    >>> square = Points(np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.int32), np.array([2, 2]))
    >>> [found.tolist() for found in lexicographic_order(square, np.array([0, 1]))]
    [[0, 1, 3, 2], [0.0, 1.0, 2.0, 3.0]]
    """
    rows = sorted_rows(tuple_keys(points, columns))
    for_rows(turn_back, len(rows))(rows, points.points, columns)
    return rows, walk(points, rows)


def walk(points: Points, rows: Longs) -> Floats:
    """Return how far it is along the rows to each of them: the steps in all columns, each column being 1 long."""
    return for_rows(walked, len(rows))(rows, points.points, points.scale)


def few_values_first(points: Points) -> Longs:
    """Return the columns, those with fewer distinct values first.

    >>> few_values_first(Points(np.array([[0, 5], [1, 5]], np.int32), np.array([2, 9]))).tolist()
    [1, 0]
    """
    return np.argsort([np.count_nonzero(np.bincount(column)) for column in points.points.T], kind="stable")


MOST_BITS = 31


def hilbert_order(points: Points, bits: int | None = None) -> tuple[Longs, Floats]:
    """Return the rows in the order of the curve, and how far along it each of them is, from 0 to 1.

    The curve fills a cube of 2^bits cells a side, to which every column is scaled; unless told otherwise, it has a cell
    for every tuple. Rows of one cell are sorted by their values.

    >>> square = Points(np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.int32), np.array([2, 2]))
    >>> [found.tolist() for found in hilbert_order(square)]
    [[0, 3, 2, 1], [0.0, 0.25, 0.5, 0.75]]
    """
    enough = max(int(points.sizes.max(initial=1) - 1).bit_length(), 1)
    bits = enough if bits is None else bits
    if not 1 <= bits <= MOST_BITS:
        raise UsageError(f"a Hilbert curve has from 1 to {MOST_BITS} bits a column")
    words = curve_places(points, bits)
    keys: list[npt.NDArray[np.generic]] = list(words.T.copy())
    if bits < enough:
        keys += tuple_keys(points, np.arange(len(points.sizes)))
    rows = sorted_rows(keys)
    return rows, _shares(words, bits * len(points.sizes))[rows]


def curve_places(points: Points, bits: int) -> Words:
    """Return the place of every row on the curve as words, the most significant first."""
    words = np.zeros((len(points), -(-bits * len(points.sizes) // WORD)), np.uint64)

    def task(block: slice) -> None:
        for_rows(hilbert_words, len(points))(points.points[block], points.sizes, bits, words[block])

    in_blocks(task, len(points))
    return words


def _shares(words: Words, length: int) -> Floats:
    """Return places as shares of the curve's length, as exactly as a float has it."""
    last = length - WORD * (words.shape[1] - 1)
    out = np.zeros(len(words))
    for w in range(words.shape[1]):
        held = WORD * w + (last if w == words.shape[1] - 1 else WORD)
        out += np.ldexp(words[:, w].astype(np.float64), -held)
    return out


CENTERS = 512
"""So many at least, where there are as many different rows."""

_ROWS_OF_A_CENTER, _SAMPLE, _ROUNDS, _SIDE = 50, 5_000, 10, 1 << 10


def idistance_order(points: Points, centers: int | None = None, seed: int = 0) -> tuple[Longs, Floats]:
    """Return the rows in the order of iDistance, and where each of them is, from 0 to 1.

    The centers are those of k-means on a sample of a tenth of the rows (some thousands at least), in the order of a
    Hilbert curve; every center has as much of the way as any other. There is one for 50 rows, and 512 at least, unless
    told otherwise. `seed` draws the sample and the first centers.

    >>> line = Points(np.array([[0], [9], [1], [8]], np.int32), np.array([10]))
    >>> idistance_order(line, centers=2)[0].tolist() in ([0, 2, 1, 3], [0, 2, 3, 1], [2, 0, 1, 3], [2, 0, 3, 1])
    True
    """
    centers = max(CENTERS, len(points) // _ROWS_OF_A_CENTER) if centers is None else centers
    if centers < 1:
        raise UsageError("iDistance needs at least one center")
    if not len(points):
        return np.zeros(0, np.int64), np.zeros(0)
    middle = _sorted_centers(_means(points, centers, seed))
    nearest, distance = _nearest(points, middle)
    keys = [nearest, distance, *tuple_keys(points, np.arange(len(points.sizes)))]
    rows = sorted_rows(list(keys))
    whole = np.sqrt(distance.max(initial=0)) or 1.0
    return rows, ((nearest + np.sqrt(distance) / whole) / len(middle))[rows]


def _nearest(points: Points, centers: Floats) -> tuple[Longs, Floats]:
    nearest, distance = np.empty(len(points), np.int64), np.empty(len(points))

    tree = for_rows(center_tree, len(points))(centers)

    def task(block: slice) -> None:
        for_rows(nearest_centers, len(points))(
            points.points[block], points.scale, centers, *tree, nearest[block], distance[block]
        )

    in_blocks(task, len(points))
    return nearest, distance


def _means(points: Points, wanted: int, seed: int) -> Floats:
    """Return the centers of k-means on a sample; those that lose all their rows are dropped."""
    rng = np.random.default_rng(seed)
    size = min(max(len(points) // 10, _SAMPLE), len(points))
    chosen = rng.choice(len(points), size, replace=False)
    sample = Points(points.points[chosen], points.sizes)
    distinct = _distinct(sample)
    centers = distinct[rng.permutation(len(distinct))[:wanted]] * points.scale
    for _round in range(_ROUNDS):
        nearest = _nearest(sample, centers)[0]
        counts = np.bincount(nearest, minlength=len(centers))
        sums = [np.bincount(nearest, column, len(centers)) for column in (sample.points * points.scale).T]
        centers = np.array(sums).T[counts > 0] / counts[counts > 0, None]
    return centers


def _distinct(points: Points) -> Ints:
    """Return the points without repetition, sorted."""
    found = points.points[sorted_rows(tuple_keys(points, np.arange(len(points.sizes))))]
    kept: Ints = found[np.append(True, (found[1:] != found[:-1]).any(axis=1))]
    return kept


def _sorted_centers(centers: Floats) -> Floats:
    """Return the centers in the order of a Hilbert curve."""
    cells = np.clip(np.rint(centers * (_SIDE - 1)), 0, _SIDE - 1).astype(np.int32)
    sizes = np.full(centers.shape[1], _SIDE, np.int64)
    return centers[hilbert_order(Points(cells, sizes))[0]]


Order = Literal["best", "adaptive", "hilbert", "idistance", "lexicographic", "user"]
ORDERS: tuple[Order, ...] = ("best", "adaptive", "hilbert", "idistance", "lexicographic", "user")
_TRIED: tuple[Order, ...] = "adaptive", "lexicographic", "hilbert"
_K = 10


@dataclass(frozen=True, eq=False, repr=False)
class Ordering:
    """The rows of a table in a one-dimensional order.

    `rows` has their numbers in that order and `places` how far along it each of these is, ascending. points[r, c] is
    the rank of the table's row r in the c-th quasi column, which has sizes[c] ranks: numbers rank by value, others as
    the hierarchy has them, missing values last. Equal rows lie side by side. `name` says which order it is.
    """

    name: Order
    rows: Longs
    places: Floats
    points: Ints
    sizes: Longs

    def __repr__(self) -> str:
        return f"<Ordering {self.name} of {len(self.rows):,} rows>"


def check_order(order: str, columns: object = None, bits: object = None, centers: object = None) -> None:
    """Raise UsageError for an order that there is not, and for options of another order."""
    if order not in ORDERS:
        raise UsageError(f"unknown order {order!r} of rows; choose from {', '.join(ORDERS)}")
    for name, given, own in (
        ("columns", columns, "user"),
        ("bits", bits, "hilbert"),
        ("centers", centers, "idistance"),
    ):
        if given is not None and order != own:
            raise UsageError(f"the option {name} is for the order {own} only")


def ordered(
    table: Table,
    order: Order = "best",
    *,
    k: int = _K,
    form: Form = "taxonomy",
    style: Style = "auto",
    columns: str | Sequence[str] | None = None,
    bits: int | None = None,
    centers: int | None = None,
) -> Ordering:
    """Return the rows in a one-dimensional order.

    `hilbert`: along a Hilbert curve of 2^`bits` cells a side (unless given, a cell for every value). `idistance`: by
    the nearest of some `centers`, and the distance from it. `lexicographic`: by one column after the other, those with
    few values first. `user`: by the `columns` named (with commas, if in a text), and then by the others in the order of
    the table. `adaptive`: split again and again by what pays most. `best`: that which loses least of adaptive,
    lexicographic and hilbert, looked at in samples if there are many rows.

    What pays and what loses is told for groups of `k` rows, the form of NCP, and the style in which they are published.

    >>> from treeanon.hierarchy import Hierarchy
    >>> table = Table.of_texts({"x": (["3", "1", "2"], Hierarchy.flat(["1", "2", "3"]))})
    >>> ordered(table, "hilbert").rows.tolist()
    [1, 2, 0]
    """
    check_order(order, columns, bits, centers)
    points = Points.of(table)
    # Most orders do not look at what groups cost.
    costs = table_costs(table, form, style) if order in ("best", "adaptive") else []
    makers: dict[str, Callable[[], tuple[Longs, Floats]]] = {
        "adaptive": lambda: _adaptive(points, costs, k),
        "lexicographic": lambda: lexicographic_order(points, few_values_first(points)),
        "hilbert": lambda: hilbert_order(points, bits),
        "idistance": lambda: idistance_order(points, centers),
        "user": lambda: lexicographic_order(points, _named(table, columns or ())),
    }
    name, (rows, places) = _best(makers, costs, k) if order == "best" else (order, makers[order]())
    return Ordering(name, rows, places, points.points, points.sizes)


def _adaptive(points: Points, costs: list[ColumnCosts], k: int) -> tuple[Longs, Floats]:
    rows = adaptive_order(costs, k)
    return rows, walk(points, rows)


def _best(
    makers: dict[str, Callable[[], tuple[Longs, Floats]]], costs: list[ColumnCosts], k: int
) -> tuple[Order, tuple[Longs, Floats]]:
    """Return the order that loses least, and its name."""
    least = np.inf
    best: tuple[Order, tuple[Longs, Floats]] | None = None
    for name in _TRIED:
        made = makers[name]()
        loss = sampled_loss(costs, made[0], k)
        if best is None or loss < least:
            least, best = loss, (name, made)
    assert best is not None
    return best


def _named(table: Table, columns: str | Sequence[str]) -> Longs:
    """Return the quasi columns by number, those named first."""
    names = [column.name for column in table.quasi]
    given = [name.strip() for name in columns.split(",")] if isinstance(columns, str) else list(columns)
    for name in given:
        if name not in names:
            raise UsageError(f"unknown quasi column {name!r} to order by; choose from {', '.join(names)}")
    return np.array([names.index(name) for name in dict.fromkeys([*given, *names])], np.int64)
