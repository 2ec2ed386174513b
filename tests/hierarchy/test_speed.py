"""150,000 distinct values build and encode quickly; the bounds are about five times what a laptop needs."""

from __future__ import annotations

import datetime
import random
import time

import pytest

from treeanon.hierarchy import Dates, Flat, Groups, Intervals, Prefix

COUNT = 150_000
START = datetime.datetime(1950, 1, 1)


def tenths():
    return [f"{number / 10}" for number in random.Random(1).sample(range(8_000_000), COUNT)]


def moments():
    seconds = random.Random(2).sample(range(2_000_000_000), COUNT)
    return [(START + datetime.timedelta(seconds=second)).isoformat() for second in seconds]


def words():
    return [f"{number:x}" for number in random.Random(3).sample(range(16**6, 16**8), COUNT)]


def floats():
    return [repr(random.Random(seed).uniform(0, 800_000)) for seed in range(COUNT)]


@pytest.mark.parametrize(
    ("builder", "make", "seconds"),
    [
        (Intervals((10_000, 50_000, 100_000), 0, 800_000, integer=False), tenths, 0.8),
        (Intervals((10_000, 50_000, 100_000), 0, 800_000, integer=False), floats, 1.5),
        (Dates(("month", "quarter", "year")), moments, 1),
        (Prefix((3, 2, 1)), words, 1),
        (Groups(5), words, 1),
        (Groups(5, numeric=True), tenths, 2),
        (Flat(), words, 0.5),
    ],
)
@pytest.mark.slow
def test_many_distinct_values_build_and_encode_quickly(builder, make, seconds):
    values = make()
    started = time.perf_counter()
    codes = builder.build(values).encode(values)
    assert time.perf_counter() - started < seconds
    assert codes.min() > 0
