"""Trees built straight from sorted rows are those that the general way builds, whatever the rows and the jobs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treeanon.arrays import Ints
from treeanon.forest.planting import Planter
from treeanon.forest.tables import Batch, ContainerRows, MovedNodes
from treeanon.schema import Schema

SCHEMA = Schema.loads("""
version = 1
[input]
format = "ndjson"
[[class]]
name = "sex"
path = "sex"
[[class]]
name = "ward"
path = "visits[].ward"
[[class]]
name = "day"
path = "visits[].day"
under = "/"
[[class]]
name = "drug"
path = "visits[].findings[].drugs[].name"
[[class]]
name = "code"
path = "visits[].findings[].code"
under = "ward"
[[class]]
name = "dose"
path = "visits[].findings[].drugs[].dose"
""")


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    layout = SCHEMA.layout
    sizes = [draw(st.integers(0, 4))]
    tables = []
    for container in layout.containers:
        if container.index:
            above = sizes[container.parent]
            owner = sorted(draw(st.lists(st.integers(0, above - 1), max_size=8))) if above else []
            sizes.append(len(owner))
        else:
            owner = [0] * sizes[0]
        codes = {held: np.array([draw(st.integers(-1, 2)) for _ in owner], np.int32) for held in container.held}
        tables.append(ContainerRows(np.array(owner, np.int32), codes))
    return Batch(tuple(tables), tuple([] for _ in layout.classes), MovedNodes.none())


def planted(batch: Batch, labels: list[Ints], jobs: int, sorted_rows: bool) -> list[list[int]]:
    planter = Planter(SCHEMA.layout, batch.cells, jobs)
    if sorted_rows:
        planter.plant(batch, labels, None)
    else:
        planter._put(planter._grown(batch, labels), batch.cells)
    return [array.tolist() for array in planter.finish()]


@given(batches(), st.sampled_from([1, 2]), st.data())
def test_both_ways_give_the_same_trees(batch: Batch, jobs: int, data: st.DataObject) -> None:
    # Some codes stand for texts that are no node (-1), as empty ones do.
    labels = [
        np.array([1 + 3 * held + code if data.draw(st.booleans()) else -1 for code in range(3)] + [-1], np.int32)
        for held in range(len(SCHEMA.layout.classes))
    ]
    assert batch.is_sorted
    assert planted(batch, labels, jobs, True) == planted(batch, labels, jobs, False)
