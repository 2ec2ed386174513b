"""A document cut between records is, range by range, the document: the same records, counts and errors."""

from __future__ import annotations

import pickle
from pathlib import Path
from random import Random

import pytest
from lxml import etree

import treeanon as ta
from tests.io.documents.test_hostile_xml import BROKEN, TEXT, broken
from tests.reference.documents import XmlDocuments, tag_of
from tests.support.hostile import XML
from tests.support.paths import FOLDER
from tests.support.strategies import make_case, properties
from treeanon.errors import DataError
from treeanon.forest import Forest, ForestBuilder
from treeanon.io.documents import xml_ranges
from treeanon.io.documents.xml_ranges import WHOLE, ranges_of
from treeanon.io.interface import ReadOptions
from treeanon.spark.xml_files import Piece, read_pieces


def in_ranges(path: Path, schema: ta.Schema, least: int, options: ReadOptions | None = None) -> tuple[Forest, int]:
    """What a document holds, read range by range; and the number of ranges."""
    with path.open("rb") as stream:
        found = ranges_of(stream, schema, least)
    builder = ForestBuilder(schema)
    pieces = [Piece(str(path), str(path), True, 0, part) for part in found]
    read_pieces(builder, [pickle.dumps(piece) for piece in pieces], "xml", options or ReadOptions())
    return builder.finish(), len(found)


def same(path: Path, schema: ta.Schema, least: int) -> int:
    """Compares with the document read as a whole; gives the number of ranges."""
    whole = ta.read(path, schema)
    forest, ranges = in_ranges(path, schema, least)
    assert forest == whole
    assert forest.report is not None and whole.report is not None
    assert forest.report.dropped.paths() == whole.report.dropped.paths()
    return ranges


def random_documents(rnd: Random) -> None:
    case = make_case(rnd, "xml")
    documents = XmlDocuments(case)
    names = (case.record or "").split("/")
    top: list[etree._Element] = [documents.record(rnd, names[-1]) for _ in range(rnd.randint(1, 9))]
    for name in reversed(names[:-1]):
        outers = [etree.Element(tag_of(name)) for _ in range(rnd.randint(1, 3) if name != names[0] else 1)]
        for element in top:
            rnd.choice(outers).append(element)
        for outer in outers:
            if rnd.random() < 0.5:
                outer.insert(rnd.randrange(len(outer) + 1), etree.Element("other"))
        top = outers
    path = FOLDER / "ranges.xml"
    encoding = rnd.choice(["utf-8", "utf-8", "utf-16"])
    path.write_bytes(etree.tostring(top[0], encoding=encoding, xml_declaration=True))
    ranges = same(path, case.schema, rnd.choice([1, 1, 100, 1000]))
    assert ranges == 1 or encoding == "utf-8"


test_random_documents, test_random_documents_thorough = properties(random_documents, 40)

PERSON = "<patient><age>{}</age><visit hospital='H'><dx>d</dx></visit></patient>"
PEOPLE = [PERSON.format(i) for i in range(4)]
MISLEADING = {
    "comment": "<patients>{}<!-- <patient> -->{}<!-- </patient> --></patients>",
    "comment of tags": "<patients>{}<!-- </patients> <patient></patient> -->{}</patients>",
    "CDATA": "<patients>{}<note><![CDATA[</patient><patient><patients>]]></note>{}</patients>",
    "instruction": "<?x <patient>?><patients>{}<?y </patient>?>{}</patients><?z </patients>?>",
    "records in what is no record": "<patients>{}<old><patient><age>9</age></patient></old>{}</patients>",
    "a record in a record": "<patients>{}<patient><patient><age>9</age></patient><age>8</age></patient>{}</patients>",
    "tags in attributes": "<patients a='/patients>' b='>'>{}<patient x=\"--> /patient>\"/>{}</patients>",
    "empty records": "<patients>{}<patient/><patient /><patient\n></patient\n>{}</patients>",
    "lines": "<?xml version='1.0'?>\n\n<patients\n>\n\n{}\n\r\n{}\n\n</patients\n>\n",
    "texts between": "<patients>one{}two &amp; three{}four</patients>",
    "a mark": "\ufeff<patients>{}{}</patients>",
    "default namespace elsewhere": "<patients>{}<patient xmlns='urn:x'><age>9</age></patient>{}</patients>",
    "long prefix": "<patients xmlns:p='urn:p' xmlns:q='urn:a&amp;b'>{}<p:patient q:x='1'/>{}</patients>",
    "what is left out, last": "<patients><x/>{}<x/><x/>{}<x/><y/></patients>",
}


@pytest.mark.parametrize("name", MISLEADING)
def test_what_looks_like_a_record_and_is_none(tmp_path: Path, name: str) -> None:
    for filled in (("".join(PEOPLE[:2]), "".join(PEOPLE[2:])), ("", PEOPLE[0]), (PEOPLE[0], "")):
        path = tmp_path / "p.xml"
        path.write_text(MISLEADING[name].format(*filled), newline="")
        ranges = same(path, XML, 1)
        assert ranges > 1 or filled[0] == ""


NAMESPACES = """version = 1
[input]
format = "xml"
record = "h:a/b/h:c"
namespaces = { h = "urn:h", "" = "urn:d" }
[[class]]
name = "x"
path = "h:x"
"""


def test_namespaces_are_those_of_the_elements_around(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    path.write_text(
        "<g:a xmlns:g='urn:h' xmlns='urn:d' xmlns:n='urn:n'><b xmlns:k='urn:h'><k:c><g:x>1</g:x></k:c><k:c><k:x>2</k:x>"
        "<n:z/></k:c></b><b xmlns='urn:e'><g:c><g:x>3</g:x></g:c></b><n:b/>"
        "<b xmlns:g='urn:i'><c xmlns='urn:h'><x>4</x></c>"
        "<g:c/><c xmlns='urn:h'><x>5</x></c></b></g:a>"
    )
    schema = ta.Schema.loads(NAMESPACES)
    assert [record[0][1] for record in ta.read(path, schema).records()] == ["1", "2", "4", "5"]
    assert same(path, schema, 1) == 5


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_said_in_the_same_words(tmp_path: Path, name: str) -> None:
    text = broken(name)
    path = tmp_path / "p.xml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    said_alike(path)


def said_alike(path: Path) -> str:
    with pytest.raises(DataError) as whole:
        ta.read(path, XML)
    with pytest.raises(DataError) as cut:
        in_ranges(path, XML, 1)
    assert str(cut.value) == str(whole.value)
    return str(whole.value)


def test_documents_that_end_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    text = f"<?xml version='1.0'?>\n<patients>\n{PEOPLE[0]}\n<!-- x -->{PEOPLE[1]}<!-- y --></patients>"
    for end in range(len(text)):
        path.write_text(text[:end])
        said_alike(path)


def test_places_of_errors_are_those_of_the_document(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    wrong = "<patient>\n<age>1</age>\n<age>2</age></patient>\n"
    path.write_text(f"<patients>\n{PEOPLE[0]}\n\n{PEOPLE[1]}{PEOPLE[2]}\n{wrong}{PEOPLE[3]}</patients>")
    assert "record 4 (line 5)" in said_alike(path)
    skipping = ReadOptions(on_error="skip")
    assert ta.read(path, XML, on_error="skip") == in_ranges(path, XML, 1, skipping)[0]


def test_what_a_cut_could_hide_is_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_ranges, "_BLOCK", 1 << 10)
    path = tmp_path / "p.xml"
    long = "<patients>" + "".join(PEOPLE) + "<note>" + "x" * (12 << 10) + "</note>" + PEOPLE[0] + "</patients>"
    deep = "<patients>" + "".join(PEOPLE) + "<d>" * 255 + "</d>" * 255 + "</patients>"
    for text in (long, deep, TEXT.replace("<patients>", "<!DOCTYPE patients><patients>")):
        path.write_text(text)
        with path.open("rb") as stream:
            assert ranges_of(stream, XML, 1) == [WHOLE]
    path.write_text("<patients>" + "".join(PEOPLE) * 100 + "</patients>")
    assert same(path, XML, 1000) > 10
