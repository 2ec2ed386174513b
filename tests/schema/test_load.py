from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.paths import ROOT
from treeanon.errors import FileError, SchemaError
from treeanon.hierarchy import Flat, Hierarchy
from treeanon.schema import Schema
from treeanon.schema.relational import is_settled
from treeanon.schema.toml_lines import find_places

SHIPPED = ROOT / "schemas"


def told(text: str, folder: Path = SHIPPED) -> list[str]:
    """The problems of a schema, each as `line thing: key: message`."""
    with pytest.raises(SchemaError) as caught:
        Schema.loads(text, folder=folder, source="s.toml")
    return [str(problem).removeprefix("s.toml, ") for problem in caught.value.problems]


@dataclass(frozen=True)
class Case:
    text: str
    problems: tuple[str, ...]


HEAD = 'version = 1\n[input]\nformat = "ndjson"\n'
XML = 'version = 1\n[input]\nformat = "xml"\n'


def a_class(rest: str, head: str = HEAD) -> str:
    """A schema whose class `a` goes on, from line 7, with `rest`."""
    return f'{head}[[class]]\nname = "a"\npath = "x"\n{rest}'


BROKEN = {
    "empty": Case(
        "",
        (
            "s.toml: version: is missing; write version = 1",
            "s.toml: input: is missing; write [input]",
            "s.toml: class: is missing; write [[class]]",
        ),
    ),
    "everything at once": Case(
        'version = 2\nauthor = "me"\n[input]\nformat = "jsn"\nfromat = 1\n'
        '[[class]]\nname = "a"\ntype = "int"\nrol = "keep"\n'
        '[[class]]\nunder = 3\nhierarchy = { grups = 2 }\n[[class]]\nname = "c"\nunder = "d"\npseudonym = 1',
        (
            "line 1: version: must be 1",
            "line 2: author: is not a key of a schema; choose from version, use, withhold, input, output",
            "line 4, [input]: format: unknown value 'jsn'; did you mean 'json'? choose from json, ndjson, xml, trees",
            "line 5, [input]: fromat: is not a key of [input]; did you mean 'format'?",
            "line 8, class 'a': type: unknown value 'int'; did you mean 'integer'? choose from text, integer,",
            "line 9, class 'a': rol: is not a key of a class; did you mean 'role'?",
            "line 10, class 2: name: is missing; for example name =",
            'line 11, class 2: under: must be the name of a class, or "/"',
            "line 12, class 2: hierarchy.grups: unknown key",
            "line 12, class 2: hierarchy: must be exactly one of",
            "line 16, class 'c': pseudonym: must be true, false, or a name that links classes",
        ),
    ),
    "version is no number": Case(a_class("").replace("= 1", "= true", 1), ("line 1: version: must be 1",)),
    "input is no table": Case(
        'version = 1\ninput = "json"\nclass = [{ name = "a", path = "x" }]',
        ("line 2: input: must be a table: [input]",),
    ),
    "class is one table": Case(
        HEAD + '[class]\nname = "a"', ("line 4: class: must be written with two brackets: [[class]]",)
    ),
    "class is no table": Case(
        'class = [\n1,\n{ name = "a", path = "x", rol = 1 }]\n' + HEAD,
        ("line 2, class 1: must be a table", "line 3, class 'a': rol: is not a key of a class"),
    ),
    "no classes": Case("class = []\n" + HEAD, ("line 1: class: is missing",)),
    "format missing": Case(
        'version = 1\n[input]\n[[class]]\nname = "a"\n',
        ("line 2, [input]: format: is missing; it is",),
    ),
    "format no text": Case(a_class("").replace('"ndjson"', "3"), ("line 3, [input]: format: must be a str",)),
    **{
        f"what {flat} has not": Case(
            "version = 1\n[input]\n"
            f'format = "{flat}"\nrecord = "r"\nkey = ["a.b -> c.d"]\n'
            '[[class]]\nname = "a"\npath = "v[].a"\n[[class]]\nname = "b"\npath = "b"\nunder = "a"\n',
            (
                f"line 4, [input]: record: is not for format {flat}, where each row is one person",
                f"line 5, [input]: key: is only for tables (tables, sqlite, duckdb, database), not for {flat}",
                "line 8, class 'a': path: must be the name of one column; put it in quotes if it holds",
                f"line 12, class 'b': under: is not for format {flat}: a row is flat, no class lies under another",
            ),
        )
        for flat in ("csv", "parquet")
    },
    "record missing in tables": Case(
        a_class("").replace("ndjson", "tables"),
        ('line 2, [input]: record: is missing; for example record = "patient"',),
    ),
    "record of tables is a path": Case(
        a_class("", HEAD.replace("ndjson", "sqlite") + 'record = "a.b"\n'),
        ("line 4, [input]: record: must be the name of the table",),
    ),
    "keys that are none": Case(
        a_class("", HEAD.replace("ndjson", "sqlite") + 'record = "a"\nkey = ["b.c", "b.(x, y) -> a.x"]\n'),
        (
            "line 5, [input]: key: key 1: '->' is expected at character 4",
            "line 5, [input]: key: key 2: 2 columns cannot refer to 1",
        ),
    ),
    "keys of documents": Case(
        a_class("", HEAD + 'key = ["b.x -> a.y"]\n'), ("line 4, [input]: key: is only for tables",)
    ),
    "record missing in json": Case(
        a_class("").replace("ndjson", "json"),
        ('line 2, [input]: record: is missing; for example record = "',),
    ),
    "record missing in xml": Case(
        a_class("", XML), ('line 2, [input]: record: is missing; for example record = "patients/patient"',)
    ),
    "record of ndjson": Case(
        a_class("", HEAD + 'record = "p[]"\n'),
        ("line 4, [input]: record: is not for format ndjson, where each line",),
    ),
    "record of trees": Case(
        a_class("", HEAD.replace("ndjson", "trees") + "record = 3\n"),
        ("line 4, [input]: record: is not for format trees, where each line",),
    ),
    "record no text": Case(a_class("", XML + "record = 3\n"), ("line 4, [input]: record: must be a string",)),
    "record broken": Case(
        a_class("", HEAD.replace("ndjson", "json") + 'record = "patients"\n'),
        ("line 4, [input]: record: must be the array of persons, such as patients[]",),
    ),
    "namespaces no table": Case(
        a_class("", XML + 'record = "h:p/h:q"\nnamespaces = "urn:h"\n'),
        ("line 5, [input]: namespaces: must be a table of prefixes",),
    ),
    "namespaces of json": Case(
        a_class("", HEAD + 'namespaces = { h = "u" }\n'),
        ("line 4, [input]: namespaces: is only for format xml, not for ndjson",),
    ),
    "namespaces broken": Case(
        a_class(
            "",
            XML + 'record = "."\n[input.namespaces]\nxml = "u"\n"a:b" = "u"\nc = 3\nd = "urn:treeanon:1"\n',
        ),
        (
            "line 6, [input]: namespaces.xml: must be a prefix of XML",
            "line 7, [input]: namespaces.a:b: must be a prefix of XML",
            "line 8, [input]: namespaces.c: must be the address of a namespace",
            "line 9, [input]: namespaces.d: urn:treeanon:1 is reserved",
        ),
    ),
    "prefixes not declared": Case(
        XML + 'record = "g:p/h:q"\nnamespaces = { h = "urn:h" }\n'
        '[[class]]\nname = "a"\npath = "h:x[i:c/@j:d=1]/i:y/@xml:id"\n',
        (
            "line 4, [input]: record: prefix 'g' is not declared in [input.namespaces]; choose from h, xml",
            "line 8, class 'a': path: prefix 'i' is not declared",
            "line 8, class 'a': path: prefix 'j' is not declared",
        ),
    ),
    "no names of XML": Case(
        XML + 'record = "p"\n[[class]]\nname = "a"\npath = "*/text()"\n',
        (
            "line 7, class 'a': path: '*' is not the name of an element or attribute",
            "line 7, class 'a': path: 'text()' is not the name",
        ),
    ),
    "names": Case(
        HEAD
        + "".join(
            f"[[class]]\nname = {name}\npath = 'p{i}'\n"
            for i, name in enumerate(("''", "'*'", "'/'", "4", "'a'", "'b'", "'a'"))
        ),
        (
            "line 5, class 1: name: must be a string that is not empty",
            "line 8, class '*': name: must be",
            "line 11, class '/': name: must be",
            "line 14, class 4: name: must be",
            "line 23, class 'a': name: is the name of class 5 too",
        ),
    ),
    "paths": Case(
        HEAD + '[[class]]\nname = "a"\n[[class]]\nname = "b"\npath = 3\n[[class]]\nname = "c"\npath = "x["\n'
        '[[class]]\nname = "d"\npath = "\'treeanon:moved\'[].x"\n',
        (
            "line 4, class 'a': path: is missing; for example path = \"visits[].hospital\"",
            "line 8, class 'b': path: must be a string",
            "line 11, class 'c': path: a name is expected at character 3",
            "line 14, class 'd': path: 'treeanon:moved' is reserved",
        ),
    ),
    "path missing in xml": Case(
        XML + 'record = "."\n[[class]]\nname = "a"\n',
        ("line 5, class 'a': path: is missing; for example path = \"visit[]/",),
    ),
    "choices": Case(
        a_class('type = 3\nrole = "qasi"\non_unknown = "ignore"\nunder = ""\n'),
        (
            "line 7, class 'a': type: must be a string, one of: text, integer, number, date",
            "line 8, class 'a': role: unknown value 'qasi'; did you mean 'quasi'?",
            "line 9, class 'a': on_unknown: unknown value 'ignore'; choose from error, suppress",
            "line 10, class 'a': under: must be the name of a class",
        ),
    ),
    "pseudonym of no identifier": Case(
        a_class("pseudonym = true"), ("line 7, class 'a': pseudonym: is only for role = \"identifier\"",)
    ),
    "pseudonym of a broken role": Case(
        a_class('role = "id"\npseudonym = true'), ("line 7, class 'a': role: unknown value 'id'",)
    ),
    "hierarchy of no name": Case(
        a_class(r'hierarchy = "\u0000.csv"'), ("line 7, class 'a': hierarchy: must be a file",)
    ),
    "hierarchy of no kind": Case(a_class("hierarchy = 3"), ("line 7, class 'a': hierarchy: must be a file",)),
    "builder and type": Case(
        a_class("hierarchy = { intervals = [5], min = 'x' }"),
        (
            'line 7, class \'a\': hierarchy.intervals: needs a class of type = "integer" or "number"',
            "line 7, class 'a': hierarchy.min: must be a finite number",
        ),
    ),
    "builder of another type": Case(
        a_class("hierarchy = { dates = ['year'] }"),
        ("line 7, class 'a': hierarchy.dates: needs a class of type",),
    ),
    "a name given twice": Case(
        HEAD + '[[class]]\nname = "a"\npath = "x"\n[[class]]\nname = "a"\npath = "y"\n',
        ("line 8, class 'a': name: is the name of class 1 too",),
    ),
    "builder and broken type": Case(
        a_class('type = "intiger"\nhierarchy = { intervals = [] }\n'),
        (
            "line 7, class 'a': type: unknown value 'intiger'; did you mean 'integer'?",
            "line 8, class 'a': hierarchy.intervals: must be a list of widths",
        ),
    ),
    "builder in a table of its own": Case(
        a_class("[class.hierarchy]\ngroups = 1"),
        ("line 8, class 'a': hierarchy.groups: must be a whole number",),
    ),
    "layout beside other problems": Case(
        HEAD + '[[class]]\nname = "a"\npath = "x[].a"\n[[class]]\nname = "b"\npath = "y[].b"\nunder = "a"\n'
        '[[class]]\nname = "c"\npath = "y[].c"\nunder = "d"\non_unknown = 0\n',
        (
            "line 10, class 'b': under: 'a' lies in x[], which does not enclose",
            "line 14, class 'c': under: 'd' is no class of this schema; choose from a, b",
            "line 15, class 'c': on_unknown: must be a string",
        ),
    ),
    "layout alone": Case(
        HEAD + '[[class]]\nname = "a"\npath = "x"\n[[class]]\nname = "b"\npath = "x"\n'
        '[[class]]\nname = "c"\npath = "x.y"\n',
        (
            "line 9, class 'b': path: is the path of another class",
            "paths: 'x' cannot be a value and hold further fields",
        ),
    ),
    "nothing that only follows": Case(
        HEAD + '[[class]]\nname = "a"\npath = "x["\n[[class]]\nname = "b"\npath = "y[].b"\nunder = "a"\n'
        '[[class]]\npath = "z"\n[[class]]\nname = "c"\npath = "c"\nunder = "lost"\n',
        ("line 6, class 'a': path: a name is expected", "line 11, class 3: name: is missing"),
    ),
    "a circle beside a default in doubt": Case(
        HEAD + '[[class]]\nname = "x"\npath = "v[]."\n[[class]]\nname = "a"\npath = "v[].a"\nunder = "b"\n'
        '[[class]]\nname = "b"\npath = "v[].b"\n',
        ("line 6, class 'x': path: a name is expected",),
    ),
}


@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN.keys())
def test_all_problems_are_told_with_their_lines(case: Case) -> None:
    found = told(case.text)
    assert len(found) == len(case.problems), "\n".join(found)
    for problem, start in zip(found, case.problems, strict=True):
        assert problem.startswith(start), problem


@pytest.mark.parametrize("name", sorted(path.name for path in SHIPPED.glob("*.toml")))
def test_shipped_schemas_are_accepted(name: str) -> None:
    schema = Schema.load(SHIPPED / name)
    assert not is_settled(schema) or schema.layout.classes


def test_everything_that_a_schema_can_say() -> None:
    schema = Schema.loads(
        'version = 1\ninput.format = "xml"\ninput.record = "h:p/h:q"\n'
        'input.namespaces = {h = "urn:h", "" = "u"}\n'
        '[[class]]\nname = "age"\npath = "@h:age"\ntype = "integer"\nhierarchy = { intervals = [5] }\n'
        'on_unknown = "suppress"\n'
        '[[class]]\nname = "ssn"\npath = "ssn"\nrole = "identifier"\npseudonym = true\n'
        '[[class]]\nname = "drop"\npath = "x"\nrole = "drop"\nunder = "nowhere"\n'
    )
    age, ssn, drop = schema.classes
    assert schema.input.namespaces == {"h": "urn:h", "": "u"}
    assert (age.type, age.on_unknown, age.hierarchy_source) == ("integer", "suppress", {"intervals": [5]})
    assert (ssn.published, ssn.hierarchy, drop.published) == (True, Flat(), False)
    assert [c.name for c in schema.layout.classes] == ["age", "ssn"]


def test_trees_need_no_paths() -> None:
    schema = Schema.loads(HEAD.replace("ndjson", "trees") + '[[class]]\nname = "a"\n')
    assert schema.classes[0].path is None and schema.input.record is None


def test_hierarchy_files_are_found_from_the_folder_of_the_schema(tmp_path: Path) -> None:
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "a.csv").write_text("secret-one;upper;*\n")
    (tmp_path / "h" / "broken.csv").write_text("secret-one;up;*\nsecret-one;down;*\n")
    (tmp_path / "h" / "broken.json").write_text('{"secret-one": ["secret-two"')
    file = tmp_path / "s.toml"
    file.write_text(a_class('hierarchy = "h/a.csv"'))
    assert isinstance(Schema.load(file).classes[0].hierarchy, Hierarchy)
    for name, what in (
        ("h/none.csv", "No such file"),
        ("h", "must end in .csv or .json"),
        ("h/a.txt", "must end in .csv or .json"),
        ("", "must end in .csv or .json"),
        ("h/broken.csv", "lines 1 and 2"),
        ("h/broken.json", "line 1"),
    ):
        (problem,) = told(a_class(f'hierarchy = "{name}"'), tmp_path)
        assert problem.startswith("line 7, class 'a': hierarchy: ")
        assert what in problem and "secret" not in problem


def test_files_that_are_no_schema(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.toml: cannot be read"):
        Schema.load(tmp_path / "none.toml")
    with pytest.raises(FileError, match="cannot be read"):
        Schema.load(tmp_path)
    file = tmp_path / "s.toml"
    file.write_bytes(b"version = 1\n# caf\xe9")
    with pytest.raises(SchemaError, match=r"s\.toml, line 2: is not UTF-8") as caught:
        Schema.load(file)
    assert caught.value.__context__ is None
    file.write_bytes(b"\xef\xbb\xbf" + a_class("").replace("\n", "\r\n").encode())
    assert Schema.load(file).classes[0].name == "a"
    file.write_bytes(b"\xef\xbb\xbf" + a_class("rol = 1").replace("\n", "\r\n").encode())
    with pytest.raises(SchemaError, match=r"s\.toml, line 7, class 'a': rol"):
        Schema.load(file)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("version = 1\nsecret", "line 2, at the end: is not valid TOML: key = value is expected"),
        (
            "version = 1\n[secret]\n[secret]\n",
            "line 3, column 8: is not valid TOML: a table is declared",
        ),
        ("secret = 1\nsecret = 2\n", "line 2, column 11: is not valid TOML: a key is given twice"),
        ('a = "secret\n', "is not valid TOML"),
        ("secret = 2024-13-45\n", "line 1, column "),
        ("a = " + "[" * 100_000, "is not valid TOML"),
        ("a = " + "1" * 5000, "is not valid TOML"),
    ],
)
def test_broken_toml_is_told_without_quoting_it(text: str, problem: str) -> None:
    (found,) = told(text)
    assert problem in found and "secret" not in found


SCALARS = ['"a # ] }"', "'b = ['", '"""x\ny = 1 \\""""""', "'''\n[t]\n'''", "1", "1.5", "true"]


def array(items: list[str]) -> str:
    return "[\n" + ", # c ]\n".join(items) + "\n]"


def inline_table(items: list[str]) -> str:
    return "{ " + ", ".join(f"k{number} = {item}" for number, item in enumerate(items)) + " }"


VALUES = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.lists(inner, max_size=3).flatmap(
        lambda items: st.sampled_from([array(items), inline_table(items)])
    ),
    max_leaves=6,
)
OPENED = ["[t{0}]", "[t{0}.'u.v']", "[[class]]", "[[ class ]] # x", '[q."\\u0061".r{0}]']


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines: list[str] = []
    for number in range(draw(st.integers(0, 4))):
        opened = [
            f"[t{number}]",
            f"[t{number}.'u.v']",
            "[[class]]",
            "[[ class ]] # x",
            f'[q."\\u0061".r{number}]',
        ]
        lines.append(draw(st.sampled_from(opened)))
        for at, value in enumerate(draw(st.lists(VALUES, max_size=3))):
            lines.append(draw(st.sampled_from(["", "# [[class]]", "\t"])))
            lines.append(draw(st.sampled_from([f"k{at}", f'"k {at}"', f"k{at} . b"])) + " = " + value)
    return "\n".join(lines)


def paths_in(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths_in(inner, (*path, key))


@given(documents())
def test_every_key_that_tomllib_finds_has_its_line(text: str) -> None:
    places = find_places(text)
    assert set(places.lines) == set(paths_in(tomllib.loads(text)))
    lines = text.split("\n")
    for path, line in places.lines.items():
        if isinstance(path[-1], str) and path[-1].startswith("k"):
            assert path[-1] in lines[line - 1]
