"""Folders, zips and datapackage.json: which tables there are, their keys, and everything that is wrong at once."""

from __future__ import annotations

import gzip
import json
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import zstandard

from treeanon.errors import DataError, FileError, TreeanonError, UsageError
from treeanon.io.relational.datapackage import parse_package
from treeanon.io.relational.source import TableInfo, TableSource, open_tables

WORD = "Zwischenfall"


def put(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return folder


def opened(path: Path) -> TableSource:
    return open_tables(path, "tables")


def refused(action: Callable[[], object], kind: type[TreeanonError] = DataError) -> str:
    with pytest.raises(kind) as caught:
        action()
    assert WORD not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def a_table(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


def a_package(folder: Path, *resources: dict[str, Any], **more: Any) -> Path:
    put(folder, {"datapackage.json": json.dumps({"name": "p", "resources": list(resources), **more})})
    return folder


def a_resource(name: str = "t", **more: Any) -> dict[str, Any]:
    return {"name": name, "path": f"{name}.csv", **more}


def test_formats() -> None:
    assert "'xls'" in refused(lambda: open_tables("x", "xls"), UsageError)


def test_a_bare_folder(tmp_path: Path) -> None:
    put(tmp_path, {"A.csv": "x,y\n1,2\n", "b.tsv": "x\ty\n1\t2,3\n", "notes.md": "", ".hidden.csv": "x\n"})
    put(tmp_path, {"c.csv.gz": gzip.compress(b"z\n9\n"), "d.CSV.zst": zstandard.ZstdCompressor().compress(b"z\n8\n")})
    put(tmp_path, {"parts/2.csv": "v,u\n2,b\n", "parts/1.csv": "u,v\na,1\n", "parts/_SUCCESS": "", "empty/x.md": ""})
    source = opened(tmp_path)
    assert list(source.tables()) == ["A", "b", "c", "d", "parts"] and source.files == "csv"
    assert source.tables()["parts"] == TableInfo(("u", "v")) and not source.keys()
    assert source.read("parts", ["v", "u"]).to_pylist() == [{"v": "1", "u": "a"}, {"v": "2", "u": "b"}]
    assert source.read("b", ["y"])["y"].to_pylist() == ["2,3"]
    assert source.place("parts", 1).source.endswith("2.csv") and source.place("parts", 1).place == "line 2"
    assert source.place("A", 0).place == "line 2"
    assert source.read("d", ["z"])["z"].to_pylist() == ["8"]
    assert "unknown table 'a'; choose from 'A', 'b'" in refused(lambda: source.read("a", []))
    assert "unknown column 'z'; choose from 'x', 'y'" in refused(lambda: source.read("A", ["x", "z"]))
    source.close()


@pytest.mark.parametrize(
    ("files", "words", "kind"),
    [
        ({"a.md": "x"}, "holds no table", UsageError),
        (
            {"a.csv": "x\n", "a.tsv": "x\n"},
            "several files or folders are called table 'a': 'a.csv', 'a.tsv'",
            DataError,
        ),
        ({"a.csv": "x\n", "a/1.csv": "x\n"}, "several files or folders are called table 'a'", DataError),
        ({"a/1.csv": "x\n", "a/2.tsv": "x\n"}, "folder 'a' mixes 'csv', 'tsv' files", DataError),
        ({"a/1.csv": "x,y\n", "a/2.csv": "x,z\n"}, "first part of table 'a': 'y', 'z'", DataError),
        ({"a.csv": ""}, "a.csv: is empty; a header is expected", DataError),
        ({"a.parquet": WORD}, "a.parquet: is damaged, ends too early, or is not a Parquet file", DataError),
    ],
)
def test_folders_that_are_wrong(
    files: dict[str, str | bytes], words: str, kind: type[TreeanonError], tmp_path: Path
) -> None:
    assert words in refused(lambda: opened(put(tmp_path, files)), kind)


def test_what_is_no_folder(tmp_path: Path) -> None:
    assert "no such file or folder" in refused(lambda: opened(tmp_path / "x"), FileError)
    assert "read from a folder, a zip" in refused(lambda: opened(put(tmp_path, {"a.csv": "x\n"}) / "a.csv"), UsageError)
    assert "read from a folder, a zip" in refused(lambda: opened(Path("-")), UsageError)
    assert refused(lambda: opened(Path("a\0b")), FileError)


def a_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return path


def test_zips(tmp_path: Path) -> None:
    pq.write_table(a_table(n=[1, 2]), tmp_path / "p.parquet")
    package = json.dumps(
        {"resources": [a_resource(path="in/t.csv", schema={"fields": [{"name": "a", "type": "integer"}]})]}
    )
    parquet = (tmp_path / "p.parquet").read_bytes()
    bare = opened(a_zip(tmp_path / "bare.zip", {"t.csv": b"a\n1\n", "p/1.parquet": parquet, "p/2.parquet": parquet}))
    assert bare.read("p", ["n"])["n"].to_pylist() == [1, 2, 1, 2] and bare.files == "csv"
    bare.close()
    for top in ("", "export/"):
        described = a_zip(tmp_path / "x", {f"{top}datapackage.json": package.encode(), f"{top}in/t.csv": b"a\n1\n"})
        source = opened(described)
        assert source.read("t", ["a"]).to_pylist() == [{"a": 1}]
        source.close()
    described.write_bytes(described.read_bytes()[:-8])
    assert refused(lambda: opened(described), TreeanonError)


def test_a_zip_that_holds_a_name_twice(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as made, pytest.warns(UserWarning):
        made.writestr("t.csv", "a\n")
        made.writestr("t.csv", "b\n")
    assert "holds 't.csv' twice" in refused(lambda: opened(tmp_path / "x.zip"))


CLINIC = [
    a_resource(
        "the patients",
        path=["p1.csv", "./more/p2.csv.gz"],
        schema={"fields": [{"name": "id", "type": "integer"}, {"name": "born"}], "primaryKey": "id"},
    ),
    a_resource(
        "visit",
        path="v.txt",
        format="csv",
        encoding="windows-1252",
        dialect={"delimiter": ";", "header": False, "quoteChar": "'", "lineTerminator": "\r\n", "csvddfVersion": 1.2},
        schema={
            "fields": [{"name": "pid", "type": "integer"}, {"name": "no", "type": "number"}, {"name": "of"}],
            "missingValues": ["", "-", {"value": "n/a", "label": "unknown"}],
            "primaryKey": ["pid", "no"],
            "foreignKeys": [
                {"fields": "pid", "reference": {"resource": "the patients", "fields": "id"}},
                {"fields": ["pid", "of"], "reference": {"resource": "", "fields": ["pid", "no"]}},
                {"fields": ["of"], "reference": {"fields": ["no"]}},
                {"fields": ["of"], "reference": {"resource": "lost", "fields": ["no"]}},
            ],
        },
    ),
    {"name": "inline", "data": [[1]]},
    {"name": "picture", "path": "x.png"},
]
FILES: dict[str, str | bytes] = {
    "p1.csv": "id,born,extra\n1,1990,x\n",
    "more/p2.csv.gz": gzip.compress(b"born,id,extra\n1991,2,y\n"),
    "v.txt": "1;1.50;'ä;b'\n2;-;n/a\n".encode("cp1252"),
    "more/ignored.csv": "x\n",
}


@pytest.mark.parametrize("by_file", [False, True])
def test_a_package(by_file: bool, tmp_path: Path) -> None:
    folder = a_package(put(tmp_path, FILES), *CLINIC)
    source = opened(folder / "datapackage.json" if by_file else folder)
    assert source.name == str(folder)
    assert source.tables() == {
        "the patients": TableInfo(("id", "born", "extra"), ("id",)),
        "visit": TableInfo(("pid", "no", "of"), ("pid", "no")),
    }
    assert list(map(str, source.keys())) == [
        "visit.pid -> 'the patients'.id",
        "visit.(pid, of) -> visit.(pid, no)",
        "visit.of -> visit.no",
    ]
    assert len(source.left_out) == 5 and any("not named in datapackage.json" in what for what in source.left_out)
    assert source.read("the patients", ["id", "born"]).to_pydict() == {"id": [1, 2], "born": ["1990", "1991"]}
    assert source.read("visit", ["no", "of", "pid"]).to_pydict() == {
        "no": ["1.50", None],
        "of": ["ä;b", None],
        "pid": [1, 2],
    }
    assert source.place("visit", 1).place == "line 2"
    source.close()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"path": "../t.csv"}, "resources[0].path: must not lead out"),
        ({"path": "a/../../t.csv"}, "resources[0].path: must not lead out"),
        ({"path": "/etc/passwd"}, "resources[0].path: must be relative"),
        ({"path": "C:/t.csv"}, "resources[0].path: must be relative"),
        ({"path": ["t.csv", "http://x/t.csv"]}, "resources[0].path[1]: is a URL"),
        ({"path": "lost.csv"}, "resources[0].path: there is no file 'lost.csv'"),
        ({"path": 7}, "resources[0].path: a file's path"),
        ({"name": ""}, "resources[0].name: a name is expected"),
        ({"encoding": "rot13"}, "resources[0].encoding: there is no such"),
        ({"compression": "zip"}, "resources[0].compression: only"),
        ({"dialect": {"commentChar": "#"}}, "resources[0].dialect.commentChar: is not supported"),
        ({"dialect": {"skipInitialSpace": True}}, "resources[0].dialect.skipInitialSpace: is not supported"),
        ({"dialect": {"headerRows": [1, 2]}}, "resources[0].dialect.headerRows: must be [1]"),
        ({"dialect": {"delimiter": "||"}}, "resources[0].dialect.delimiter: must be one ASCII"),
        ({"dialect": {"delimiter": '"'}}, "resources[0].dialect: delimiter, quote and escape must be different"),
        ({"dialect": "d.json"}, "resources[0].dialect: an object is expected"),
        ({"dialect": {"header": "no"}}, "resources[0].dialect.header: must be true or false"),
        ({"dialect": {"header": False}, "schema": None}, "resources[0].schema: is needed"),
        ({"schema": "s.json"}, "resources[0].schema: an object is expected"),
        ({"schema": {}}, "resources[0].schema.fields: a list of the columns"),
        (
            {"schema": {"fields": [{"name": "a"}, {"name": "a"}]}},
            "resources[0].schema.fields[1].name: 'a' is already the name of",
        ),
        (
            {"schema": {"fields": [{"name": "a"}, {"name": "z"}]}},
            "line 1: the header has no column 'z' as in datapackage",
        ),
        (
            {"schema": {"fields": [{"name": "a"}], "primaryKey": "z"}},
            "resources[0].schema.primaryKey: unknown field 'z'",
        ),
        ({"schema": {"fields": [{"name": "a"}], "foreignKeys": [{"fields": "a"}]}}, "foreignKeys[0]: an object with"),
        (
            {"schema": {"fields": [{"name": "a"}], "foreignKeys": [{"fields": "z", "reference": {"fields": "a"}}]}},
            "resources[0].schema.foreignKeys[0].fields: unknown field 'z'; choose from 'a'",
        ),
        (
            {
                "schema": {
                    "fields": [{"name": "a"}],
                    "foreignKeys": [{"fields": "a", "reference": {"fields": ["a", "b"]}}],
                }
            },
            "resources[0].schema.foreignKeys[0]",
        ),
        ({"schema": {"fields": [{"name": "a", "type": "integer", "groupChar": ","}]}}, "fields[0].groupChar: is not"),
        ({"schema": {"fields": [{"name": "a"}], "missingValues": "-"}}, "schema.missingValues: a list"),
        ({"format": "xlsx"}, "resources: none of them is a table"),
    ],
)
def test_packages_that_are_wrong(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    folder = a_package(put(tmp_path, {"t.csv": "a,b\n1,2\n"}), a_resource() | change)
    message = refused(lambda: opened(folder))
    assert words in message and str(folder) in message


def test_all_problems_at_once(tmp_path: Path) -> None:
    folder = a_package(tmp_path, a_resource(), a_resource("u", encoding="?"), a_resource("t"), 7)
    message = refused(lambda: opened(folder))
    assert message.splitlines()[0].endswith(" 5 problems:")
    for part in (
        "resources[1].encoding",
        "resources[2].name: 't' is already the name of another",
        "resources[3]: an object",
    ):
        assert part in message
    assert refused(lambda: opened(a_package(tmp_path, *[{}] * 30))).splitlines()[-1] == "  and 40 more"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "is not valid JSON"),
        (b'{"a": 1, "a": 2}', "has the same key twice"),
        (b"[" * 5000, "is not valid JSON"),
        (b'{"a": ' + b"[" * 900 + b"]" * 900 + b"}", "resources"),
        (b"[]", "resources: a list of the tables is expected"),
        (b'{"resources": []}', "resources: a list of the tables is expected"),
        (b'{"a": ' + b"9" * 5000 + b"}", "JSON"),
        (b"\xff", "is not valid JSON"),
    ],
)
def test_packages_that_are_no_json(data: bytes, words: str, tmp_path: Path) -> None:
    assert words in refused(lambda: opened(put(tmp_path, {"datapackage.json": data})))


def test_a_package_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treeanon.io.relational.datapackage.LARGEST", 10)
    assert "is larger than 10 bytes" in refused(lambda: parse_package(b" " * 11, "x"))


def test_media_types() -> None:
    resources = [
        a_resource("a", path="a.x", mediatype="text/csv; charset=utf-8"),
        a_resource("b", path="b.x", mediatype="text/tab-separated-values"),
        a_resource("c", path="c.x", format="PARQUET"),
        a_resource("d", path="d.tsv.gz", compression="gz"),
    ]
    found = parse_package(json.dumps({"resources": resources}).encode(), "x").resources
    assert [resource.kind for resource in found] == ["csv", "tsv", "parquet", "tsv"]
    assert [resource.dialect.delimiter for resource in found] == [",", "\t", ",", "\t"]


def test_frictionless_names_that_mean_this_table() -> None:
    key = {"fields": "a", "reference": {"resource": "self", "fields": "a"}}
    data = {"resources": [a_resource(schema={"fields": [{"name": "a"}], "foreignKeys": [key]})]}
    (found,) = parse_package(json.dumps(data).encode(), "x").resources
    assert found.keys[0].target == "self"


def test_key_to_self(tmp_path: Path) -> None:
    key = {"fields": "a", "reference": {"resource": "self", "fields": "b"}}
    resource = a_resource(schema={"fields": [{"name": "a"}, {"name": "b"}], "foreignKeys": [key]})
    source = opened(a_package(put(tmp_path, {"t.csv": "a,b\n"}), resource))
    assert list(map(str, source.keys())) == ["t.a -> t.b"]
    source.close()


def test_parts_of_different_types(tmp_path: Path) -> None:
    fields = {"fields": [{"name": "a", "type": "integer"}]}
    files: dict[str, str | bytes] = {"1.csv": "a\n1\n", "2.csv": "a\n98765432109876543210\n", "3.csv": "a\n"}
    source = opened(a_package(put(tmp_path, files), a_resource(path=list(files), schema=fields)))
    assert source.read("t", ["a"])["a"].to_pylist() == ["1", "98765432109876543210"]
    assert source.read("t", ["a"], 1)["a"].to_pylist() == [1]
    assert source.read("t", []).num_rows == 2
    source.close()


def test_progress(tmp_path: Path) -> None:
    pacsv.write_csv(a_table(a=list(range(100_000))), tmp_path / "a.csv")
    pq.write_table(a_table(a=list(range(1000)), b=list(range(1000))), tmp_path / "b.parquet")
    told: list[int] = []
    source = open_tables(tmp_path, "tables", advance=told.append)
    assert not told
    source.read("a", ["a"])
    assert sum(told) == (tmp_path / "a.csv").stat().st_size
    told.clear()
    source.read("b", ["a"])
    assert 0 < sum(told) < (tmp_path / "b.parquet").stat().st_size
    source.close()


def test_a_file_without_a_header_shows_no_value(tmp_path: Path) -> None:
    """Its first row is taken for the header; messages about headers must not tell it."""
    secret = "Zoe Secret"
    cases = {
        "twice": {"p.csv": f"{secret},{secret}\n1,2\n"},
        "package": {
            "p.csv": f"{secret},7\n",
            "datapackage.json": '{"resources": [{"name": "p", "path": "p.csv",'
            ' "schema": {"fields": [{"name": "age"}]}}]}',
        },
        "parts": {"p/a.csv": "age,sex\n1,2\n", "p/b.csv": f"{secret},7\n1,2\n"},
    }
    for name, files in cases.items():
        with pytest.raises(DataError) as caught:
            open_tables(put(tmp_path / name, files), "tables")
        assert secret not in str(caught.value) and "header" in str(caught.value)
