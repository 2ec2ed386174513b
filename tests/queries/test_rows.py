"""Queries of tables: the truth of an original lies in the bounds of every release of it, and the bounds are sharp."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from tests.reference.answers import row_satisfies
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS
from treeanon.errors import GuaranteeError, UsageError
from treeanon.hierarchy import Hierarchy
from treeanon.queries.grammar import parse
from treeanon.table import Table
from treeanon.table.permuted import permuted

SCHEMA = """
version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [5, 10, 20] }
[[class]]
name = "born"
path = "born"
type = "date"
hierarchy = { dates = ["month", "quarter", "year"] }
[[class]]
name = "zip"
path = "zip"
hierarchy = { prefix = [2, 1] }
[[class]]
name = "sex"
path = "sex"
[[class]]
name = "ill"
path = "ill"
role = "sensitive"
"""
ZIPS = ("1203", "1207", "1210", "2203", "2299")
ILLS = ("flu", "gout", "acne")

rows = st.lists(
    st.fixed_dictionaries(
        {
            "age": st.one_of(st.none(), st.integers(20, 45)),
            "born": st.sampled_from(["2019-01-05", "2019-03-31", "2019-04-01", "2020-12-31"]),
            "zip": st.sampled_from(ZIPS),
            "sex": st.sampled_from(["f", "m"]),
            "ill": st.sampled_from(ILLS),
        }
    ),
    min_size=4,
    max_size=12,
)
QUERIES = (
    "age 25-34",
    "age > 30 and sex = f",
    "not (age <= 27 or zip = 12*)",
    "age >= 22 and age < 41 and not sex = m",
    "age = missing or zip in (1203, 2299)",
    "zip != 1207 and zip != 1203",
    "born > 2019-03 and born <= 2020",
    "born 2019-01-10..2019-Q2 or ill = flu",
    "ill in (flu, gout) and age < 30",
    "ill = acne and (sex = f or age 20-30) and not zip = 9999",
    "sex = '*' and born = 2019",
)


def is_below(name: str, value: str, node: str) -> bool:
    """Whether a value lies below a node of the hierarchies of SCHEMA, as queries name them."""
    if name == "zip":
        return node.endswith("*") and value.startswith(node[:-1])
    if name == "born":
        return value.startswith(node)
    return False


def truth(query: str, records: list[dict[str, Any]]) -> int:
    """How many rows satisfy a query; dates are compared by what the periods of QUERIES mean."""
    for period, text in (
        ("born > 2019-03 ", "born > 2019-03-31 "),
        ("born <= 2020", "born <= 2020-12-31"),
        ("2019-01-10..2019-Q2", "2019-01-10..2019-06-30"),
    ):
        query = query.replace(period, text)
    texts = [{name: None if value is None else str(value) for name, value in row.items()} for row in records]
    return sum(row_satisfies(parse(query), row, is_below) for row in texts)


SEARCHES = [name for name in TABLE_ALGORITHMS if name not in ("onedim-dual", "optimal-freeform", "freeform-optimal")]


@pytest.mark.parametrize("algorithm", SEARCHES)
@settings(max_examples=4)
@given(records=rows, suppressed=st.sampled_from([0, 2]))
def test_the_truth_lies_in_the_bounds(algorithm: str, records: list[dict[str, Any]], suppressed: int) -> None:
    table = ta.table_of(_frame(records), SCHEMA)
    asked: dict[str, Any] = {"k": 2, "l": 1, "algorithm": algorithm, "seed": 1}
    try:
        try:
            release = ta.anonymize(table, **asked, max_suppressed=suppressed)
        except UsageError:
            release = ta.anonymize(table, **asked)
    except (GuaranteeError, UsageError):
        return
    again = ta.table_of(release.to_frame(_frame(records)), SCHEMA, published=True)
    gone = len(records) - len(release.table)
    for query in QUERIES:
        for found in (ta.query(release, query), ta.query(again, query, suppressed=gone)):
            assert found.least <= truth(query, records) <= found.most, query
            assert found.least - 1e-9 <= found.estimate <= found.most + 1e-9, query


def _frame(records: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    return pa.Table.from_pylist(records)


@settings(max_examples=5)
@given(records=rows)
def test_means_bound_no_single_value(records: list[dict[str, Any]]) -> None:
    schema = SCHEMA.replace('path = "age"\n', 'path = "age"\nmicroaggregate = "mean"\n')
    release = ta.anonymize(ta.table_of(_frame(records), schema), k=2, l=1, algorithm="mondrian", seed=1)
    again = ta.table_of(release.to_frame(_frame(records)), schema, published=True)
    for query in QUERIES:
        for found in (ta.query(release, query), ta.query(again, query)):
            assert found.least <= truth(query, records) <= found.most, query


@settings(max_examples=15)
@given(records=rows)
def test_an_original_is_counted_exactly(records: list[dict[str, Any]]) -> None:
    table = ta.table_of(_frame(records), SCHEMA)
    for query in QUERIES:
        found = ta.query(table, query)
        assert (found.least, found.estimate, found.most) == (truth(query, records),) * 3, query


@settings(max_examples=25)
@given(records=rows, parts=st.lists(st.integers(0, 2), min_size=12, max_size=12))
def test_permuted_bounds_are_those_of_all_permutations(records: list[dict[str, Any]], parts: list[int]) -> None:
    records = records[:6]
    table = ta.table_of(_frame(records), SCHEMA)
    group = np.array(parts[: len(records)])
    made = permuted(table, group, seed=1)
    for query in QUERIES:
        found = ta.query(made, query)
        counts = [truth(query, other) for other in _permutations(records, group.tolist())]
        assert (found.least, found.most) == (min(counts), max(counts)), query
        # All permutations are equally likely.
        assert found.estimate == pytest.approx(sum(counts) / len(counts)), query


def _permutations(records: list[dict[str, Any]], group: list[int]) -> list[list[dict[str, Any]]]:
    from itertools import permutations

    found = []
    members = [[i for i, own in enumerate(group) if own == number] for number in sorted(set(group))]
    for orders in product(*(list(permutations(own)) for own in members)):
        other = [dict(row) for row in records]
        for own, order in zip(members, orders, strict=True):
            for here, there in zip(own, order, strict=True):
                other[here]["ill"] = records[there]["ill"]
        found.append(other)
    return found


AGES = Hierarchy.from_paths(
    [
        [str(age), f"{age // 5 * 5}-{age // 5 * 5 + 4}", f"{age // 10 * 10}-{age // 10 * 10 + 9}", "*"]
        for age in range(20, 40)
    ]
)
SEXES = Hierarchy.flat(["f", "m"])


def test_a_worked_example() -> None:
    table = Table.of_texts({"age": (["20-24"] * 3 + ["30-39"] * 4 + ["25"], AGES), "sex": (list("fffmmmmf"), SEXES)})
    # Of the first group all, of the second half of the values, and the row that is told exactly.
    found = ta.query(table, "age 20-34")
    assert (found.least, found.estimate, found.most, found.of) == (4, 6.0, 8, 8)
    assert ta.query(table, "age 20-34 and sex = m").as_dict()["share"] == {"estimate": 0.25, "least": 0.0, "most": 0.5}
    assert [ta.query(table, "age = 30-39").least, ta.query(table, "not age = 30-39").most] == [4, 4]
    # Two conditions on one class are about one value.
    assert ta.query(table, "age > 34 and age < 35").most == 0
    assert ta.query(table, "age > 34 or age <= 34").least == 8
    with_more = ta.query(table, "age 20-34", suppressed=2)
    assert (with_more.least, with_more.estimate, with_more.most, with_more.of) == (4, 7.5, 10, 10)


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.sampled_from(AGES.texts), st.sampled_from([*SEXES.texts, None])), min_size=1, max_size=3),
    st.sampled_from(["age < 23", "age 22-31 and sex = f", "not age > 24 or sex = missing", "age in (21, 30-34, 39)"]),
)
def test_bounds_are_sharp(published: list[tuple[str, str | None]], query: str) -> None:
    """There are originals that reach both, of all that could have been published so."""
    table = Table.of_texts(
        {"age": ([row[0] for row in published], AGES), "sex": ([row[1] for row in published], SEXES)}
    )

    def values(hierarchy: Hierarchy, text: str | None) -> list[str | None]:
        if text is None:
            return [None]
        node = hierarchy.code(text)
        return [hierarchy.texts[leaf] for leaf in hierarchy.leaves(node).tolist()] + ([] if node else [None])

    def below(name: str, value: str, node: str) -> bool:
        code = AGES.find(node) if name == "age" else None
        return code is not None and AGES.covers(code, AGES.code(value))

    least = most = 0
    for age, sex in published:
        found = [
            row_satisfies(parse(query), {"age": a, "sex": s}, below)
            for a, s in product(values(AGES, age), values(SEXES, sex))
        ]
        least, most = least + all(found), most + any(found)
    answer = ta.query(table, query)
    assert (answer.least, answer.most) == (least, most)


@pytest.mark.parametrize(
    ("query", "place", "words"),
    [
        ("sex > f", 1, "only =, != and in"),
        ("age = young", 7, "a number is expected"),
        ("born < spring", 8, "a date"),
        ("age 40-30", 5, "ends before it begins"),
        ("town = x", 1, "unknown class 'town'; choose from age, born, zip, sex, ill"),
        ("sex = f under zip = 1203", 1, "use and"),
        ("age 30", 5, "in or a range"),
    ],
)
def test_errors_name_the_place(query: str, place: int, words: str) -> None:
    table = ta.table_of(_frame([{"age": 1, "born": "2020-01-01", "zip": "1", "sex": "f", "ill": "x"}]), SCHEMA)
    with pytest.raises(UsageError) as problem:
        ta.query(table, query)
    assert str(problem.value).startswith(f"query, character {place}: ") and words in str(problem.value)


def test_unknown_values_of_a_file_of_values() -> None:
    table = Table.of_texts({"sex": (["f"], SEXES)})
    with pytest.raises(UsageError, match="character 7: the hierarchy of sex does not know this value"):
        ta.query(table, "sex = other")
    # A missing value is no other value, but is not it either.
    found = ta.query(Table.of_texts({"sex": (["f", None, "*"], SEXES)}), "sex != f")
    assert (found.least, found.most) == (1, 2)


def test_a_solution_tells_what_is_lacking(tmp_path: Path) -> None:
    records = [{"age": 20 + i // 3, "born": "2019-01-05", "zip": "1203", "sex": "f", "ill": "flu"} for i in range(10)]
    release = ta.anonymize(
        ta.table_of(_frame(records), SCHEMA), k=3, l=1, algorithm="samarati", max_suppressed=1, parameters={}
    )
    release.write_solution(tmp_path / "s.json")
    gone = len(records) - len(release.table)
    assert ta.query(release.table, "age < 99", solution=tmp_path / "s.json").suppressed == gone
    assert ta.query(release, "sex = m").most == gone
    with pytest.raises(UsageError, match="0 or more"):
        ta.query(release.table, "age < 99", suppressed=-1)
