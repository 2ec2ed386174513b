"""Searches of tables tell how far they are, truthfully, and end where nobody waits for them any more."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import treeanon as ta
from tests.algorithms.table.test_mondrian import table_of
from treeanon.algorithms.table import koptimize, local, mondrian, topdown
from treeanon.algorithms.table import mondrian as dividing
from treeanon.algorithms.table.problem import Problem
from treeanon.kernels.table import cell_suppression
from treeanon.privacy.models import FrequencyDiversity, KAnonymity, TCloseness

Told = list[tuple[int, int | None]]


def told_by(algorithm: str, table: ta.Table, **asked: object) -> Told:
    told: Told = []
    ta.anonymize(table, algorithm=algorithm, progress=lambda done, total: told.append((done, total)), **asked)
    return told


@pytest.mark.parametrize("algorithm", ["optimal", "samarati", "incognito", "datafly", "suppress-columns"])
def test_of_a_lattice_it_is_told_how_many_nodes_were_looked_at(algorithm):
    told = told_by(algorithm, table_of(rows=200), k=3, l=1, max_suppressed=100)
    assert told and all(total is None for _, total in told)
    counts = [done for done, _ in told]
    assert counts == sorted(counts) and counts[0] > 0


@pytest.mark.parametrize("algorithm", [mondrian, topdown])
@pytest.mark.parametrize("models", [(KAnonymity(3),), (KAnonymity(3), FrequencyDiversity(2))])
def test_portions_come_out_as_the_whole_and_tell_how_much_is_left(algorithm, models, monkeypatch):
    table, told = table_of(rows=3000), []
    whole = algorithm.search(Problem(table, models))
    monkeypatch.setattr(dividing, "SMALL", 100)
    found = algorithm.search(Problem(table, models, progress=lambda *now: told.append(now)))
    assert np.array_equal(found.group, whole.group)
    shares = [done / total for done, total in told]
    assert len(shares) > 5 and shares == sorted(shares)
    assert 0 < shares[0] < 0.3 and shares[-1] == 1


@pytest.mark.parametrize("algorithm", [mondrian, topdown])
def test_models_of_any_kind_are_told_of_too(algorithm):
    told = []
    algorithm.search(Problem(table_of(rows=500), (TCloseness(0.4),), progress=lambda *now: told.append(now)))
    assert told


def test_local_recoding_tells_its_blocks(monkeypatch):
    monkeypatch.setattr(local, "BLOCK", 50)
    told = told_by("local", table_of(rows=400), k=3, l=1)
    assert len(told) > 1 and told == [(i, len(told)) for i in range(1, len(told) + 1)]


def test_cell_suppression_tells_its_rows(monkeypatch):
    monkeypatch.setattr(cell_suppression, "_LOOKS", 1000)
    rows = len(set(table_of(rows=300).rows()))
    told = [now for now in told_by("suppress-cells", table_of(rows=300), k=3, l=1) if now[1] is not None]
    assert len(told) > 2 and told == sorted(told)
    assert told[-1][0] == told[-1][1] <= rows


def test_a_time_is_told_as_what_is_gone_of_it():
    problem, told = Problem(table_of(rows=100), (KAnonymity(3),), progress=lambda *now: told.append(now)), []
    koptimize.search(problem, seconds=0.3)
    assert told and {total for _, total in told} == {300}
    assert all(0 <= done <= 300 for done, _ in told)
    told.clear()
    few = Problem(table_of(rows=5), (KAnonymity(2),), progress=lambda *now: told.append(now))
    koptimize.search(few, seconds=None)
    assert told and {total for _, total in told} == {None}


@pytest.mark.parametrize("algorithm", ["optimal", "mondrian", "topdown", "local", "koptimize", "suppress-cells"])
def test_an_error_of_who_is_told_ends_the_search(algorithm):
    class EnoughError(Exception):
        pass

    def stop(done, total):
        raise EnoughError

    with pytest.raises(EnoughError):
        ta.anonymize(table_of(rows=300), algorithm=algorithm, k=3, l=1, progress=stop)


def test_nobody_need_be_told():
    rnd = Random(1)
    hierarchy = ta.Hierarchy.flat(["a", "b"])
    table = ta.Table.of_texts({"x": ([rnd.choice("ab") for _ in range(20)], hierarchy)})
    assert ta.anonymize(table, k=2).verdict.holds
