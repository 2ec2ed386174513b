"""Spellings of one number are one sensitive value, in searches and in checks."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from treeanon.errors import GuaranteeError
from treeanon.io.columns.frames import table_of
from treeanon.io.columns.read_table import read_table
from treeanon.privacy.models import DistinctDiversity, KAnonymity
from treeanon.verifier.table import check

SCHEMA = """version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
[[class]]
name = "pay"
path = "pay"
type = "number"
role = "sensitive"
"""
ONE = ("1", "01", "1.0", "1e0", "+1", "10e-1")
TEXTS = (*ONE, "2", "2.50", "2.5", "-0", "0", "n/a", "")


def table(pays: list[str], ages: list[str] | None = None) -> ta.Table:
    frame = pa.table({"age": ages or ["34"] * len(pays), "pay": pays})
    return table_of(frame, ta.Schema.loads(SCHEMA))


def number(text: str) -> object:
    """What a text counts as, in plain Python."""
    try:
        return Fraction(text)
    except ValueError:
        return text or None


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=8))
def test_as_many_values_as_numbers(pays: list[str]) -> None:
    made = table(pays)
    different = len(set(map(number, pays)))
    assert all(one.holds for one in check(made, [DistinctDiversity(different)]))
    assert not all(one.holds for one in check(made, [DistinctDiversity(different + 1)]))
    texts = made.column("pay").texts()
    assert list(map(number, pays)) == [None if text is None else number(text) for text in texts]
    assert {text for text in texts if text is not None} <= set(pays)


def test_a_release_is_diverse_in_numbers(tmp_path: Path) -> None:
    made = table([*ONE, *ONE, "2", "3"], ["34"] * 6 + ["35"] * 8)
    for name in ("local", "mondrian", "onedim-l", "datafly"):
        form = "frequency" if name == "onedim-l" else "distinct"
        if form == "frequency":
            with pytest.raises(GuaranteeError):
                ta.anonymize(made, l=2, diversity=form, algorithm=name)
            continue
        release = ta.anonymize(made, k=2, l=2, algorithm=name)
        groups: dict[str | None, set[object]] = {}
        for age, pay in release.table.rows():
            groups.setdefault(age, set()).add(number(pay or ""))
        assert min(map(len, groups.values())) >= 2
        release.write(tmp_path / f"{name}.csv")
        again = read_table(tmp_path / f"{name}.csv", ta.Schema.loads(SCHEMA))
        assert all(one.holds for one in check(again, [KAnonymity(2), DistinctDiversity(2)]))
    with pytest.raises(GuaranteeError):
        ta.anonymize(table(list(ONE)), k=2, l=2)
    with pytest.raises(GuaranteeError):
        ta.anonymize(table(list(ONE)), l=2, publish="permuted")


def test_a_file_of_another_hand_is_counted_by_number(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("age,pay\n34,1\n34,1.0\n34,01\n")
    made = read_table(tmp_path / "out.csv", ta.Schema.loads(SCHEMA), published=True)
    assert not ta.verify(made, k=2, l=2).holds
    as_text = ta.Schema.loads(SCHEMA.replace('type = "number"\n', ""))
    assert ta.verify(read_table(tmp_path / "out.csv", as_text), k=2, l=3).holds


def test_documents_made_one_row_a_person_too() -> None:
    schema = ta.Schema.loads(SCHEMA.replace('"csv"', '"ndjson"'))
    trees = [[["age", "34", []], ["pay", text, []]] for text in ONE]
    assert set(ta.Forest.from_records(schema, trees).flatten().column("pay").texts()) == {"1"}
