"""Whatever XML records look like: the schema that init writes loads, and reading by it meets no error."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import assume, given
from hypothesis import strategies as st
from lxml import etree

import treeanon as ta
from tests.support.profiles import few
from treeanon.errors import DataError
from treeanon.infer import propose, render_schema

SPACES = ["", "{urn:a}", "{urn:b}"]
LOCAL = st.sampled_from(["a", "b", "c", "type", "code", "name", "id", "é", "x-y", "_z", "x.y"])
TAGS = st.builds("{}{}".format, st.sampled_from(SPACES), LOCAL)
ATTRIBUTES = st.builds("{}{}".format, st.sampled_from([*SPACES, "{http://www.w3.org/XML/1998/namespace}"]), LOCAL)
TEXTS = st.sampled_from(["", " \n ", "x", " 34 ", "2019-03-07", "a long text " * 9, "12345", "*", "3.5", "'", "]"])
MAPS = [None, {None: "urn:a"}, {None: "urn:b", "p": "urn:a"}, {"p": "urn:b", "q": "urn:a"}]


@st.composite
def elements(draw, depth=3):
    element = etree.Element(draw(TAGS), nsmap=draw(st.sampled_from(MAPS)))
    element.text = draw(TEXTS)
    for name, value in draw(st.dictionaries(ATTRIBUTES, TEXTS, max_size=2)).items():
        element.set(name, value)
    for child in draw(st.lists(elements(depth - 1), max_size=3)) if depth else []:
        element.append(child)
        child.tail = draw(TEXTS)
    return element


def _is_well_formed(path):
    """lxml sometimes writes two attributes of different namespaces without a prefix."""
    try:
        etree.parse(path)
    except etree.XMLSyntaxError:
        return False
    return True


@few(50, 100)
@given(elements(), st.booleans())
def test_the_schema_loads_and_reads_its_input(root, whole):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "people.xml")
        path.write_bytes(etree.tostring(root, encoding="UTF-8", xml_declaration=True))
        assume(_is_well_formed(path))
        try:
            findings = propose(path, record="." if whole else None)
        except DataError as error:
            assert "could become a class" in str(error)
            return
        schema = ta.Schema.loads(render_schema(findings))
        assert len(ta.read(path, schema)) == len(findings.sample.records)
