"""Broken and hostile files, folders, globs, zips and compression."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import stat
import struct
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.hostile import JSON, NDJSON, NUMBER, WORD, XML, a_schema, no_canary, put, refused, trees
from treeanon.errors import FileError, TreeanonError, UsageError
from treeanon.forest.build import pseudonym
from treeanon.schema import Schema

LINES = f'{{"age":"{WORD}","n":{NUMBER}}}\n'.encode() * 20
ZST: Callable[[bytes], bytes] = zstandard.ZstdCompressor().compress
PACKED = {".gz": gzip.compress(LINES), ".zst": ZST(LINES)}
OPEN_ZST = zstandard.ZstdCompressor(write_content_size=False).compress(LINES)
BROKEN_PACK = "the compressed data is broken or ends too early"


@pytest.mark.parametrize("ending", PACKED)
def test_truncated_pack(ending: str, tmp_path: Path) -> None:
    data = PACKED[ending]
    for cut in range(1, len(data)):
        assert BROKEN_PACK in refused(put(tmp_path / f"p.ndjson{ending}", data[:cut]), NDJSON)


@pytest.mark.parametrize(
    ("ending", "data", "words"),
    [
        (".gz", b"", "holds no record"),
        (".zst", b"", "holds no record"),
        (".gz", gzip.compress(b""), "holds no record"),
        (".zst", ZST(b""), "holds no record"),
        (".gz", LINES, BROKEN_PACK),
        (".zst", LINES, BROKEN_PACK),
        (".gz", PACKED[".zst"], BROKEN_PACK),
        (".zst", PACKED[".gz"], BROKEN_PACK),
        (".gz", PACKED[".gz"] + WORD.encode(), BROKEN_PACK),
        (".zst", PACKED[".zst"] + WORD.encode(), BROKEN_PACK),
        (".gz", PACKED[".gz"][:-8] + b"\0" * 8, BROKEN_PACK),
        (".gz", PACKED[".gz"] + PACKED[".gz"][:-1], BROKEN_PACK),
        (".zst", OPEN_ZST + OPEN_ZST[:-1], BROKEN_PACK),
        ("", PACKED[".gz"], "line 1: is not UTF-8 at byte 2"),
        ("", PACKED[".zst"], "line 1: is not UTF-8 at byte"),
    ],
    ids=range(15),
)
def test_broken_pack(ending: str, data: bytes, words: str, tmp_path: Path) -> None:
    assert words in refused(put(tmp_path / f"p.ndjson{ending}", data), NDJSON)


@pytest.mark.parametrize("ending", PACKED)
def test_members_and_frames_one_after_another(ending: str, tmp_path: Path) -> None:
    assert len(trees(put(tmp_path / f"p.ndjson{ending}", PACKED[ending] * 3), NDJSON)) == 60


@pytest.mark.parametrize("ending", PACKED)
def test_endings_in_capitals(ending: str, tmp_path: Path) -> None:
    assert len(trees(put(tmp_path / f"P.NDJSON{ending.upper()}", PACKED[ending]), NDJSON)) == 20


def a_zip(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return path


def test_zip_of_strange_names(tmp_path: Path) -> None:
    members = {"a/b/c.ndjson": LINES, "../../up.ndjson": LINES, "/root.ndjson": LINES, "C:\\x.ndjson": LINES,
               "d/": b"", "read.me": WORD.encode(), "e.ndjson.gz": PACKED[".gz"], "f.JSONL": LINES}  # fmt: skip
    forest = ta.read(a_zip(tmp_path / "p.zip", members), NDJSON)
    assert forest.report is not None and len(forest) == 120
    assert (forest.report.files, forest.report.ignored_files) == (6, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["p.zip"]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_truncated_zip(method: int, tmp_path: Path) -> None:
    data = a_zip(tmp_path / "p.zip", {"a.ndjson": LINES}, method).read_bytes()
    for cut in range(len(data)):
        refused(put(tmp_path / "p.zip", data[:cut]), NDJSON)


def corrupted(path: Path, method: int) -> Path:
    """A zip of which the packed bytes are damaged."""
    a_zip(path, {"a.ndjson": LINES}, method)
    data = bytearray(path.read_bytes())
    for at in range(30 + len("a.ndjson") + 20, 30 + len("a.ndjson") + 40):
        data[at] ^= 0xFF
    return put(path, bytes(data))


@pytest.mark.parametrize(
    "method",
    [
        zipfile.ZIP_STORED,
        zipfile.ZIP_DEFLATED,
        zipfile.ZIP_BZIP2,
        zipfile.ZIP_LZMA,
    ],
)
def test_corrupt_zip(method: int, tmp_path: Path) -> None:
    assert bz2 and lzma
    refused(corrupted(tmp_path / "p.zip", method), NDJSON)


def test_zip_without_use(tmp_path: Path) -> None:
    assert "no file in it ends in" in refused(a_zip(tmp_path / "p.zip", {}), NDJSON, UsageError)
    assert "no file in it ends in" in refused(a_zip(tmp_path / "p.zip", {"d/": b"", "x": LINES}), NDJSON, UsageError)
    for data in (b"", b"PK", LINES):
        refused(put(tmp_path / "p.zip", data), NDJSON)


def test_encrypted_zip(tmp_path: Path) -> None:
    data = bytearray(a_zip(tmp_path / "p.zip", {"a.ndjson": LINES}).read_bytes())
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.index(signature) + at
        data[start : start + 2] = struct.pack("<H", 1)
    message = refused(put(tmp_path / "p.zip", bytes(data)), NDJSON)
    assert "p.zip:a.ndjson: the zip uses encryption" in message


def test_zip_with_a_broken_name(tmp_path: Path) -> None:
    data = a_zip(tmp_path / "p.zip", {"\u00e4.ndjson": LINES}).read_bytes()
    refused(put(tmp_path / "p.zip", data.replace("\u00e4".encode(), b"\xff\xff", 1)), NDJSON)


ONE = a_schema("json", ".", ("age", "age"))
COLLECTIONS: dict[str, tuple[Schema, dict[str, str]]] = {
    "json": (JSON, {"good": '{"patients":[{"age":7}]}', "bad": f'{{"patients":[{{"age":"{WORD}"}}'}),
    "json, whole": (ONE, {"good": '{"age":7}', "bad": f'{{"age":"{WORD}"'}),
    "json, empty": (ONE, {"good": '{"age":7}', "bad": ""}),
    "ndjson": (NDJSON, {"good": '{"age":7}', "bad": f'{{"age":"{WORD}"'}),
    "xml": (XML, {"good": "<patients><patient><age>7</age></patient></patients>", "bad": f"<patients>{WORD}"}),
}


@pytest.mark.parametrize("case", COLLECTIONS)
@pytest.mark.parametrize("packed", [False, True], ids=["folder", "zip"])
def test_one_broken_file_among_others(case: str, packed: bool, tmp_path: Path) -> None:
    schema, texts = COLLECTIONS[case]
    ending = schema.input.format
    members = {f"{name}.{ending}": text.encode() for name, text in texts.items()} | {".hidden": b"x", "note.txt": b"x"}
    if packed:
        source = a_zip(tmp_path / "p.zip", members)
    else:
        source = tmp_path / "p"
        for name, data in members.items():
            put(source / "deep" / name, data)
    message = refused(source, schema)
    assert f"bad.{ending}" in message
    forest = ta.read(source, schema, on_error="skip")
    assert list(forest.records()) == [[["age", "7", []]]]
    assert forest.report is not None and forest.report.skipped == 1 and WORD not in repr(forest.classes.texts)


def test_folders_files_and_globs(tmp_path: Path) -> None:
    put(tmp_path / "d" / "a.ndjson", LINES)
    put(tmp_path / "d" / "b.txt", WORD)
    (tmp_path / "d" / "c.ndjson").symlink_to("nowhere")
    (tmp_path / "e").mkdir()
    put(tmp_path / "[odd]*?.ndjson", LINES)
    assert len(trees(tmp_path / "d", NDJSON)) == 20
    assert len(trees(tmp_path / "d" / "*.ndjson", NDJSON)) == 20
    assert len(trees(f"{tmp_path}/**/a.*", NDJSON)) == 20
    assert len(trees(tmp_path / "[odd]*?.ndjson", NDJSON)) == 20
    assert "no file in it ends in .json" in refused(tmp_path / "d", ONE, UsageError)
    assert "no file in it ends in" in refused(tmp_path / "e", NDJSON, UsageError)
    assert "no file in it ends in" in refused(tmp_path / "no*.ndjson", NDJSON, UsageError)
    for missing in ("x.ndjson", "d/a.ndjson/x", "d/c.ndjson", "x" * 5000):
        refused(tmp_path / missing, NDJSON, FileError)


def test_glob_that_python_refuses(tmp_path: Path) -> None:
    refused(tmp_path / "a**b", NDJSON, UsageError)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(tmp_path: Path) -> None:
    put(tmp_path / "p.ndjson", LINES).chmod(0)
    assert "Permission denied" in refused(tmp_path / "p.ndjson", NDJSON, FileError)


@pytest.mark.parametrize("ending", ["", *PACKED])
def test_fifo(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"p.ndjson{ending}"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(PACKED.get(ending, LINES),))
    writer.start()
    assert len(trees(path, NDJSON)) == 20
    writer.join()


def test_read_error_of_a_device() -> None:
    with pytest.raises(FileError, match="cannot be read"):
        ta.read("/proc/self/mem", NDJSON)


P_CLASS = ("ssn", "ssn", 'role = "identifier"', "pseudonym = true")
PSEUDONYMS = a_schema("ndjson", None, ("age", "age"), P_CLASS)
KEY = "k" * 16


@pytest.mark.parametrize("key", [None, "", "k" * 15])
def test_pseudonyms_need_a_key(key: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREEANON_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("TREEANON_KEY", key)
    path = put(tmp_path / "p.ndjson", f'{{"ssn":"{WORD}"}}')
    assert "TREEANON_KEY" in refused(path, PSEUDONYMS, UsageError, names_file=False)


@pytest.mark.parametrize("name", ["out.ndjson", "out.json", "out.xml", "out.trees.jsonl"])
def test_pseudonyms(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEANON_KEY", KEY)
    moved = f'{{"age":4,"treeanon:moved":{{"/":[["ssn","{WORD}",[]]]}}}}'
    text = f'{{"age":1,"ssn":"{WORD}"}}\n{{"age":2,"\\u0073sn":"{WORD}"}}\n{{"age":3,"ssn":{NUMBER}}}\n{moved}\n'
    forest = ta.read(put(tmp_path / "p.ndjson", text), PSEUDONYMS)
    one, two, three, four = ({c: v for c, v, _ in record}["ssn"] for record in forest.records())
    assert one == two == four != three
    ta.write(forest, tmp_path / name)
    out = (tmp_path / name).read_text()
    assert WORD not in out and NUMBER not in out and one in out and three in out
    schema = PSEUDONYMS.for_format(name.split(".")[1] if "trees" not in name else "trees")
    assert sorted(map(str, trees(tmp_path / name, schema))) == sorted(map(str, forest.records()))
    monkeypatch.setenv("TREEANON_KEY", KEY[::-1] + "x")
    assert {c: v for c, v, _ in next(ta.read(tmp_path / "p.ndjson", PSEUDONYMS).records())}["ssn"] != one


def linked(pseudonyms: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether two classes have the same pseudonym for one id."""
    monkeypatch.setenv("TREEANON_KEY", KEY)
    one, two = ('role = "identifier"', pseudonyms[0]), ('role = "identifier"', pseudonyms[1])
    schema = a_schema("ndjson", None, ("patient", "patient", *one), ("doctor", "doctor", *two))
    forest = ta.Forest.from_records(schema, [[["patient", NUMBER, []], ["doctor", NUMBER, []]]])
    found = {name: value for name, value, _ in next(forest.records())}
    assert NUMBER not in str(found)
    return found["patient"] == found["doctor"]


@pytest.mark.parametrize(
    ("patient", "doctor", "are_linked"),
    [
        ("true", "true", False),
        ('"staff"', '"staff"', True),
        ('"staff"', '"person"', False),
        # A name is no class.
        ("true", '"patient"', False),
    ],
)
def test_pseudonyms_link_where_they_share_a_name(
    patient: str, doctor: str, are_linked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert linked((f"pseudonym = {patient}", f"pseudonym = {doctor}"), monkeypatch) == are_linked


@given(st.text(min_size=1), st.text(), st.text(min_size=1), st.text())
def test_pseudonyms_are_equal_for_equal_ids_of_one_kind_only(one: str, text: str, two: str, other: str) -> None:
    def twin(kind: str, value: str) -> str:
        return json.dumps([kind, value])

    same = pseudonym(text, KEY.encode(), one) == pseudonym(other, KEY.encode(), two)
    assert same == (twin(one, text) == twin(two, other))


@pytest.mark.parametrize("way", ["trees", "from_records"])
@pytest.mark.parametrize("key", [None, KEY])
def test_pseudonyms_of_raw_trees(way: str, key: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREEANON_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("TREEANON_KEY", key)
    path = put(tmp_path / "p.trees.jsonl", f'{{"tree":[["ssn","{WORD}",[]]]}}')

    def read() -> ta.Forest:
        if way == "trees":
            return ta.read(path, PSEUDONYMS)
        return ta.Forest.from_records(PSEUDONYMS, [[["ssn", WORD, []]]])

    if key is None:
        with pytest.raises(UsageError, match="TREEANON_KEY"):
            read()
        return
    ta.write(read(), tmp_path / "out.ndjson")
    assert WORD not in (tmp_path / "out.ndjson").read_text()


def test_canaries_are_found() -> None:
    with pytest.raises(AssertionError):
        no_canary(f"value {WORD!r}")


def test_links_out_of_a_folder(tmp_path: Path) -> None:
    put(tmp_path / "secret.ndjson", LINES)
    folder = put(tmp_path / "in" / "a.ndjson", LINES).parent
    (folder / "inner.ndjson").symlink_to(folder / "a.ndjson")
    assert len(ta.read(folder, NDJSON)) == 40
    (folder / "notes.txt").symlink_to("/etc/hostname")
    assert len(ta.read(folder, NDJSON)) == 40
    (folder / "b.ndjson").symlink_to(tmp_path / "secret.ndjson")
    asked = NDJSON.with_links()
    for source in (folder, f"{folder}/*.ndjson", f"{tmp_path}/i?/*.ndjson"):
        if "?" not in str(source):
            assert "is a link out of the folder" in refused(source, NDJSON, UsageError)
        assert len(ta.read(source, asked)) == 60
    # What a pattern leads to lies below the part of it that has no mark.
    assert len(ta.read(f"{tmp_path}/i?/*.ndjson", NDJSON)) == 60
    tables = put(tmp_path / "tables" / "person.csv", "age,id\n3,1\n").parent
    (tables / "visit.csv").symlink_to(put(tmp_path / "away.csv", "id\n3\n"))
    schema = a_schema("tables", "person", ("age", "age"))
    assert "is a link out of the folder" in refused(tables, schema, UsageError)
    assert len(ta.read(tables, schema.with_links())) == 1


def test_folders_that_are_links(tmp_path: Path) -> None:
    put(tmp_path / "away" / "b.ndjson", LINES)
    folder = put(tmp_path / "in" / "a.ndjson", LINES).parent
    (folder / "up").symlink_to(folder)
    assert len(ta.read(folder, NDJSON)) == 20
    (folder / "out").symlink_to(tmp_path / "away")
    assert "is a link out of the folder" in refused(folder, NDJSON, UsageError)
    # Links in a circle are read once.
    assert len(ta.read(folder, NDJSON.with_links())) == 40


@pytest.mark.parametrize("asked", [False, True])
def test_links_in_a_zip(asked: bool, tmp_path: Path) -> None:
    def link(archive: zipfile.ZipFile, name: str, target: str) -> None:
        member = zipfile.ZipInfo(name)
        member.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(member, target)

    schema = NDJSON.with_links() if asked else NDJSON
    path = tmp_path / "in.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("d/a.ndjson", LINES)
        link(archive, "e/b.ndjson", "../d/a.ndjson")
        link(archive, "e/c.ndjson", "b.ndjson")
        link(archive, "notes.txt", "/etc/hostname")
    assert len(ta.read(path, schema)) == 60
    put(tmp_path / "secret.ndjson", LINES)
    for target in ("../../secret.ndjson", str(tmp_path / "secret.ndjson"), "e/f.ndjson"):
        with zipfile.ZipFile(path, "w") as archive:
            link(archive, "e/f.ndjson", target.removeprefix("e/"))
        assert "is a link out of the zip" in refused(path, schema, UsageError)


def test_names_of_members_cannot_look_like_messages(tmp_path: Path) -> None:
    path = tmp_path / "p.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a\nerror: all is well\u2028.ndjson", "{")
    found = refused(path, NDJSON)
    assert len(found.splitlines()) == 1 and "a\\nerror: all is well\\u2028.ndjson, line 1" in found


@pytest.mark.parametrize("name", ["h.csv", "h.json", "names.csv", "concepts.json", "people.csv"])
def test_a_fifo_as_hierarchy(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    source = {
        "names.csv": '{ icd10 = true, names = "names.csv" }',
        "concepts.json": '{ terminology = "concepts.json" }',
        "people.csv": '{ prefix = [3], population = "people.csv" }',
    }.get(name, f'"{name}"')
    text = "\n".join(["version = 1", "[input]", 'format = "ndjson"', "[[class]]", 'name = "age"', 'path = "age"'])
    path = put(tmp_path / "s.toml", f"{text}\nhierarchy = {source}\n")
    with pytest.raises(TreeanonError, match="is no regular file"):
        Schema.load(path)


def test_names_that_are_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "the name of the input is empty" in refused("", NDJSON, UsageError)
    forest = ta.Forest.from_records(NDJSON, [[["age", "1", []]]])
    for force in (False, True):
        with pytest.raises(UsageError, match="the name of the output is empty"):
            ta.write(forest, "", force=force)
    assert not list(tmp_path.iterdir())
