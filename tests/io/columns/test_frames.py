"""Frames of other libraries in, the same kind out."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import treeanon as ta
from treeanon.errors import DataError, HierarchyError, SchemaError, UsageError
from treeanon.io.columns.frames import table_of, to_frame_like
from treeanon.io.columns.write_table import to_arrow

SECRET = "s3cret-value"
DATA: dict[str, list[Any]] = {
    "age": [34, 35, None, 34],
    "pay": [1.5, None, 2.0, 1e300],
    "town": ["Ulm", "", None, "Größe\n\"'"],
    "note": [SECRET, "x", "y", "z"],
}
ROWS = [("34", "1.5", "Ulm"), ("35", None, None), (None, "2", None), ("34", "1e300", "Größe\n\"'")]


def schema_of(*names: str, form: str = "csv", extra: str = "") -> ta.Schema:
    kinds = {"age": "integer", "pay": "number"}
    classes = "".join(f'[[class]]\nname = "{n}"\npath = "{n}"\ntype = "{kinds.get(n, "text")}"\n{extra}' for n in names)
    return ta.Schema.loads(f'version = 1\n[input]\nformat = "{form}"\n{classes}')


SCHEMA = schema_of("age", "pay", "town")


def frames() -> list[Any]:
    def made(kind: str) -> Any:
        if kind == "arrow":
            return pa.table(DATA)
        if kind == "chunks":
            return pa.concat_tables([pa.table(DATA).slice(0, 1), pa.table(DATA).slice(1)])
        if kind == "batch":
            return pa.RecordBatch.from_pydict(DATA)
        if kind == "reader":
            return pa.table(DATA).to_reader()
        if kind == "codes":
            return pa.table({**DATA, "town": pa.array(DATA["town"]).dictionary_encode()})
        if kind == "pandas":
            return pytest.importorskip("pandas").DataFrame(DATA)
        if kind == "polars":
            return pytest.importorskip("polars").DataFrame(DATA)
        duckdb = pytest.importorskip("duckdb")
        return duckdb.from_arrow(pa.table(DATA))

    return [
        pytest.param(made, kind, id=kind)
        for kind in ("arrow", "chunks", "batch", "reader", "codes", "pandas", "polars", "duckdb")
    ]


@pytest.mark.parametrize(("made", "kind"), frames())
def test_every_kind_of_frame(made: Any, kind: str) -> None:
    frame = made(kind)
    table = table_of(frame, SCHEMA)
    assert list(table.rows()) == ROWS
    assert table.report is not None and table.report.dropped.paths() == {"note": 4}
    if kind == "reader":
        return
    back = to_frame_like(table, frame)
    wanted = type(frame) if kind in ("pandas", "polars", "duckdb") else pa.Table
    assert type(back) is wanted
    assert sorted(map(str, table_of(back, SCHEMA).rows())) == sorted(map(str, ROWS))
    as_it_is = to_frame_like(table, frame, shuffle=False)
    assert list(table_of(as_it_is, SCHEMA).rows()) == ROWS


def test_frames_are_shuffled() -> None:
    frame = pa.table({"age": list(range(200))})
    table = table_of(frame, schema_of("age"))
    orders = [to_frame_like(table, frame)["age"].to_pylist() for _ in range(2)]
    assert orders[0] != orders[1] and sorted(orders[0]) == list(range(200)) != orders[0]
    assert to_arrow(table)["age"].to_pylist() == list(range(200))


def test_types_of_arrow() -> None:
    found = to_arrow(table_of(pa.table(DATA), SCHEMA)).schema
    assert [found.field(name).type for name in ("age", "pay", "town")] == [pa.int64(), pa.float64(), pa.string()]
    generalized = schema_of("age", extra="hierarchy = { intervals = [10] }\n")
    assert to_arrow(table_of(pa.table({"age": ["30-39", "41"]}), generalized))["age"].to_pylist() == ["30-39", "41"]


@pytest.mark.parametrize("form", ["csv", "parquet", "ndjson", "tables"])
def test_any_schema_whose_classes_are_columns(form: str) -> None:
    text = f'version = 1\n[input]\nformat = "{form}"\n' + ('record = "p"\n' if form == "tables" else "")
    schema = ta.Schema.loads(text + '[[class]]\nname = "a"\npath = "age"\n')
    assert table_of(pa.table(DATA), schema).column("a").texts() == ["34", "35", None, "34"]


@pytest.mark.parametrize("path", ["a.b", "a[]", "a[].b"])
def test_paths_that_go_deeper(path: str) -> None:
    schema = ta.Schema.loads(f'version = 1\n[input]\nformat = "ndjson"\n[[class]]\nname = "c"\npath = "{path}"\n')
    with pytest.raises(UsageError, match="other paths: c"):
        table_of(pa.table(DATA), schema)


def test_hostile_frames() -> None:
    def said(values: Any, schema: ta.Schema = SCHEMA) -> str:
        data = {"age": [1, 2], "pay": [1.0, 2.0], "town": ["a", "b"]} | values
        with pytest.raises((DataError, SchemaError, HierarchyError)) as problem:
            table_of(pa.table(data), schema)
        assert SECRET not in str(problem.value) and problem.value.__cause__ is None
        return str(problem.value)

    bad = pa.array([b"ok", SECRET.encode() + b"\xff"], pa.binary())
    assert said({"town": bad}) == "the frame, row 2, town: is not UTF-8"
    assert (
        said({"town": pa.Array.from_buffers(pa.string(), 2, bad.buffers())}) == "the frame, row 2, town: is not UTF-8"
    )
    assert said({"town": [SECRET + "\0", "x"]}) == "the frame, row 1, town: holds a NUL character"
    assert "row 2, pay: is not a number (NaN)" in said({"pay": [1.0, float("nan")]})
    assert "town: values of the kind list" in said({"town": [[SECRET], []]})
    assert "town: values of the kind duration" in said({"town": pa.array([1, 2], pa.duration("s"))})
    assert "has no column 'lost'" in said({}, schema_of("lost"))
    assert "does not know" in said({"age": [SECRET, "2"]}, schema_of("age", extra="hierarchy = { intervals = [5] }\n"))
    with pytest.raises(DataError, match="has columns without a name or with the same name"):
        table_of(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["age", "age"]), schema_of("age"))
    with pytest.raises(DataError, match="holds no row"):
        table_of(pa.table({"age": pa.array([], pa.int64())}), schema_of("age"))
    for strange in ([1, 2], {"age": [1]}, "people.csv", None):
        with pytest.raises(UsageError, match="no Arrow C stream"):
            table_of(strange, SCHEMA)


def test_hostile_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(DataError, match="does a column mix types") as problem:
        table_of(pandas.DataFrame({"age": [1, SECRET, object()]}), schema_of("age"))
    assert SECRET not in str(problem.value) and problem.value.__cause__ is None
    frame = pandas.DataFrame({"age": [1.0, None], "town": pandas.Categorical(["a", None])}, index=["p", "q"])
    assert list(table_of(frame, schema_of("age", "town")).rows()) == [("1", "a"), (None, None)]
    empty = frame.iloc[:0]
    with pytest.raises(DataError, match="holds no row"):
        table_of(empty, schema_of("age"))


def test_types_of_polars() -> None:
    polars = pytest.importorskip("polars")
    columns = {
        "a": polars.Series(["x", None], dtype=polars.Categorical),
        "b": polars.Series(["x", None], dtype=polars.Enum(["y", "x"])),
        "c": polars.Series([date(2020, 1, 31), None]),
        "d": polars.Series([Decimal("1.50"), None]),
        "e": polars.Series([7, None], dtype=polars.Int8),
        "f": polars.Series([0.1, None], dtype=polars.Float32),
        "g": polars.Series([True, None]),
        "h": polars.Series([b"x", None]),
    }
    wanted = ("x", "x", "2020-01-31", "1.5", "7", "0.1", "true", "x")
    frame = polars.DataFrame(columns)
    assert list(table_of(frame, schema_of(*columns)).rows()) == [wanted, (None,) * 8]
    twice = polars.concat([frame, frame], rechunk=False)
    assert list(table_of(twice, schema_of(*columns)).rows()) == [wanted, (None,) * 8] * 2


def test_releases_as_frames_of_polars() -> None:
    polars = pytest.importorskip("polars")
    schema = schema_of("age", extra="hierarchy = { intervals = [10] }\n")
    frame = polars.DataFrame({"age": [31, 32, 41, 42, 43], "note": ["x"] * 5})
    made = ta.anonymize(frame, schema=schema, k=2)
    assert isinstance(made, polars.DataFrame) and made.schema == {"age": polars.String}
    assert sorted(made["age"].to_list()) == ["30-39"] * 2 + ["40-49"] * 3


def test_hostile_polars() -> None:
    polars = pytest.importorskip("polars")
    for values, words in (
        (polars.Series([SECRET.encode(), b"\xff"]), "row 2, town: is not UTF-8"),
        (polars.Series([SECRET, "\0"]), "row 2, town: holds a NUL character"),
        (polars.Series([[SECRET], []]), "town: values of the kind"),
        (polars.Series([{"a": SECRET}, None]), "town: values of the kind"),
        (polars.Series([], dtype=polars.String), "holds no row"),
    ):
        with pytest.raises(DataError, match=words) as problem:
            table_of(polars.DataFrame({"town": values}), schema_of("town"))
        assert SECRET not in str(problem.value) and problem.value.__cause__ is None
    with pytest.raises(UsageError, match="no Arrow C stream"):
        table_of(polars.DataFrame({"age": [1]}).lazy(), schema_of("age"))


def test_other_types_of_arrow() -> None:
    columns = {
        "a": pa.array([Decimal("1.50"), None]),
        "b": pa.array([2**64 - 1, 1], pa.uint64()),
        "c": pa.array(["x", None], pa.string_view()),
        "d": pa.array([1, None], pa.float16()),
        "e": pa.nulls(2),
        "f": pa.array([0, None], pa.time32("s")),
        "g": pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([7, None])),
    }
    wanted = [("1.5", str(2**64 - 1), "x", "1", None, "00:00:00", "7"), (None, "1", *[None] * 5)]
    assert list(table_of(pa.table(columns), schema_of(*columns)).rows()) == wanted


def test_nothing_else_is_needed() -> None:
    """Libraries that are not there are not missed (pyarrow itself takes a look at pandas where it is)."""
    code = (
        "import sys\n"
        "class Lost:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('pandas', 'polars', 'duckdb'):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Lost())\n"
        "import pyarrow as pa, treeanon as ta\n"
        "from treeanon.io.columns.frames import table_of, to_frame_like\n"
        'text = \'version = 1\\n[input]\\nformat = "csv"\\n[[class]]\\nname = "a"\\npath = "a"\'\n'
        "frame = pa.table({'a': [1]})\n"
        "print(to_frame_like(table_of(frame, ta.Schema.loads(text)), frame).to_pylist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[{'a': '1'}]"
