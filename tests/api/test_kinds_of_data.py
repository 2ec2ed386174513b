"""Data of every kind go in, and what is published comes out as the same kind, checked, and reads back as it was."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treeanon as ta
from treeanon.errors import DataError, GuaranteeError, UsageError
from treeanon.io import memory
from treeanon.io.given import Given

TREES = """
version = 1
[input]
format = "ndjson"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [10] }
[[class]]
name = "hospital"
path = "visits[].hospital"
[[class]]
name = "disease"
path = "visits[].diseases[]"
"""
ROWS = """
version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
hierarchy = { prefix = [1] }
[[class]]
name = "ill"
path = "ill"
role = "sensitive"
"""
TABLES = """
version = 1
[input]
format = "tables"
record = "patient"
key = ["visit.patient -> patient.id", "finding.visit -> visit.id"]
[[class]]
name = "age"
path = "age"
hierarchy = { prefix = [1] }
[[class]]
name = "hospital"
path = "visit.hospital"
[[class]]
name = "disease"
path = "visit.finding.disease"
"""
SECRET = "Zebra-Secret"

people = st.lists(
    st.fixed_dictionaries(
        {
            "age": st.integers(20, 49),
            "visits": st.lists(
                st.fixed_dictionaries(
                    {
                        "hospital": st.sampled_from(["North", "South"]),
                        "diseases": st.lists(st.sampled_from(["Flu", "Acne", "Gout"]), unique=True, max_size=2),
                    }
                ),
                max_size=2,
            ),
        }
    ),
    min_size=3,
    max_size=12,
)


def libraries() -> list[Any]:
    """Makes a frame of each library out of an Arrow table."""

    def made(name: str, table: pa.Table) -> Any:
        if name == "pyarrow":
            return table
        library = pytest.importorskip(name)
        if name == "pandas":
            return table.to_pandas()
        return library.from_arrow(table)

    return [pytest.param(name, made, id=name) for name in ("pyarrow", "pandas", "polars", "duckdb")]


def back(frame: Any) -> list[dict[str, Any]]:
    """The rows of a frame of any library."""
    return pa.table(frame).to_pylist()


def tables_of(records: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The same persons in three tables; keys of the visits are no row numbers."""
    out: dict[str, list[dict[str, Any]]] = {"patient": [], "visit": [], "finding": []}
    for number, record in enumerate(records):
        out["patient"].append({"id": number, "age": str(record["age"])})
        for visit in record["visits"]:
            key = 100 + 7 * len(out["visit"])
            out["visit"].append({"id": key, "patient": number, "hospital": visit["hospital"]})
            out["finding"] += [{"visit": key, "disease": disease} for disease in visit["diseases"]]
    return out


@settings(max_examples=30)
@given(people)
def test_records_come_back_as_records(records: list[dict[str, Any]]) -> None:
    published = ta.anonymize(records, schema=TREES, k=2, m=2, n=1)
    assert isinstance(published, list) and len(published) == len(records)
    assert ta.verify(published, schema=TREES, k=2, m=2, n=1).holds
    # What comes back is what a file would hold.
    schema = ta.Schema.loads(TREES)
    forest = memory.forest_of_records(published, schema)
    assert memory.forest_of_records(json.loads(json.dumps(published)), schema) == forest
    assert memory.forest_of_records(memory.records_of_forest(forest), schema) == forest


@given(people)
def test_nested_columns_round_trip(records: list[dict[str, Any]]) -> None:
    schema = ta.Schema.loads(TREES)
    forest = memory.forest_of_records(records, schema)
    frame = memory.nested_of_forest(forest, pa.table({}))
    assert memory.forest_of_nested(frame, schema) == forest


@given(people)
def test_tables_round_trip(records: list[dict[str, Any]]) -> None:
    schema, given_tables = ta.Schema.loads(TABLES), tables_of(records)
    forest = Given.of(given_tables, schema).forest()
    made = memory.tables_of_forest(forest)
    again = memory.forest_of_tables(memory.frames_like(made, given_tables), schema)
    assert again == forest
    ids = [row["id"] for row in memory.frames_like(made, given_tables)["patient"]]
    assert sorted(ids) == list(range(1, len(records) + 1))


PEOPLE = [
    {
        "age": 30 + i % 6,
        "visits": [{"hospital": "NorthSouth"[5 * (i % 2) :][:5], "diseases": ["Flu", "Gout"][: 1 + i % 2]}],
    }
    for i in range(24)
]


@pytest.mark.parametrize(("name", "made"), libraries())
def test_nested_frames(name: str, made: Any) -> None:
    frame = made(name, pa.Table.from_pylist(PEOPLE))
    published = ta.anonymize(frame, schema=TREES, k=4, m=2, n=1)
    assert type(published) is type(frame) and len(back(published)) == len(PEOPLE)
    assert ta.verify(published, schema=TREES, k=4).holds
    assert not ta.verify(frame, schema=TREES, k=24).holds
    assert ta.risk(frame, schema=TREES, k=4, m=2, n=1).persons == len(PEOPLE)
    assert ta.preview(frame, schema=TREES, k=4, records=2).records == len(PEOPLE)


@pytest.mark.parametrize(("name", "made"), libraries())
def test_dicts_of_frames(name: str, made: Any) -> None:
    frames = {table: made(name, pa.Table.from_pylist(rows)) for table, rows in tables_of(PEOPLE).items()}
    published = ta.anonymize(frames, schema=TABLES, k=4, m=2, n=1)
    assert set(published) >= set(frames)
    assert all(type(published[table]) is type(frames[table]) for table in frames)
    assert sorted(row["id"] for row in back(published["patient"])) == list(range(1, 25))
    assert ta.verify(published, schema=TABLES, k=4).holds


@pytest.mark.parametrize(("name", "made"), libraries())
def test_frames_of_rows(name: str, made: Any) -> None:
    frame = made(name, pa.table({"age": ["31", "32", "41", "42"], "ill": ["Flu", "Gout"] * 2}))
    published = ta.anonymize(frame, schema=ROWS, k=2, l=2)
    assert type(published) is type(frame)
    assert sorted(row["age"] for row in back(published)) == ["3*", "3*", "4*", "4*"]
    assert ta.verify(published, schema=ROWS, k=2, l=2).holds
    apart = ta.anonymize(frame, schema=ROWS, l=2, publish="permuted")
    assert [type(one) for one in apart] == [type(frame)] * 2


def test_relations_of_one_connection_stay_in_it() -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.sql("CREATE TABLE people AS SELECT * FROM (VALUES ('31', 'Flu'), ('32', 'Gout')) AS p(age, ill)")
    connection.sql("CREATE TABLE treeanon_release_in_arrow AS SELECT 'trap' AS age")
    published = ta.anonymize(connection.table("people"), schema=ROWS, k=2, l=2)
    # A table that has the name by which DuckDB looks for the release is not taken for it.
    assert sorted(row["age"] for row in back(published)) == ["3*", "3*"]
    connection.sql("DROP TABLE treeanon_release_in_arrow")
    published = ta.anonymize(connection.table("people"), schema=ROWS, k=2, l=2)
    assert published.fetchall() and connection.sql("SELECT count(*) FROM published").fetchall() == [(2,)]
    assert connection.sql("SELECT table_name FROM duckdb_tables()").fetchall() == [("people",)]
    assert connection.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []


def test_rows_as_dicts() -> None:
    rows = [{"age": 31, "ill": "Flu"}, {"age": 32, "ill": "Gout", "note": [SECRET]}, {"age": 41}, {"ill": None}]
    found = Given.of(rows, ROWS).table()
    assert list(found.rows()) == [("31", "Flu"), ("32", "Gout"), ("41", None), (None, None)]
    published = ta.anonymize(rows[:2], schema=ROWS, k=2, l=2)
    assert [row["age"] for row in published] == ["3*", "3*"] and SECRET not in str(published)
    other = [{"age": date(2020, 1, 31), "ill": Decimal("1.50")}]
    assert list(Given.of(other, ROWS).table().rows()) == [("2020-01-31", "1.5")]


def test_a_search_of_tables_takes_records_that_are_rows() -> None:
    schema = ROWS.replace('"csv"', '"ndjson"')
    rows = [{"age": "31", "ill": "Flu"}, {"age": "32", "ill": "Gout"}]
    assert [row["age"] for row in ta.anonymize(rows, schema=schema, k=2, l=2, algorithm="mondrian")] != []
    frame = pa.Table.from_pylist(rows)
    trees = ta.anonymize(frame, schema=schema, k=2, l=1, algorithm="gcs", parameters={"g": 3})
    assert trees.num_rows == 2


def test_paths_give_releases(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(ROWS)
    (tmp_path / "in.csv").write_text("age,ill\n31,Flu\n32,Gout\n")
    (tmp_path / "in.ndjson").write_text("\n".join(map(json.dumps, PEOPLE)))
    rows = ta.anonymize(tmp_path / "in.csv", schema=tmp_path / "s.toml", k=2, l=2)
    rows.write(tmp_path / "out.csv")
    assert ta.verify(str(tmp_path / "out.csv"), schema=str(tmp_path / "s.toml"), k=2, l=2).holds
    trees = ta.anonymize(tmp_path / "in.ndjson", schema=TREES, k=4)
    assert isinstance(trees, ta.Release) and isinstance(rows, ta.TableRelease)
    trees.write_solution(tmp_path / "x.solution.json")
    again = ta.apply(tmp_path / "x.solution.json", PEOPLE, schema=TREES)
    assert ta.verify(again, schema=TREES, k=4).holds
    assert ta.read_table(tmp_path / "in.csv", ROWS) == ta.read_table(tmp_path / "in.csv", tmp_path / "s.toml")


@pytest.mark.parametrize("strange", [3, None, [1, 2], {"a": 1}, {}, b"x", {1, 2}, ta.Hierarchy])
def test_other_data_are_refused(strange: Any) -> None:
    for function in (ta.anonymize, ta.verify, ta.risk, ta.preview):
        with pytest.raises(UsageError, match="data must be a Forest, a Table, the path of an input, a list of dicts"):
            function(strange, schema=ROWS, k=2)
    with pytest.raises(UsageError, match="data must be a Forest"):
        ta.apply("nowhere.json", strange, schema=ROWS)


def test_other_schemas_are_refused() -> None:
    with pytest.raises(UsageError, match="need a schema"):
        ta.anonymize(PEOPLE, k=2)
    with pytest.raises(UsageError, match="schema must be a Schema, the path of one, or its text in TOML, not int"):
        ta.anonymize(PEOPLE, schema=3, k=2)
    with pytest.raises(UsageError, match="the schema must say format"):
        ta.anonymize({"patient": pa.table({"age": [1]})}, schema=TREES, k=2)


def test_errors_of_records_name_their_number_and_no_value() -> None:
    for bad in (object(), b"Zebra", {1: SECRET}, float("inf")):
        records = [{"age": 30}, {"age": bad, "visits": []}]
        with pytest.raises(DataError) as problem:
            found = ta.anonymize(records, schema=TREES, k=1, m=1, n=0)
            # JSON has no infinity: it is as if nothing were there.
            raise DataError(str(len(found)))
        assert SECRET not in str(problem.value) and "Zebra" not in str(problem.value)
    with pytest.raises(DataError, match="record 2") as problem:
        ta.anonymize([{}, {"age": object()}], schema=TREES, k=1)
    assert problem.value.__cause__ is None


def test_keywords_are_checked() -> None:
    forest = memory.forest_of_records(PEOPLE, ta.Schema.loads(TREES))
    with pytest.raises(UsageError, match="unknown parameter 'kk'; choose from k, m, n"):
        ta.anonymize(forest, kk=5)
    with pytest.raises(UsageError, match="t: only for rows, and these data are trees"):
        ta.anonymize(forest, k=5, t=0.2)
    with pytest.raises(UsageError, match="unknown parameter 'banana'"):
        ta.risk(forest, banana=3)
    with pytest.raises(UsageError, match="unknown parameter 'kk'"):
        ta.verify(forest, kk=3)
    with pytest.raises(UsageError, match="parameters must be a mapping"):
        ta.anonymize(forest, k=2, parameters=3)
    with pytest.raises(UsageError, match="give it as a keyword"):
        ta.anonymize(forest, k=2, parameters={"k": 3})
    with pytest.warns(DeprecationWarning, match="parameters="):
        old = ta.anonymize(forest, k=2, m=1, n=0, algorithm="gcs", g=3, seed=1)
    new = ta.anonymize(forest, k=2, m=1, n=0, algorithm="gcs", parameters={"g": 3}, seed=1)
    assert old.solution == new.solution


def test_a_release_that_does_not_read_back_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    forest = memory.forest_of_records(PEOPLE, ta.Schema.loads(TREES))
    release = ta.anonymize(forest, k=4)
    wrong = [{"age": "30-39"}] * 24
    monkeypatch.setattr("treeanon.io.memory.records_of_forest", lambda forest, seed: wrong)
    monkeypatch.setattr("treeanon.io.memory.nested_of_forest", lambda forest, like, seed: pa.Table.from_pylist(wrong))
    with pytest.raises(GuaranteeError, match="does not give the published trees"):
        release.to_records()
    with pytest.raises(GuaranteeError, match="does not give the published trees"):
        release.to_frame(pa.table({}))


def test_help_names_every_parameter() -> None:
    import inspect

    for function in (ta.anonymize, ta.verify, ta.risk, ta.preview, ta.apply, ta.write_page):
        text = inspect.getdoc(function) or ""
        every = inspect.signature(function).parameters.values()
        shown = [one.name for one in every if one.kind is not inspect.Parameter.VAR_KEYWORD]
        if function is ta.preview:
            assert "treeanon.anonymize" in text
            shown = shown[: shown.index("sample") + 1]
        missing = [name for name in shown if f"{name}:" not in text and f"{name}," not in text]
        assert not missing, f"{function.__name__}: {missing}"


TYPED = """
version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { prefix = [1] }
[[class]]
name = "ill"
path = "ill"
role = "sensitive"
[[class]]
name = "smokes"
path = "smokes"
role = "keep"
[[class]]
name = "seen"
path = "seen"
role = "keep"
[[class]]
name = "paid"
path = "paid"
role = "keep"
"""
TYPED_ROWS = {
    "age": [31, 32, 41, 42],
    "ill": ["Flu", "Gout", "Flu", "Gout"],
    "smokes": [True, False, None, True],
    "seen": [datetime(2020, 1, day, 12, 30) for day in (1, 2, 3, 4)],
    "paid": [1.5, 2.0, 2.5, None],
}


@pytest.mark.parametrize(("name", "made"), libraries())
def test_what_is_kept_keeps_its_type(name: str, made: Any) -> None:
    frame = made(name, pa.table(TYPED_ROWS))
    for published in (
        ta.anonymize(frame, schema=TYPED, k=2, l=2),
        ta.anonymize(frame, schema=TYPED, k=2, l=2, publish="permuted")[0],
    ):
        assert type(published) is type(frame)
        before, after = pa.table(frame), pa.table(published)
        for column in ("smokes", "seen", "paid"):
            assert after.schema.field(column).type == before.schema.field(column).type, column
            assert sorted(map(str, after[column].to_pylist())) == sorted(map(str, before[column].to_pylist()))


def test_rows_as_dicts_keep_their_types() -> None:
    rows = pa.table(TYPED_ROWS).to_pylist()
    published = ta.anonymize(rows, schema=TYPED, k=2, l=2)
    assert {row["smokes"] for row in published} == {True, False, None}
    assert {row["seen"] for row in published} == {row["seen"] for row in rows}
    # A column of several kinds of values has none to keep.
    rows[0]["paid"] = "free"
    assert "free" in {row["paid"] for row in ta.anonymize(rows, schema=TYPED, k=2, l=2)}


KEPT_TREES = TREES + '[[class]]\nname = "paid"\npath = "visits[].paid"\nrole = "keep"\n'


@pytest.mark.parametrize(("name", "made"), libraries())
def test_nested_columns_keep_their_types(name: str, made: Any) -> None:
    people = [
        {"age": 31, "visits": [{"hospital": "North", "diseases": ["Flu"], "paid": number % 2 == 0}]}
        for number in range(8)
    ]
    frame = made(name, pa.Table.from_pylist(people))
    published = ta.anonymize(frame, schema=KEPT_TREES, k=2)
    assert {visit["paid"] for row in back(published) for visit in row["visits"]} == {True, False}
    assert ta.verify(published, schema=KEPT_TREES, k=2).holds


@pytest.mark.parametrize(("name", "made"), libraries())
def test_columns_of_tables_keep_their_types(name: str, made: Any) -> None:
    schema = TABLES + '[[class]]\nname = "day"\npath = "visit.day"\nrole = "keep"\n'
    patients = pa.table({"id": [1, 2, 3, 4], "age": ["31", "32", "33", "34"]})
    days = [date(2020, 1, day) for day in (1, 2, 3, 4)]
    visits = pa.table({"id": [5, 6, 7, 8], "patient": [1, 2, 3, 4], "hospital": ["North"] * 4, "day": days})
    findings = pa.table({"visit": [5, 6, 7, 8], "disease": ["Flu"] * 4})
    tables = {"patient": patients, "visit": visits, "finding": findings}
    given_frames = {key: made(name, table) for key, table in tables.items()}
    published = ta.anonymize(given_frames, schema=schema, k=2)
    before, after = pa.table(given_frames["visit"]), pa.table(published["visit"])
    assert after.schema.field("day").type == before.schema.field("day").type
    assert sorted(map(str, after["day"].to_pylist())) == sorted(map(str, before["day"].to_pylist()))
    assert (
        ta.verify(published, schema=schema, k=2).holds and ta.risk(published, schema=schema, k=2, m=1).at(1).share == 0
    )
    release = ta.anonymize(Given.of(given_frames, schema).forest(), k=2)
    again = ta.apply(release.solution, given_frames, schema=schema)
    assert type(again["visit"]) is type(given_frames["visit"])


@pytest.mark.parametrize(("name", "made"), libraries())
def test_published_frames_are_read_again(name: str, made: Any, tmp_path: Path) -> None:
    schema = TYPED.replace("{ prefix = [1] }", "{ intervals = [10], min = 0, max = 99 }")
    frame = made(name, pa.table({**TYPED_ROWS, "age": [31, 38, 41, 46]}))
    for algorithm in ("mondrian", "freeform", "samarati"):
        published = ta.anonymize(frame, schema=schema, k=2, l=1, algorithm=algorithm)
        table = ta.table_of(published, schema, published=True)
        assert sorted(row[0] or "" for row in table.rows()) == sorted(row["age"] for row in back(published))
        assert ta.verify(table, k=2).holds and ta.verify(published, schema=schema, k=2).holds
        assert ta.risk(published, schema=schema, k=2).at(1).share == 0
    release = ta.anonymize(ta.table_of(frame, schema), k=2, l=1, algorithm="samarati")
    release.write_solution(tmp_path / "s.json")
    applied = ta.apply(tmp_path / "s.json", frame, schema=schema)
    assert type(applied) is type(frame) and ta.verify(applied, schema=schema, k=2).holds
    pair = ta.anonymize(frame, schema=schema, l=2, publish="permuted")
    assert ta.verify(ta.read_permuted(pair, schema), l=2).holds
    with pytest.raises(UsageError, match="a pair"):
        ta.read_permuted((frame,), schema)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="the records have the sensitive column"):
        ta.read_permuted((frame, frame), schema)
