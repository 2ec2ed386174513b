"""Long documents, of which kernels read what is usual on all cores: the same forests, counts and errors as by one.

Small documents stand for long ones: from how many bytes on one is long, and how large blocks are, is made small.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import orjson
import pytest

import treeanon as ta
from treeanon.errors import DataError, TreeanonError
from treeanon.hierarchy.numbers import decimal_text, is_shortest
from treeanon.io.documents import json_document, json_records, kernel_columns, xml_document, xml_records
from treeanon.io.documents.kernel_columns import token_texts
from treeanon.kernels.jsontext import short_numbers, surely_json
from treeanon.progress import in_turn

NEVER = 1 << 22

XML = """
version = 1
[input]
format = "xml"
record = "hall/persons/person"
objects = "whole"
[[class]]
name = "age"
path = "age"
type = "number"
hierarchy = { intervals = [5, 10] }
on_unknown = "suppress"
[[class]]
name = "sex"
path = "@sex"
[[class]]
name = "ssn"
path = "ssn"
role = "identifier"
[[class]]
name = "ward"
path = "visit[]/@ward"
[[class]]
name = "city"
path = "home/city"
[[class]]
name = "ill"
path = "visit[]/info/ill[]"
[[class]]
name = "dose"
path = "visit[]/dose"
[[class]]
name = "unit"
path = "visit[]/dose/@unit"
"""

JSON = """
version = 1
[input]
format = "ndjson"
[[class]]
name = "age"
path = "age"
type = "number"
hierarchy = { intervals = [5, 10] }
on_unknown = "suppress"
[[class]]
name = "ward"
path = "visits[].ward"
[[class]]
name = "ill"
path = "visits[].info.ills[]"
"""

NUMBERS = [
    "1",
    "0",
    "-0",
    "1.5",
    "1.50",
    "100",
    "1e3",
    "0.0001",
    "0.00001",
    "0.00012",
    "12345678901234567",
    "123456789012345",
    "-7.25",
    "1.0",
    "0.10",
    "-0.0",
    "01",
    "1.",
    ".5",
    "--1",
    "1.2.3",
]
MARKS = [
    b"<!-- c -->", b"<![CDATA[x]]>", b"<?pi a?>", b"&#65;", b"&bad;", b"&", b"<", b">", b'"', b"</person>", b"<person>",
    b"</persons>", b"]]>", b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbf\xbe", b"text", b" xmlns='u'", b" a:b='1'",
    b"<x:y/>", b" sex='2' sex='3'", b"<age>1</age>", b"<home/>", b"\r", b"<!DOCTYPE a>", b"</hall>", b"<visit/>",
    b" xml:lang='a'",
]  # fmt: skip
SIGNS = [
    b"}",
    b"{",
    b"]",
    b"[",
    b",",
    b":",
    b'"',
    b"\\",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"\x1f",
    b"//",
    b"1",
]


@pytest.fixture
def long_ones(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Give a function that says what is long; 0 for nothing."""

    def set_sizes(size: int, numbers: int = NEVER) -> None:
        monkeypatch.setattr(kernel_columns, "_MANY_NUMBERS", numbers)
        monkeypatch.setattr(xml_document, "LARGE", size or NEVER)
        monkeypatch.setattr(xml_records, "_BLOCK", size or NEVER)
        monkeypatch.setattr(json_records, "_LARGE", 0 if size else NEVER)
        monkeypatch.setattr(json_document, "_BLOCK", size or 1 << 20)

    yield set_sizes


def read(path: Path, schema: ta.Schema, **options: Any) -> object:
    """Return all that reading gives, also of an error."""
    try:
        forest = ta.read(path, schema, **options)
    except TreeanonError as problem:
        return type(problem), str(problem)
    assert forest.report is not None
    arrays = [array.tolist() for array in (forest.offsets, forest.parent, forest.label)]
    return arrays, list(forest.classes.texts), forest.report.as_dict(), forest.report.broken


class Documents:
    """Documents drawn at random, many of them broken somewhere."""

    def __init__(self, seed: int) -> None:
        self.rnd = Random(seed)

    def broken(self, text: bytes, marks: list[bytes]) -> bytes:
        at, kind = self.rnd.randrange(len(text) + 1), self.rnd.random()
        if kind < 0.6:
            return text[:at] + self.rnd.choice(marks) + text[at:]
        return text[:at] + (b"" if kind < 0.7 else text[at + self.rnd.randrange(1, 9) :])

    def text(self) -> str:
        texts = ["a", " ", "", "&lt;x", "é", "\n", "日本", "\u00a0", " pad ", "]]", "x&amp;amp;y", *NUMBERS[:8]]
        return self.rnd.choice(texts)

    def element(self, name: str, attributes: str, inner: str) -> str:
        for key in attributes.split():
            if self.rnd.random() < 0.5:
                quote = self.rnd.choice("\"'")
                blank, value = self.rnd.choice([" ", "  ", "\n"]), self.text().strip("\n")
                name += f"{blank}{key}={quote}{value}{quote}"
        if not inner and self.rnd.random() < 0.5:
            return f"<{name}/>"
        return f"<{name}>{inner}</{name.split()[0]}{self.rnd.choice(['', ' '])}>"

    def visit(self) -> str:
        ills = "".join(self.element("ill", "", self.text()) for _ in range(self.rnd.randrange(3)))
        parts = [self.element("info", "", ills), self.element("dose", "unit", self.text())]
        parts += [self.element("other", "z", self.element("deep", "q", self.text()))] * (self.rnd.random() < 0.2)
        return self.element("visit", "ward odd", "".join(part for part in parts if self.rnd.random() < 0.7))

    def xml(self) -> bytes:
        persons = []
        for _ in range(self.rnd.randrange(1, 8)):
            home = self.element("home", "kind", self.element("city", "", self.text()))
            parts = [self.element("age", "", self.text()), self.element("ssn", "", self.text()), home]
            parts += [self.visit() for _ in range(self.rnd.randrange(3))]
            self.rnd.shuffle(parts)
            persons.append(self.element("person", "sex extra", self.rnd.choice(["", "\n", "\r\n"]).join(parts)))
        head = self.rnd.choice(['<?xml version="1.0" encoding="UTF-8"?>\n', "", "\n"])
        text = f"{head}<hall> <persons>\n{' '.join(persons)}</persons>\n</hall>\n".encode()
        return self.broken(text, MARKS) if self.rnd.random() < 0.6 else text

    def value(self, depth: int = 0) -> str:
        kind = self.rnd.random()
        if kind < 0.3 or depth > 3:
            return self.rnd.choice(NUMBERS)
        if kind < 0.6:
            texts = [
                "a",
                "",
                "\\u00e9",
                "\\ud83d\\ude00",
                "\\ud800",
                "\\u0000",
                "é",
                "12",
                "x\\ny",
                "\\q",
                "\\/",
                "[0, 5)",
            ]
            return f'"{self.rnd.choice(texts)}"'
        if kind < 0.7:
            return self.rnd.choice(["true", "false", "null", "nul", "NaN"])
        inner = [self.value(depth + 1) for _ in range(self.rnd.randrange(3))]
        return f"[{','.join(inner)}]" if kind < 0.85 else "{" + ",".join(f'"k{len(one)}":{one}' for one in inner) + "}"

    def line(self) -> bytes:
        ills = [f'{{"ward":{self.value(4)},"info":{{"ills":[{self.value(4)}]}}}}' for _ in range(self.rnd.randrange(3))]
        more = f',"odd":{self.value()}' if self.rnd.random() < 0.3 else ""
        text = f'{{"age":{self.value(4)}, "visits":[{",".join(ills)}]{more}}}'.encode()
        return self.broken(text, SIGNS) if self.rnd.random() < 0.2 else text


@pytest.mark.parametrize("seed", range(4))
def test_xml_is_read_alike_in_blocks_and_by_one(tmp_path: Path, long_ones: Any, seed: int) -> None:
    documents, schema, path = Documents(seed), ta.Schema.loads(XML), tmp_path / "a.xml"
    for number in range(12):
        path.write_bytes(documents.xml())
        on_error = "skip" if number % 3 == 0 else "error"
        long_ones(0)
        expected = read(path, schema, on_error=on_error)
        long_ones(documents.rnd.choice([10, 60, 300]), documents.rnd.choice([1, NEVER]))
        assert read(path, schema, on_error=on_error, jobs=1 + number % 2) == expected


@pytest.mark.parametrize("seed", range(4))
def test_ndjson_is_read_alike_in_blocks_and_by_one(tmp_path: Path, long_ones: Any, seed: int) -> None:
    documents, schema, path = Documents(seed), ta.Schema.loads(JSON), tmp_path / "a.ndjson"
    for number in range(12):
        lines = [documents.line().replace(b"\n", b"") for _ in range(documents.rnd.randrange(1, 12))]
        path.write_bytes(b"\n".join(lines))
        options: dict[str, Any] = {"on_error": "error" if number % 3 == 0 else "skip", "strict": number % 5 == 0}
        long_ones(0)
        expected = read(path, schema, **options)
        long_ones(documents.rnd.choice([20, 100]), documents.rnd.choice([1, NEVER]))
        assert read(path, schema, jobs=1 + number % 3, **options) == expected


def test_usual_xml_is_read_by_the_kernel_alone(tmp_path: Path, long_ones: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.xml"
    person = '<person sex="F"><age>7</age>\n<visit ward="A"><info><ill>x &lt; é</ill></info></visit></person>\n'
    path.write_text("<?xml version='1.0'?>\n<hall>\n<persons>" + person * 50 + "</persons></hall>\n", "utf-8")
    long_ones(300)
    monkeypatch.setattr(xml_document, "_blocks", None)
    assert len(ta.read(path, ta.Schema.loads(XML), jobs=2)) == 50


def test_errors_have_numbers_of_the_whole_document(tmp_path: Path, long_ones: Any) -> None:
    path, person = tmp_path / "a.xml", "<person>\n<age>7</age></person>\n"
    path.write_text(f"<hall>\n<persons>\n{person * 30}<person><age>1</age><age>2</age></person></persons></hall>")
    long_ones(100)
    with pytest.raises(DataError, match=r"record 31 \(line 63\), age: repeats here"):
        ta.read(path, ta.Schema.loads(XML), jobs=2)


def test_what_the_kernel_takes_for_json_is_json() -> None:
    documents, sure = Documents(7), 0
    for _ in range(300):
        text = documents.line()
        if surely_json(np.frombuffer(text, np.uint8), np.array([0]), np.array([len(text)]))[0]:
            orjson.loads(text)
            sure += 1
    assert sure > 50


def is_json(text: str) -> bool:
    return surely_json(np.frombuffer(text.encode(), np.uint8), np.array([0]), np.array([len(text)]))[0]


@pytest.mark.parametrize("as_texts", [False, True])
def test_short_numbers_are_those_of_the_exact_reader(as_texts: bool) -> None:
    taken = 0
    for text in NUMBERS if as_texts else filter(is_json, NUMBERS):
        span = np.frombuffer(text.encode(), np.uint8), np.array([0]), np.array([len(text)])
        digits, decimals = short_numbers(*span, as_texts)
        if decimals[0] < 0:
            continue
        taken += 1
        own = decimal_text(int(digits[0]), int(decimals[0]))
        assert own == (text if as_texts else token_texts([text.encode()])[0])
    assert taken >= sum(is_shortest(text) is not None for text in NUMBERS)


def test_work_in_turn_keeps_the_order_and_ends_with_the_error_of_the_items() -> None:
    def items() -> Iterator[int]:
        yield from range(20)
        raise ValueError("end")

    found = []
    with pytest.raises(ValueError, match="end"):
        for pair in in_turn(lambda number: number * 2, items(), 3):
            found.append(pair)
    assert found == [(number, number * 2) for number in range(20)]
