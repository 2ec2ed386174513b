"""One CSV or Parquet file of rows: read, anonymized, written as the same kind, read again."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import itertools
import json
import tempfile
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.profiles import few
from treeanon.errors import DataError, FileError, SchemaError, TreeanonError, UsageError
from treeanon.io.columns.csv_dialect import header_delimiter
from treeanon.io.columns.read_table import read_table
from treeanon.io.columns.write_table import write_table
from treeanon.schema.dump import dump_schema

FOLDER = Path(tempfile.mkdtemp(prefix="rows-"))
COUNTER = itertools.count()
SECRET = "s3cret-value"
ENDINGS = [".csv", ".tsv", ".csv.gz", ".csv.zst", ".parquet"]


def fresh(ending: str) -> Path:
    return FOLDER / f"{next(COUNTER)}{ending}"


def schema_of(*names: str, form: str = "csv", extra: str = "") -> ta.Schema:
    # Texts of JSON are texts of TOML too.
    one = "[[class]]\nname = {}\npath = {}\n{}"
    classes = "".join(one.format(json.dumps(n), json.dumps(f"'{n}'"), extra) for n in names)
    return ta.Schema.loads(f'version = 1\n[input]\nformat = "{form}"\n{classes}')


def a_file(text: str | bytes, ending: str = ".csv") -> Path:
    path = fresh(ending)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def rows_of(path: Path, delimiter: str = ",") -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a file, by the standard library."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    if path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    found = list(csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter, strict=True))
    return found[0], found[1:]


def trees(forest: ta.Forest) -> list[dict[str, str]]:
    return [{name: value for name, value, _ in record} for record in forest.records()]


# --- delimiters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_the_header(delimiter: str) -> None:
    names = ["a", "x,y;z|w\tv,,;;||", 'q"r', "b"]
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL, lineterminator="\r\n")
    writer.writerow(names)
    writer.writerow(["1,2,3,4,5", "2", "3", ""])
    path = a_file("\ufeff" + buffer.getvalue())
    forest = ta.read(path, schema_of("a", "b"))
    assert trees(forest) == [{"a": "1,2,3,4,5"}]
    ta.write(forest, out := fresh(".csv"))
    assert rows_of(out, delimiter) == (["a", "b"], [["1,2,3,4,5", ""]])


def test_header_delimiters() -> None:
    assert [header_delimiter(text) for text in (b"", b"a", b"a b", b"\n\na;b\n1,2,3")] == [",", ",", ",", ";"]
    assert header_delimiter(b'5" disk;a;"b,c,d"\n') == ";"
    assert header_delimiter(b'"a\n;;;""\n",b') == ","
    assert header_delimiter(b"a;b,c") == ","
    assert header_delimiter(b'"never closed;;;') == ","


def test_a_tsv_has_tabs_whatever_its_header_has() -> None:
    path = a_file("a,b,c\td\n1\t2\n", ".tsv")
    assert trees(ta.read(path, schema_of("a,b,c", "d"))) == [{"a,b,c": "1", "d": "2"}]


def test_folders_of_tables_detect_it_too(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("a;b\n1;2\n")
    schema = ta.Schema.loads(
        'version = 1\n[input]\nformat = "tables"\nrecord = "p"\n[[class]]\nname = "b"\npath = "b"\n'
    )
    assert trees(ta.read(tmp_path, schema)) == [{"b": "2"}]


# --- reading ----------------------------------------------------------------------------------------------------------


def test_parquet_of_many_types() -> None:
    columns = {
        "i": pa.array([2**63 - 1, None], pa.int64()),
        "u": pa.array([2**64 - 1, 0], pa.uint64()),
        "f": [0.1, -0.0],
        "d": [Decimal("1.50"), None],
        "t": [dt.date(2020, 2, 29), None],
        "b": [True, False],
        "s": pa.array(["ü", ""], pa.large_string()),
        "c": pa.array(["x", None]).dictionary_encode(),
        "n": pa.nulls(2),
    }
    pq.write_table(pa.table(columns), path := fresh(".parquet"))
    wanted = [
        {"i": str(2**63 - 1), "u": str(2**64 - 1), "f": "0.1", "d": "1.5", "t": "2020-02-29", "b": "true",
         "s": "ü", "c": "x"},
        {"u": "0", "f": "0", "b": "false"},
    ]  # fmt: skip
    for schema in (schema_of(*columns, form="parquet"), schema_of(*columns)):
        assert trees(ta.read(path, schema)) == wanted
        table = read_table(path, schema)
        assert [{n: v for n, v in zip(columns, row, strict=True) if v is not None} for row in table.rows()] == wanted
    packed = fresh(".parquet.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert trees(ta.read(packed, schema_of(*columns))) == wanted


@pytest.mark.parametrize(
    ("data", "ending", "said"),
    [
        (b"", ".csv", "is empty; a header is expected"),
        (b"a,b\n", ".csv", "holds no row"),
        (b"a,b\n1\n", ".csv", "line 2: 2 values are expected"),
        (f'a,b\n1,2\n"{SECRET}"x,2\n'.encode(), ".csv", "line 3: something follows"),
        (f"a,b\n{SECRET},\xff\n".encode("latin-1"), ".csv", "line 2: is not UTF-8"),
        (f"a,b\n{SECRET},\0\n".encode(), ".csv", "line 2: holds a NUL"),
        (f"{SECRET},1\n2,3\n".encode(), ".csv", "does its file begin with their names"),
        (b"a,c\n1,2\n", ".csv", "has no column 'b'; it has: a, c"),
        (b"a,a\n1,2\n", ".csv", "have the same name in the header"),
        (SECRET.encode(), ".parquet", "not a Parquet file"),
        (SECRET.encode(), ".parquet.gz", "the compressed data is broken"),
        ("a,b\n1,2\n".encode("utf-16"), ".csv", "is UTF-16"),
    ],
)
def test_hostile_files(data: bytes, ending: str, said: str) -> None:
    path = a_file(data, ending)
    for reading in (ta.read, read_table):
        with pytest.raises(TreeanonError) as problem:
            reading(path, schema_of("a", "b"))
        assert said in str(problem.value) and SECRET not in str(problem.value)
        assert problem.value.__cause__ is None


def test_inputs_that_are_not_there(tmp_path: Path) -> None:
    schema = schema_of("a")
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(UsageError, match="a pattern cannot be"):
        ta.read(tmp_path / "*.csv", schema)
    with pytest.raises(FileError, match="there is no such file"):
        ta.read(tmp_path / "none.csv", schema)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_standard_input(ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fresh(ending)
    if ending == ".csv":
        path.write_text("a;b\n1;2\n")
    else:
        pq.write_table(pa.table({"a": ["1"], "b": ["2"]}), path)

    class Stdin:
        buffer = io.BytesIO(path.read_bytes())

    monkeypatch.setattr("sys.stdin", Stdin)
    assert trees(ta.read("-", schema_of("a", "b", form=ending[1:]))) == [{"a": "1", "b": "2"}]


def test_a_column_that_the_schema_withholds_need_not_be_there() -> None:
    schema = ta.Schema.loads(
        'version = 1\n[input]\nformat = "csv"\n[[class]]\nname = "ssn"\npath = "ssn"\nrole = "identifier"\n'
        '[[class]]\nname = "a"\npath = "a"\n'
    )
    forest = ta.read(a_file("ssn,a\n123,x\n"), schema)
    ta.write(forest, out := fresh(".csv"))
    assert rows_of(out) == (["a"], [["x"]]) and ta.read(out, schema) == forest


# --- schemas ----------------------------------------------------------------------------------------------------------


def test_schemas_of_rows() -> None:
    schema = schema_of("zip.code", "a")
    again = ta.Schema.loads(dump_schema(schema))
    assert again.classes == schema.classes and again.input == schema.input
    assert [c.parent for c in schema.layout.classes] == [-1, -1]
    with pytest.raises(SchemaError, match="under: is not for format parquet"):
        schema_of("a", form="parquet", extra='under = "a"\n')
    with pytest.raises(SchemaError, match="is the path of another class too"):
        ta.Schema.loads(dump_schema(schema).replace("'zip.code'", "a").replace('"zip.code"', '"z"'))
    documents = ta.Schema.loads('version = 1\n[input]\nformat = "ndjson"\n[[class]]\nname = "a"\npath = "a"\n')
    with pytest.raises(UsageError, match="treeanon flatten"):
        documents.for_format("csv")


# --- writing ----------------------------------------------------------------------------------------------------------

TEXTS = ["x", "", " ", "a,b;c\td|e", 'q"q', '"', "line\nend", "\r", "\r\n", "ü", "\U0001f600", "NULL", "NA", "007",
         "1.0", "-", "*", "=1+1", "\ufeff", "treeanon:moved"]  # fmt: skip
NAMES = ["a", "b c", "x,y", "d.e", 'q"', "größe", "l;m", "treeanon_id"]


@few(30, 200)
@given(st.randoms(use_true_random=False), st.sampled_from(ENDINGS), st.sampled_from(ENDINGS))
def test_round_trip(rnd: Random, first: str, second: str) -> None:
    names = rnd.sample(NAMES, rnd.randint(1, 4))
    records = [
        [[name, rnd.choice([t for t in TEXTS if t]), []] for name in names if rnd.random() < 0.6]
        for _ in range(rnd.randint(1, 6))
    ]
    schema = schema_of(*names)
    forest = ta.Forest.from_records(schema, records)
    if rnd.random() < 0.2:
        forest = forest.project("*")
    ta.write(forest, one := fresh(first))
    again = ta.read(one, schema)
    assert again == forest
    ta.write(again, two := fresh(second))
    assert ta.read(two, schema) == forest
    if two.suffix != ".parquet" and "*" not in {r[0][0] for r in forest.records() if r}:
        header, rows = rows_of(two, "\t" if second == ".tsv" else ",")
        wanted = [[{n: v for n, v, _ in record}.get(name, "") for name in names] for record in forest.records()]
        assert header == names and sorted(rows) == sorted(wanted)
    table = read_table(two, schema)
    assert len(table) == len(forest)
    write_table(table, three := fresh(second))
    assert read_table(three, schema) == table


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["text", "integer"])
def test_one_column_with_missing_values(ending: str, kind: str) -> None:
    schema = schema_of("a", extra=f'type = "{kind}"\n')
    forest = ta.Forest.from_records(schema, [[["a", "1", []]], [], []])
    ta.write(forest, out := fresh(ending))
    assert sorted(map(str, ta.read(out, schema).records())) == ["[['a', '1', []]]", "[]", "[]"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_release_is_the_same_kind_of_file(ending: str) -> None:
    rnd = Random(3)
    schema = schema_of("age", "town")
    records = [[["age", str(rnd.randint(1, 9)), []], ["town", rnd.choice("UVW"), []]] for _ in range(60)]
    ta.write(ta.Forest.from_records(schema, records), source := fresh(ending))
    release = ta.anonymize(ta.read(source, schema), k=3, m=2, n=0)
    release.write(out := fresh(ending))
    back = ta.read(out, schema)
    assert ta.verify(back, k=3, m=2, n=0).holds and len(back) == 60
    if ending == ".parquet":
        rows = [tuple(row.values()) for row in pq.read_table(out).to_pylist()]
    else:
        rows = [tuple(row) for row in rows_of(out, "\t" if ending == ".tsv" else ",")[1]]
    # No group that somebody who knows both values could form has one or two persons.
    for known in ({0}, {1}, {0, 1}):
        seen = [tuple(row[at] for at in sorted(known)) for row in rows if all(row[at] for at in known)]
        assert not seen or min(map(seen.count, seen)) >= 3


def test_rows_come_in_random_order() -> None:
    values = [str(number) for number in range(300)]
    path = a_file("a\n" + "\n".join(values) + "\n")
    forest = ta.read(path, schema_of("a"))
    orders = []
    for _ in range(2):
        ta.write(forest, out := fresh(".csv"))
        orders.append([row[0] for row in rows_of(out)[1]])
    assert orders[0] != orders[1] and values not in orders and sorted(orders[0]) == sorted(values)


def test_targets(tmp_path: Path) -> None:
    forest = ta.Forest.from_records(schema_of("a"), [[["a", "1", []]]])
    for target in (f"{tmp_path}/x/", tmp_path / "x.zip"):
        with pytest.raises(UsageError, match="is one file"):
            ta.write(forest, target)
    ta.write(forest, tmp_path / "x.csv")
    with pytest.raises(FileError, match="exists already"):
        ta.write(forest, tmp_path / "x.csv")
    with pytest.raises(UsageError, match="only what is read from tables"):
        ta.write(forest, tmp_path / "x.sqlite")
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]
    for other in ("x.ndjson", "x.xml", "x.json", "x.trees.jsonl"):
        ta.write(forest, tmp_path / other)
        assert ta.read(tmp_path / other, forest.schema.for_format(other.partition(".")[2].partition(".")[0])) == forest


def test_a_class_twice_in_a_record_is_no_row(tmp_path: Path) -> None:
    forest = ta.Forest.from_records(schema_of("a"), [[["a", "1", []], ["a", SECRET, []]]])
    with pytest.raises(UsageError, match="treeanon flatten") as problem:
        ta.write(forest, tmp_path / "x.csv")
    assert SECRET not in str(problem.value) and not list(tmp_path.iterdir())


def test_the_star_column_means_nothing_else() -> None:
    with pytest.raises(DataError, match=r"line 3, treeanon_any: must be \* or empty") as problem:
        ta.read(a_file(f"a,treeanon_any\n1,*\n1,{SECRET}\n"), schema_of("a"))
    assert SECRET not in str(problem.value)
    with pytest.raises(SchemaError, match="has no column 'treeanon_any'"):
        ta.read(a_file("treeanon_any,b\n*,1\n"), schema_of("treeanon_any", "b"))


# --- tables -----------------------------------------------------------------------------------------------------------


def test_unknown_values(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("34;30-39;*\n35;30-39;*\n")
    text = 'version = 1\n[input]\nformat = "csv"\n[[class]]\nname = "a"\npath = "a"\nhierarchy = "h.csv"\n'
    path = a_file(f"a,b\n34,\n30-39,\n,\n{SECRET},\n")
    with pytest.raises(TreeanonError, match="does not know 1 distinct values") as problem:
        read_table(path, ta.Schema.loads(text, folder=tmp_path))
    assert SECRET not in str(problem.value)
    table = read_table(path, ta.Schema.loads(text + 'on_unknown = "suppress"\n', folder=tmp_path))
    assert [row[0] for row in table.rows()] == ["34", "30-39", None, "*"]
    assert table.report is not None and table.report.unknown == {"a": 1}


def test_any_source_that_is_flat_is_a_table() -> None:
    path = a_file('{"a": 1, "b": {"c": "x"}}\n{}\n', ".ndjson")
    classes = '[[class]]\nname = "a"\npath = "a"\n[[class]]\nname = "c"\npath = "b.c"\n'
    table = read_table(path, ta.Schema.loads(f'version = 1\n[input]\nformat = "ndjson"\n{classes}'))
    assert list(table.rows()) == [("1", "x"), (None, None)]


def test_many_rows_and_values() -> None:
    values = list(range(10_000)) * 3
    any_column: Any = pa.array(values)
    pq.write_table(pa.table({"a": any_column, "b": ["x"] * len(values)}), path := fresh(".parquet"))
    extra = 'type = "integer"\nhierarchy = { intervals = [10, 100] }\n'
    table = read_table(path, schema_of("a", form="parquet", extra=extra))
    assert [int(text or -1) for text in table.column("a").texts()] == values and table.column("a").hierarchy.height == 3
