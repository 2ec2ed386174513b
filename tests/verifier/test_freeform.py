"""The check of freeform releases, against obvious code and against releases that do not hold."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

import treeanon as ta
from tests.reference.freeform import compatible, in_matchings, perfect_matchings
from tests.reference.onedim import random_table
from tests.support.strategies import properties
from treeanon.algorithms.table.freeform.heuristics import greedy
from treeanon.algorithms.table.problem import Problem
from treeanon.algorithms.table.registry import STYLES
from treeanon.errors import UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.privacy.models import KAnonymity
from treeanon.table import Table
from treeanon.verifier.freeform import verify_edges, verify_freeform

LETTERS = Hierarchy.from_paths([["a", "ab", "*"], ["b", "ab", "*"], ["c", "*"]])


def letters(*texts: str | None) -> Table:
    return Table.of_texts({"x": (texts, LETTERS)})


def least_degrees(edges: list[list[int]], rows: int) -> tuple[int, int]:
    """The fewest tuples of an original and the fewest originals of a tuple, by trying everything."""
    pairs = in_matchings(edges)
    if rows < 7:
        assert pairs == {(j, i) for found in perfect_matchings(edges) for j, i in enumerate(found)}
    tuples = [sum((j, i) in pairs for j in range(rows)) for i in range(rows)]
    originals = [sum((j, i) in pairs for i in range(rows)) for j in range(rows)]
    return min(tuples), min(originals)


def edges_alone(rnd: Random) -> None:
    """Any graph, regular or not."""
    rows, k = rnd.randint(1, 7), rnd.randint(1, 3)
    edges = [[rnd.randrange(rows) for _ in range(k)] for _ in range(rows)]
    verdict = verify_edges(np.array(edges, np.int32), k)
    assert (verdict.tuples, verdict.originals) == least_degrees([sorted(set(own)) for own in edges], rows)
    assert verdict.holds == (verdict.largest_k >= k) == bool(verdict)


test_edges, test_edges_thoroughly = properties(edges_alone, 75, 3000)


def released_tables(rnd: Random) -> None:
    """Releases, and tables that are none: rows of a release mixed with those of another, in any order."""
    rows = rnd.randint(1, 7)
    table = random_table(rnd, rows, inner=True)
    k = rnd.randint(1, min(rows, 3))
    found = greedy(Problem(table, (KAnonymity(k),)), style=rnd.choice(STYLES))
    released = found.recoded(table)[0]
    behind = np.array(rnd.sample(range(rows), rows))
    scattered = released.take(behind)
    if rnd.random() < 0.4:
        # Some rows become others of the release: it may be one of nothing any more.
        scattered = scattered.take(np.array([rnd.randrange(rows) if rnd.random() < 0.3 else r for r in range(rows)]))
        assert_as_slow(table, scattered, k)
        return
    assert_as_slow(table, scattered, k)
    verdict = verify_freeform(table, scattered, k)
    assert verdict.holds and verdict.largest_k >= k
    with_hint = verify_freeform(table, scattered, k, behind=behind)
    assert replace(with_hint, seconds=0) == replace(verdict, seconds=0)
    wrong = verify_freeform(table, scattered, k, behind=np.zeros(rows, np.int64))
    assert wrong.largest_k == (0 if rows > 1 and len(set(table.rows())) == rows else wrong.largest_k)


def assert_as_slow(table: Table, released: Table, k: int) -> None:
    verdict = verify_freeform(table, released, k)
    assert (verdict.tuples, verdict.originals) == least_degrees(compatible(table, released), len(table))


test_released, test_released_thoroughly = properties(released_tables, 60, 2000)


def test_what_looks_wide_enough_and_is_not() -> None:
    """Each published value stands for two originals, but one of them is needed elsewhere."""
    original, released = letters("a", "b", "c"), letters("a", "ab", "*")
    assert [len(own) for own in compatible(original, released)] == [1, 2, 3]
    assert verify_freeform(original, released, 2).largest_k == 1
    assert not verify_freeform(original, released, 2)
    wide = letters("ab", "ab", "*")
    assert verify_freeform(original, wide, 2).largest_k == 1


def test_what_is_no_release() -> None:
    original = letters("a", "b", "c")
    for released in (letters("a", "a", "c"), letters("a", "b"), letters(None, "*", "*")):
        verdict = verify_freeform(original, released, 1)
        assert verdict.largest_k == 0 and not verdict.holds
        assert "not those of the original" in verdict.sentence
    assert verify_freeform(letters(), letters(), 5).holds
    assert verify_freeform(letters(), letters(), 5).sentence == "5-anonymity holds. The table has no rows."
    assert verify_freeform(letters(None, "a"), letters("*", "*"), 2).holds
    with pytest.raises(UsageError, match="quasi columns of its original"):
        verify_freeform(original, Table.of_texts({"y": ("abc", LETTERS)}), 2)
    with pytest.raises(UsageError, match="stand for none that the original has are in columns: x"):
        verify_freeform(original, Table.of_texts({"x": ("abe", Hierarchy.flat("abe"))}), 2)
    several = Table(original.columns, np.array([0, 0, 1], np.int32))
    with pytest.raises(UsageError, match="one row a person"):
        verify_freeform(several, original, 2)


def test_a_release_read_from_a_file_is_taken_as_it_stands(tmp_path):
    schema = ta.Schema.loads(
        'version = 1\n[input]\nformat = "csv"\n'
        '[[class]]\nname = "age"\npath = "age"\ntype = "integer"\nhierarchy = { intervals = [5, 10] }\n'
        '[[class]]\nname = "town"\npath = "town"\nhierarchy = { groups = 2 }\n'
    )
    path = tmp_path / "in.csv"
    path.write_text(
        "age,town\n" + "".join(f"{20 + 3 * i},{('Ulm', 'Bonn', 'Bari', 'Linz')[i % 4]}\n" for i in range(12))
    )
    table = ta.read_table(path, schema)
    release = ta.anonymize(table, algorithm="freeform-greedy", k=3)
    release.write(tmp_path / "out.csv")
    again = ta.read_table(tmp_path / "out.csv", schema, published=True)
    found, known = ta.verify(again, k=3, original=table), ta.verify(release.table, k=3, original=table)
    assert found.holds and (found.tuples, found.originals) == (known.tuples, known.originals)
    assert not ta.verify(again, k=13, original=table).holds
    with pytest.raises(UsageError, match="in columns: age"):
        ta.verify(again, k=3, original=table.take(np.arange(3)))


def test_the_verdict_as_data() -> None:
    verdict = verify_edges(np.array([[0, 1], [1, 0]], np.int32), 2)
    told = verdict.as_dict()
    assert told.pop("seconds") >= 0
    assert told == {
        "holds": True,
        "k": 2,
        "largest_k": 2,
        "tuples": 2,
        "originals": 2,
        "models": [],
        "rows": 2,
    }
