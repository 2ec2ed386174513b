"""The document of a record with what changed: it is what is written, the original in its place, for internal eyes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from lxml import etree

import treeanon as ta
from tests.support.profiles import few
from treeanon.cli.main import main
from treeanon.previews.model import Part, document_of
from treeanon.reports.page.elements import text_of
from treeanon.reports.page.internal import document
from treeanon.reports.page.page import page
from treeanon.reports.preview_text import document_lines, preview_text

TOML = """
version = 1
[input]
format = "{format}"
{record}
objects = "{objects}"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = {{ intervals = [10] }}
[[class]]
name = "ward"
path = "visits[]{joint}ward"
[[class]]
name = "ill"
path = "visits[]{joint}ills[]{joint}name"
hierarchy = {{ prefix = [1] }}
"""


def schema(format: str = "ndjson", objects: str = "whole") -> ta.Schema:
    record = 'record = "people/person"' if format == "xml" else ""
    return ta.Schema.loads(TOML.format(format=format, objects=objects, record=record, joint="/" if record else "."))


def person(age: int | None, *visits: tuple[str | None, list[str]]) -> Any:
    made: dict[str, Any] = {} if age is None else {"age": age}
    made["visits"] = [
        {**({"ward": ward} if ward else {}), "ills": [{"name": ill} for ill in ills]} for ward, ills in visits
    ]
    return made


def forest_of(people: list[Any], folder: Path, objects: str = "whole") -> ta.Forest:
    (folder / "in.ndjson").write_text("".join(json.dumps(one) + "\n" for one in people))
    return ta.read(folder / "in.ndjson", schema(objects=objects))


PEOPLE = [person(34, ("A<b>", ["J45", "E11"]), ("B", ["J40"]))] * 4 + [person(35, ("A<b>", ["J45"]))] * 3
PEOPLE += [person(71, ("C", ["X1"]))]


def plain(part: Part, *, after: bool) -> Any:
    """A part of a JSON document as JSON has it, on one of its sides."""
    if part.lead.endswith("{") or part.lead.endswith("["):
        inner = [(one.lead, plain(one, after=after)) for one in part.parts]
        if part.lead.endswith("["):
            return [value for _, value in inner if value is not None]
        return {json.loads(lead.rpartition(": ")[0]): value for lead, value in inner if value is not None} or None
    assert part.value is not None
    shown = part.value.after if after else part.value.before
    return None if shown is None else json.loads(shown)


def test_a_worked_example(tmp_path: Path) -> None:
    found = ta.preview(forest_of(PEOPLE, tmp_path), k=3, m=2, n=1, numbers=[0])
    text = preview_text(found, document=True, lines=None)
    assert '      "age": 34' in text or '~     "age": 34 -> ' in text
    assert '"ward": "A<b>"' in text and '"name": "J45"' in text
    made = text_of(document(found.changes[0], found.release.forest.schema))  # type: ignore[arg-type]
    assert "A&lt;b&gt;" in made and "<details" in made and "<b>" not in made


@settings(few(15, 30), phases=(Phase.explicit, Phase.generate))
@given(
    st.lists(
        st.builds(
            person,
            st.none() | st.integers(0, 99),
            st.tuples(st.sampled_from(["A", "B", None]), st.lists(st.sampled_from(["J45", "J40", "E11"]), max_size=2)),
            st.tuples(st.sampled_from(["A", "B"]), st.lists(st.sampled_from(["J45", "E11"]), max_size=2)),
        ),
        min_size=6,
        max_size=9,
    ),
    st.sampled_from(["whole", "merged"]),
)
def test_both_sides_are_what_is_written(people: list[Any], objects: str) -> None:
    import tempfile

    folder = Path(tempfile.mkdtemp())
    forest = forest_of(people, folder, objects)
    release = ta.anonymize(forest, k=2, m=2, n=1)
    found = ta.preview(forest, k=2, m=2, n=1, numbers=list(range(len(forest))))
    for change in found.changes:
        part = document_of(change, forest.schema)  # type: ignore[arg-type]
        assert part is not None
        ta.write(forest[change.number : change.number + 1], folder / "one.ndjson", force=True)
        written = json.loads((folder / "one.ndjson").read_text()) or None
        assert unordered(plain(part, after=False)) == unordered(written)
        if objects == "whole":
            values = [one.value for one in part.walk() if one.value is not None]
            assert len(values) == sum(not node.cls.endswith("]") for node in every(change.before))
    assert release.verdict.holds


def unordered(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted((name, unordered(inner)) for name, inner in value.items()))
    return tuple(sorted(map(unordered, value), key=repr)) if isinstance(value, list) else value


def every(nodes: Any) -> list[Any]:
    return [inner for node in nodes for inner in node.walk()]


def test_xml_and_json_show_the_same(tmp_path: Path) -> None:
    forest = forest_of(PEOPLE, tmp_path)
    ta.write(forest, tmp_path / "in.xml")
    other = ta.read(tmp_path / "in.xml", forest.schema.for_format("xml"))
    sides = []
    for one in (forest, other):
        (change,) = ta.preview(one, k=3, records=1, worst=True).changes
        part = document_of(change, one.schema)  # type: ignore[arg-type]
        assert part is not None
        found = [each.value for each in part.walk() if each.value is not None]
        sides.append(sorted((v.before.strip('"'), (v.after or "").strip('"'), sorted(v.changes)) for v in found))
    assert sides[0] == sides[1]


def test_lines_fit_their_width(tmp_path: Path) -> None:
    found = ta.preview(forest_of([person(34, ("W" * 90, ["J45" * 40]))] * 3, tmp_path), k=3, records=1)
    part = document_of(found.changes[0], found.release.forest.schema)  # type: ignore[arg-type,union-attr]
    assert part is not None
    for width in (20, 40, 80):
        assert all(sum(len(span.text) for span in line) <= width for line in document_lines(part, width))


def test_pages_show_documents_to_those_with_access_alone(tmp_path: Path) -> None:
    forest = forest_of(PEOPLE, tmp_path)
    found = ta.preview(forest, k=4, m=2, n=1, records=2, worst=True)
    internal = page(found.release, audience="internal", before=forest, changes=found.changes)
    assert "The document (JSON), with what changed" in internal and "X1" in internal
    public = page(found.release)
    assert "The document (" not in public and "X1" not in public
    etree.fromstring(text_of(document(found.changes[0], forest.schema)), etree.HTMLParser())  # type: ignore[arg-type]


@pytest.mark.parametrize("option", [[], ["--document"]])
def test_the_command_shows_trees_or_documents(tmp_path: Path, option: list[str]) -> None:
    forest_of(PEOPLE, tmp_path)
    (tmp_path / "s.toml").write_text(TOML.format(format="ndjson", objects="whole", record="", joint="."))
    args = ["preview", str(tmp_path / "in.ndjson"), "-s", str(tmp_path / "s.toml"), "-k", "3", "--record", "1"]
    output = CliRunner().invoke(main, [*args, *option]).output
    assert ('"visits": [' in output) == bool(option)
    assert "J45" in output


def test_what_has_no_document_has_none(tmp_path: Path) -> None:
    trees = 'version = 1\n[input]\nformat = "trees"\n[[class]]\nname = "age"\n'
    forest = ta.Forest.from_records(ta.Schema.loads(trees), [[["age", "34", []]]] * 2)
    (change,) = ta.preview(forest, k=2, records=1).changes
    assert document_of(change, forest.schema) is None  # type: ignore[arg-type]
