"""The Hilbert curve against a recursive definition, and what makes it one."""

from __future__ import annotations

from itertools import pairwise, product
from random import Random

import numpy as np
import pytest

from tests.reference.onedim import hilbert_place, textbook_place
from tests.support.strategies import properties
from treeanon.algorithms.table.onedim.orders import Points, curve_places, hilbert_order
from treeanon.errors import UsageError


def cube(dimensions: int, bits: int) -> Points:
    cells = np.array(list(product(range(2**bits), repeat=dimensions)), np.int32)
    return Points(cells, np.full(dimensions, 2**bits, np.int64))


def places(points: Points, bits: int) -> list[int]:
    """The places as whole numbers of any size."""
    length = bits * len(points.sizes)
    words = curve_places(points, bits)
    last = length - 64 * (words.shape[1] - 1)
    found = []
    for row in words.tolist():
        place = 0
        for word in row[:-1]:
            place = place << 64 | word
        found.append(place << last | row[-1])
    return found


@pytest.mark.parametrize(("dimensions", "bits"), [(1, 4), (2, 1), (2, 2), (2, 5), (3, 1), (3, 3), (4, 2), (5, 2)])
def test_every_cell_once_and_each_next_to_the_one_before(dimensions: int, bits: int) -> None:
    points = cube(dimensions, bits)
    assert sorted(places(points, bits)) == list(range(len(points)))
    assert places(points, bits) == [hilbert_place(point, bits) for point in points.points.tolist()]
    way = points.points[hilbert_order(points)[0]]
    assert way[0].tolist() == [0] * dimensions
    assert (np.abs(np.diff(way, axis=0)).sum(axis=1) == 1).all()


@pytest.mark.parametrize("bits", range(1, 7))
def test_the_curve_of_the_books(bits: int) -> None:
    points = cube(2, bits)
    found = places(points, bits)
    straight = [textbook_place(x, y, bits) for x, y in points.points.tolist()]
    assert found in (straight, [textbook_place(y, x, bits) for x, y in points.points.tolist()])


def many_dimensions(rnd: Random) -> None:
    """Places of more than 64 bits."""
    dimensions, bits = rnd.randint(1, 12), rnd.randint(1, 31)
    cells = [[rnd.randrange(2**bits) for _ in range(dimensions)] for _ in range(rnd.randint(1, 8))]
    points = Points(np.array(cells, np.int32), np.full(dimensions, 2**bits, np.int64))
    wanted = [hilbert_place(point, bits) for point in cells]
    assert places(points, bits) == wanted
    rows, shares = hilbert_order(points, bits)
    assert [wanted[row] for row in rows.tolist()] == sorted(wanted)
    np.testing.assert_allclose(shares, [wanted[row] / 2 ** (dimensions * bits) for row in rows.tolist()], rtol=1e-12)


test_many_dimensions, test_many_dimensions_thoroughly = properties(many_dimensions, 30, 1000)


def test_columns_are_scaled_to_the_cube() -> None:
    two, eight = np.array([[0, 0], [1, 7]], np.int32), np.array([2, 8])
    assert places(Points(two, eight), 3) == [0, hilbert_place([4, 7], 3)]


def test_rows_of_one_cell_are_sorted() -> None:
    rng = np.random.default_rng(1)
    points = Points(rng.integers(0, 9, (200, 3)).astype(np.int32), np.full(3, 9, np.int64))
    found = points.points[hilbert_order(points, 1)[0]].tolist()
    runs = 1 + sum(a != b for a, b in pairwise(found))
    assert runs == len({tuple(point) for point in found})


@pytest.mark.parametrize("bits", [0, 32])
def test_bits_that_cannot_be(bits: int) -> None:
    with pytest.raises(UsageError, match="from 1 to 31 bits"):
        hilbert_order(cube(2, 1), bits)
