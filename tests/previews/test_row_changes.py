"""Rows before and after: each beside what was really published of it."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

import treeanon as ta
from treeanon.errors import UsageError
from treeanon.previews.preview import preview, preview_of, sampled
from treeanon.previews.scores import RowTrace, row_changes

AGES = ta.Hierarchy.from_paths([[str(a), f"{a // 10}0-{a // 10}9", "*"] for a in range(20, 60)])
SEXES = ta.Hierarchy.flat(["f", "m"])
ILLS = ta.Hierarchy.flat(["flu", "gout", "acne", "cough"])


def table(rows: int = 60, seed: int = 1, *, sensitive: bool = True) -> ta.Table:
    rnd = Random(seed)
    ages = [None if rnd.random() < 0.1 else str(rnd.randrange(20, 60)) for _ in range(rows)]
    ills = [rnd.choice(["flu", "gout", "acne", "cough"]) for _ in range(rows)]
    columns: Any = {"age": (ages, AGES), "sex": ([rnd.choice("fm") for _ in range(rows)], SEXES)}
    return ta.Table.of_texts(columns | {"ill": (ills, ILLS)} if sensitive else columns, {"ill": "sensitive"})


ALGORITHMS: list[dict[str, Any]] = [
    {},
    {"algorithm": "optimal"},
    {"algorithm": "mondrian"},
    {"algorithm": "local"},
    {"algorithm": "onedim-l", "diversity": "frequency", "k": 2},
    {"algorithm": "samarati", "max_suppressed": "10%"},
    {"algorithm": "freeform-greedy", "l": None},
]


@pytest.mark.parametrize("asked", ALGORITHMS)
def test_every_row_is_beside_what_was_published_of_it(asked: dict[str, Any]):
    before = table(sensitive=asked.get("algorithm") != "freeform-greedy")
    release = ta.anonymize(before, **{"k": 3, "l": 2, **asked})
    changes = row_changes(before, release, range(len(before)))
    published = [change.after for change in changes if change.after is not None]
    assert Counter(published) == Counter(release.table.rows())
    assert [change.before for change in changes] == list(before.rows())
    groups = Counter(row[:2] for row in published)
    for change in changes:
        assert 0 <= change.change <= 1
        if change.after is None:
            assert change.change == 1 and change.alike == 0
            continue
        assert change.alike == groups[change.after[:2]]
        assert (change.change == 0) == (change.before[:2] == change.after[:2])
        assert stands_for(change.before[0], change.after[0])


def stands_for(own: str | None, published: str | None) -> bool:
    """Whether a published age may stand for an age, by the obvious reading of its text."""
    if published in (own, "*"):
        return True
    if published is None or own is None:
        return published is not None and ("null" in published or "missing" in published)
    low, _, high = published.removesuffix(" or missing").replace(" … ", "-").partition("-")
    if low.isdigit() and high.isdigit():
        return int(low) <= int(own) <= int(high)
    return f'"{own}"' in published


def test_a_permuted_release_hides_the_sensitive_value_among_those_of_its_group():
    before = table()
    release = ta.anonymize(before, k=4, l=2, diversity="frequency", publish="permuted", max_suppressed="10%")
    changes = row_changes(before, release, range(len(before)))
    assert any(change.after for change in changes)
    for change in changes:
        if change.after is None:
            continue
        assert change.after[:2] == change.before[:2]
        told = {text.split(" × ")[1]: int(text.split(" × ")[0]) for text in (change.after[2] or "").split(", ")}
        assert sum(told.values()) == change.alike >= 4
        assert change.change == pytest.approx(1 - told[change.before[2] or ""] / change.alike)


def test_scores_are_the_changes_and_columns_count_where_they_changed():
    before = table()
    release = ta.anonymize(before, k=3, l=2)
    scores = RowTrace.of(before, release).scores()
    changes = row_changes(before, release, range(len(before)))
    assert scores.change.tolist() == [change.change for change in changes]
    for change, touched in zip(changes, scores.changed, strict=True):
        assert change.after is not None
        assert (touched > 0).tolist() == [a != b for a, b in zip(change.before, change.after, strict=True)]


def test_a_release_of_another_table_is_refused():
    with pytest.raises(UsageError, match="not one of this table"):
        row_changes(table(seed=2), ta.anonymize(table(), k=3, l=2, algorithm="optimal"), [0])
    with pytest.raises(UsageError, match="no row 61: the input has 60"):
        row_changes(table(), ta.anonymize(table(), k=3, l=2), [60])


def test_a_preview_of_a_table_of_a_sample_and_of_named_rows():
    before = table(200)
    found = preview(before, k=3, l=2, sample=80, numbers=[7, 150])
    assert found.sampled == 80 and found.records == 200
    assert [change.number for change in found.changes] == [7, 150]
    rows = list(before.rows())
    for change in found.changes:
        assert change.before == rows[change.number]
    assert preview(before, k=3, l=2, sample=999).sampled is None
    with pytest.raises(UsageError, match="no record 201"):
        preview(before, k=3, l=2, sample=80, numbers=[200])
    with pytest.raises(UsageError, match="sample"):
        preview(before, k=3, l=2, sample=0)


def test_a_sample_of_persons_with_several_rows_has_all_of_theirs():
    before = table(60)
    import numpy as np

    persons = ta.Table(before.columns, np.repeat(np.arange(0, 60, 2), 2).astype(np.int32))
    part, of = sampled(persons, 10)
    assert len(part) == 20 and of is not None and len(of) == 20
    assert set(Counter(part.person.tolist()).values()) == {2}


def test_frames_are_previewed_too():
    import pyarrow as pa

    schema = ta.Schema.loads(
        'version = 1\n[input]\nformat = "csv"\n[[class]]\nname = "age"\npath = "age"\nhierarchy = { prefix = [1] }'
    )
    found = preview(pa.table({"age": ["34", "35", "41", "42"]}), schema=schema, k=2, worst=True)
    assert {change.after for change in found.changes} <= {("3*",), ("4*",)}
    with pytest.raises(UsageError, match="schema"):
        preview(pa.table({"age": ["34"]}), k=2)


def test_plain_data_counts_from_one_and_says_that_it_holds_originals():
    before = table()
    plain = preview_of(before, ta.anonymize(before, k=3, l=2), numbers=[3]).as_dict()
    assert plain["contains_original_data"] is True
    assert plain["changes"][0]["record"] == 4
    assert plain["changes"][0]["before"]["sex"] in ("f", "m")
