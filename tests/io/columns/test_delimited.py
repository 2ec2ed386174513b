"""CSV and TSV: the fast reader against a slow twin, and lines of what is broken."""

from __future__ import annotations

import csv
import gzip
import io
import traceback
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.profiles import few
from treeanon.errors import DataError, TreeanonError
from treeanon.io.columns import csv_dialect as exact_rows
from treeanon.io.columns import csv_fast as delimited
from treeanon.io.columns.csv_dialect import Dialect
from treeanon.io.columns.csv_fast import DelimitedFile, Rules
from treeanon.io.sources import Source

WORD = "Zwischenfall"


def a_source(data: bytes, name: str = "t.csv") -> Source:
    return Source(name, len(data), lambda: io.BytesIO(data))  # type: ignore[arg-type,return-value]


def a_file(data: str | bytes, dialect: Dialect | None = None, name: str = "t.csv", **rules: object) -> DelimitedFile:
    content = data.encode() if isinstance(data, str) else data
    return DelimitedFile(a_source(content, name), dialect or Dialect(), Rules(**rules))  # type: ignore[arg-type]


def rows(file: DelimitedFile) -> list[tuple[object, ...]]:
    """The rows of a file, read at once; block by block they are the same, or wrong in the same way."""
    try:
        found = tuples(file.read(file.columns))
    except DataError as problem:
        with pytest.raises(DataError) as caught:
            list(file.blocks(file.columns))
        assert str(caught.value) == str(problem)
        raise
    assert [row for block in file.blocks(file.columns) for row in tuples(block)] == found
    return found


def tuples(table: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(DataError) as caught:
        action()
    assert WORD not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_values_as_they_stand() -> None:
    data = 'a,b,"c ""d"""\n1, x ,"two\nlines"\n\n007,"say ""hi""","5"" pipe"\r\n"","",\n5" pipe,é,"a,b"'
    file = a_file(data)
    assert file.columns == ("a", "b", 'c "d"')
    assert rows(file) == [
        ("1", " x ", "two\nlines"),
        ("007", 'say "hi"', '5" pipe'),
        (None, None, None),
        ('5" pipe', "é", "a,b"),
    ]
    assert [file.place(row).place for row in range(4)] == ["line 2", "line 5", "line 6", "line 7"]
    assert file.place(9).place == "row 10"


def test_only_what_is_asked() -> None:
    file = a_file("a,b,c\n1,2,3\n4,5,6\n")
    assert file.read(["c", "a"]).to_pylist() == [{"c": "3", "a": "1"}, {"c": "6", "a": "4"}]
    assert file.read([]).num_rows == 2
    assert file.read(["b"], 1).to_pylist() == [{"b": "2"}]
    assert file.read(["b"], 0).num_rows == 0
    assert a_file("a,b\n").read(["b"]).num_rows == 0
    assert a_file("a,b\n\n\r\n").read(["b"], 3).num_rows == 0
    assert a_file("a,b").read(["b"]).schema.field("b").type == pa.string()


def test_marks_of_bytes() -> None:
    assert rows(a_file(b"\xef\xbb\xbfa,b\n1,2\n")) == [("1", "2")]
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        data = ("" if encoding in ("utf-16", "utf-32") else "\ufeff").encode(encoding) + "a,b\n1,2\n".encode(encoding)
        assert "UTF-16" in refused(lambda data=data: a_file(b"" + data))  # type: ignore[misc]
    assert rows(a_file("a;b\n1;ü\n".encode("utf-16"), Dialect(";", encoding="utf-16"))) == [("1", "ü")]
    assert rows(a_file(b"a,b\n1,\x80\n", Dialect(encoding="cp1252"))) == [("1", "€")]
    message = refused(lambda: rows(a_file(b"a,b\n1,x\n2,\x81\n", Dialect(encoding="cp1252"))))
    assert message.startswith("t.csv, line 3: is not in the encoding cp1252")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", "t.csv: is empty; a header is expected"),
        ("\n\n", "t.csv: is empty; a header is expected"),
        ("a,b,a\n", "t.csv, line 1: columns 1 and 3 have the same name in the header (or there is no header)"),
        ("a,,b\n", "t.csv, line 1: column 2 has no name in the header"),
        (b"a,\xff\n1,2\n", "t.csv, line 1: the header is not UTF-8"),
        ("a,b\0\n1,2\n", "t.csv, line 1: the header holds a NUL character"),
        ("a," * 600_000 + "b\n", "t.csv, line 1: the header is longer than 1,048,576 bytes"),
        ('"a,b\n1,2\n', "t.csv, line 1: a quote is opened that is not closed"),
        (f'a,b\n1,2\n"x\ny",{WORD},3\n', "t.csv, line 3: 2 values are expected, as in the header, but there are 3"),
        (f"a,b\n1,2\n\n{WORD}\n", "t.csv, line 4: 2 values are expected, as in the header, but there are 1"),
        (f'a,b\n1,"two\n\n"\n"{WORD}"x,2\n', "t.csv, line 5: something follows a closing quote"),
        (f'a,b\n1,2\n1,"{WORD}\n' + "1,2\n" * 9, "t.csv, line 3: a quote is opened that is not closed"),
        (f"a,b\n1,2\n{WORD},\0\n", "t.csv, line 3: holds a NUL character"),
        (f'a,b\n1,2\n"{WORD}\n\n".,\0\n', "t.csv, line 5: something follows a closing quote"),
        (b"a,b\n1,\xc3\xbc\n1,\xfc\n", "t.csv, line 3: is not UTF-8; does the file mix encodings?"),
        (b'a,b\n1,"x\n\xfc"\n', "t.csv, line 3: is not UTF-8; does the file mix encodings?"),
    ],
)
def test_what_is_broken(data: str | bytes, words: str) -> None:
    assert refused(lambda: rows(a_file(data))) == words


def test_a_row_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (exact_rows, delimited):
        monkeypatch.setattr(module, "LONGEST_ROW", 2 << 20)
    long = WORD * (1 << 19)
    assert "t.csv, line 3: a row is longer than" in refused(lambda: rows(a_file(f"a,b\n1,2\n{long},2\n1,2\n")))
    assert "t.csv, line 3: a row is longer than" in refused(lambda: rows(a_file(f'a,b\n1,2\n1,"{long},2\n1,2\n')))
    fits = "x" * ((2 << 20) - 10)
    assert rows(a_file(f"a,b\n{fits},1\n{fits},2\n{fits},3"))[2] == (fits, "3")


def test_quotes_at_the_bounds_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """However blocks part a file, quotes are judged alike."""
    for module in (exact_rows, delimited):
        monkeypatch.setattr(module, "LONGEST_ROW", 16)
    monkeypatch.setattr(DelimitedFile, "_checked", lambda self, most: pytest.fail("the slow reader is not needed"))
    for shift in range(17):
        pad = "x" * shift
        assert rows(a_file(f'a,b\n{pad[:9]},"q"\n{pad[9:]},"a""b"\n"c","d"')) == [
            (pad[:9] or None, "q"),
            (pad[9:] or None, 'a"b'),
            ("c", "d"),
        ]


FIELD = st.text(st.sampled_from('ab"",;\n\r x€\\'), max_size=5)


@few(150, 300)
@given(st.lists(st.tuples(FIELD, FIELD), min_size=1, max_size=8), st.sampled_from(["\n", "\r\n"]), st.integers(8, 64))
@example([('"', "\n")], "\n", 8)
@example([(";", ";;"), (";;", ";;"), (";;", ';;;"€'), (";;", ';;;"€'), (';;;"€', "\r\n")], "\n", 8)
def test_what_is_written_is_read(written: list[tuple[str, str]], end: str, block: int) -> None:
    text = io.StringIO(newline="")
    # Alone among line ends, the writer does not see a carriage return that needs quotes.
    quoting = csv.QUOTE_ALL if end == "\n" else csv.QUOTE_MINIMAL
    csv.writer(text, lineterminator=end, quoting=quoting).writerows([("a", "b"), *written])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "LONGEST_ROW", max(block, 64))
        assert rows(a_file(text.getvalue())) == [tuple(value or None for value in row) for row in written]


@few(250, 500)
@given(st.text(st.sampled_from('ab"",\n\r'), max_size=24))
@example('x,"')
@example('a""b,c\n')
@example('"a"b,c\n')
def test_fast_and_exact_agree(body: str) -> None:
    """What the fast reader accepts is what the exact one reads, row by row."""
    file = a_file("a,b\n" + body)
    with file._rows_stream() as stream:
        try:
            exact = []
            for row in exact_rows.exact_rows(stream.read, file.form, "t.csv"):
                values = file.form.fields(row.text)
                assert file.form.width(row.text) == len(values)
                exact.append(tuple(value.decode() or None for value in values))
        except DataError:
            exact = None  # type: ignore[assignment]
    if exact is None or any(len(row) != 2 for row in exact):
        assert ", line " in refused(lambda: rows(file))
    else:
        assert rows(file) == exact


@pytest.mark.parametrize(
    ("dialect", "data", "expected"),
    [
        (Dialect("\t"), 'a\tb\n1\t"x\ty"\n', ("1", "x\ty")),
        (Dialect("|", quote="'"), "a|b\n'x|''y'|\"\n", ("x|'y", '"')),
        (Dialect(quote=""), 'a,b\n"x,5"\n', ('"x', '5"')),
        (Dialect(quote="", escape="\\"), "a,b\nx\\,y,z\\\\\n", ("x,y", "z\\")),
        (Dialect(double=False, escape="\\"), 'a,b\n"x\\"y",z\n', ('x"y', "z")),
    ],
)
def test_dialects(dialect: Dialect, data: str, expected: tuple[str, ...]) -> None:
    assert rows(a_file(data, dialect)) == [expected]


def test_doubled_quotes_where_they_mean_nothing() -> None:
    assert "follows a closing quote" in refused(lambda: rows(a_file('a,b\n"x""y",1\n', Dialect(double=False))))


def test_missing_texts_and_integers() -> None:
    file = a_file('a,b\n1,NA\n-,"-"\n"+03",\n', missing=("NA", "-"), integers=frozenset("a"))
    assert rows(file) == [(1, None), (None, None), (3, None)]
    assert file.read(["a"]).schema.field("a").type == pa.int64()
    big = a_file("a\n007\n98765432109876543210\n-0\n", integers=frozenset("a"))
    assert rows(big) == [("7",), ("98765432109876543210",), ("0",)]


@pytest.mark.parametrize("bad", [WORD, "1.0", "0x10", "1e3", "--1", "1_0", "٣"])
def test_no_integers(bad: str) -> None:
    file = a_file(f'a,b\n1,"x\ny"\n2,0x\n"{bad}",z\n', integers=frozenset("a"))
    assert refused(lambda: rows(file)) == "t.csv, line 5, a: is not an integer, as datapackage.json declares"


def test_repeated_texts_become_codes() -> None:
    data = "a,b\n" + "".join(f"{i},v{i % 5}\n" for i in range(3000))
    table = a_file(data).read(["a", "b"])
    assert table.schema.field("a").type == pa.string() and pa.types.is_dictionary(table.schema.field("b").type)
    assert table["b"].cast(pa.string()).to_pylist()[:6] == ["v0", "v1", "v2", "v3", "v4", "v0"]


def test_dictionaries_of_many_blocks_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "LONGEST_ROW", 4096)
    data = "b\n" + "".join(f"v{i % 7 if i < 9000 else i % 11}\n" for i in range(20_000))
    column = a_file(data).read(["b"])["b"]
    assert column.num_chunks > 5 and len(column.chunk(0).dictionary) == 11
    assert column.cast(pa.string()).to_pylist() == data.split()[1:]


def test_without_header() -> None:
    file = a_file("1,2\n3,4\n", Dialect(header=False), fields=("x", "y"))
    assert rows(file) == [("1", "2"), ("3", "4")] and file.place(0).place == "line 1"
    message = refused(lambda: rows(a_file("1,2,3\n", Dialect(header=False), fields=("x", "y"))))
    assert message.startswith("t.csv, line 1: 2 values are expected")


def test_packed(tmp_path: Path) -> None:
    data = b"a,b\n" + b"1,2\n" * 50_000
    for name, packed in (("t.csv.gz", gzip.compress(data)), ("t.csv.zst", zstandard.ZstdCompressor().compress(data))):
        told: list[int] = []
        file = a_file(packed, name=name)
        assert file.read(["a"], None, told.append).num_rows == 50_000
        assert sum(told) == len(packed)
        with pytest.raises(TreeanonError, match="broken or ends too early"):
            rows(a_file(packed[:-20], name=name))


def test_a_zip_is_read_too(tmp_path: Path) -> None:
    from treeanon.io.relational.source import open_tables

    with zipfile.ZipFile(tmp_path / "x.zip", "w") as made:
        made.writestr("export/t.csv", "a\n1\n")
        made.writestr("__MACOSX/._t.csv", "junk")
        made.writestr("export/readme.txt", "junk")
    source = open_tables(tmp_path / "x.zip", "tables")
    assert source.read("t", ["a"]).to_pylist() == [{"a": "1"}]
    source.close()
