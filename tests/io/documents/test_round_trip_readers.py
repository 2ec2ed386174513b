"""Readers against readers that walk the documents in the most obvious way."""

from __future__ import annotations

from random import Random

from lxml import etree

import treeanon as ta
from tests.reference.documents import JsonDocuments, XmlDocuments, json_text, tag_of
from tests.support.paths import FOLDER
from tests.support.strategies import make_case, properties


def json_equals_the_obvious_reader(rnd: Random, *, by_path: bool = False) -> None:
    format = rnd.choice(["json", "ndjson"])
    whole = format == "json" and rnd.random() < 0.1
    case = make_case(rnd, format, whole_file=whole)
    documents = JsonDocuments(case)
    records = [documents.record(rnd) for _ in range(1 if whole else rnd.randint(1, 5))]
    path = FOLDER / f"read.{format}"
    if format == "ndjson":
        text = "".join(json_text(rnd, record, one_line=True) + "\n" for record in records)
    elif whole:
        text = json_text(rnd, records[0], one_line=False)
    else:
        value: object = records
        names = {"patients[]": ["patients"], "data.'a b'.patients[]": ["data", "a b", "patients"], "[]": []}
        for name in reversed(names[case.record or ""]):
            value = {name: value}
        text = json_text(rnd, value, one_line=False)
    path.write_text(text)
    forest = ta.read(path, case.schema)
    assert list(forest.records()) == [documents.tree(record) for record in records], case.toml
    assert forest.report is not None
    assert forest.report.dropped.total() == documents.dropped.total()
    if by_path:
        assert forest.report.dropped.paths() == dict(documents.dropped)


def xml_equals_the_obvious_reader(rnd: Random) -> None:
    whole = rnd.random() < 0.1
    case = make_case(rnd, "xml", whole_file=whole)
    documents = XmlDocuments(case)
    names = (case.record or "").split("/")
    count = 1 if whole else rnd.randint(1, 5)
    records = [documents.record(rnd, names[-1]) for _ in range(count)]
    top = records[0]
    for name in reversed(names[:-1]):
        outer = etree.Element(tag_of(name))
        outer.extend(records if name == names[-2] else [top])
        top = outer
    path = FOLDER / "read.xml"
    path.write_bytes(etree.tostring(top, encoding=rnd.choice(["utf-8", "utf-16"]), xml_declaration=True))
    # what a parser makes of the text: ends of lines, attributes
    found = etree.parse(path).getroot()
    for name in names[1:]:
        parent, found = found, next(iter(found))
        assert found.tag == tag_of(name)
    elements = [found] if whole else list(parent)
    forest = ta.read(path, case.schema)
    assert list(forest.records()) == [documents.tree(element) for element in elements], case.toml
    assert forest.report is not None
    assert forest.report.dropped.total() == documents.dropped


test_json, test_json_thorough = properties(json_equals_the_obvious_reader, 40)
test_xml, test_xml_thorough = properties(xml_equals_the_obvious_reader, 40)


def places_of_dropped_fields(rnd: Random) -> None:
    json_equals_the_obvious_reader(rnd, by_path=True)
