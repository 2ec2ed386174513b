"""Paths through tables: the keys they follow, and every way in which they can be wrong."""

from __future__ import annotations

import pytest

from treeanon.errors import SchemaError
from treeanon.schema import Schema
from treeanon.schema.keys import KeyFormError, parse_key
from treeanon.schema.relational import nested, resolve

COLUMNS = {
    "flight": ("id", "origin", "dest", "crew", "year", "kind"),
    "airport": ("id", "city", "region"),
    "region": ("id", "name", "chief"),
    "seat": ("flight", "year", "row", "class", "kind"),
    "meal": ("flight", "year", "row", "dish"),
    "person": ("id", "boss", "name"),
    "odd name": ("a.b", "it's"),
}
DECLARED = [
    "flight.origin -> airport.id",
    "flight.dest -> airport.id",
    "airport.region -> region.id",
    "seat.flight -> flight.id",
    "meal.(flight, year, row) -> seat.(flight, year, row)",
    "person.boss -> person.id",
    "flight.crew -> person.id",
    "'odd name'.'a.b' -> flight.id",
]


def loaded(*paths: str, record: str = "flight", keys: tuple[str, ...] = (), rest: str = "") -> Schema:
    classes = "".join(f"[[class]]\nname = 'c{at}'\npath = '''{path}'''\n" for at, path in enumerate(paths))
    head = f'version = 1\n[input]\nformat = \'tables\'\nrecord = """{record}"""\n'
    return Schema.loads(f"{head}key = {list(keys)!r}\n{classes}{rest}", source="s.toml")


def resolved(*paths: str, record: str = "flight", keys: tuple[str, ...] = (), rest: str = "") -> list[str]:
    """The paths as they are once keys are known."""
    schema = loaded(*paths, record=record, keys=keys, rest=rest)
    found = resolve(schema, [parse_key(key) for key in DECLARED], COLUMNS)
    assert nested(found).layout.classes, "they make a layout"
    assert resolve(found, [parse_key(key) for key in DECLARED], COLUMNS).classes == found.classes
    return [spec.path.text(slashed=False) for spec in found.classes if spec.path]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("year", "year"),
        ("seat.class", "seat[].class"),
        ("seat[].class", "seat[].class"),
        ("seat(flight).class", "seat[].class"),
        ("seat[kind=a b].class", "seat[kind=a b].class"),
        ("seat.meal.dish", "seat[].meal[].dish"),
        ("airport(origin).city", "airport(origin).city"),
        ("airport( dest ).region.name", "airport(dest).region.name"),
        ("person.name", "person.name"),
        ("person.person[].name", "person.person(boss)[].name"),
        ("person.person(boss)[].name", "person.person(boss)[].name"),
        ("person.person(boss).name", "person.person(boss).name"),
        ("'odd name'.\"it's\"", 'odd name[]."it\'s"'),
    ],
)
def test_steps_follow_keys(path: str, expected: str) -> None:
    assert resolved(path) == [expected]


def test_columns_of_a_composite_key_may_be_named_in_any_order() -> None:
    expected = ["meal[].dish"]
    for columns in ("flight, year, row", "row,flight,year"):
        assert resolved(f"meal({columns}).dish", record="seat") == expected


def test_a_key_of_the_schema_comes_before_those_of_the_input() -> None:
    own = ("flight.dest -> airport.id",)
    assert resolved("airport.city", keys=own) == ["airport(dest).city"]
    assert resolved("airport(origin).city", "airport.city", keys=own) == ["airport(origin).city", "airport(dest).city"]
    again = ("meal.(row, year, flight) -> seat.(row, year, flight)",)
    assert resolved("meal.dish", record="seat", keys=again) == ["meal[].dish"]


def told(*paths: str, record: str = "flight", keys: tuple[str, ...] = (), rest: str = "") -> list[str]:
    with pytest.raises(SchemaError) as caught:
        resolve(loaded(*paths, record=record, keys=keys, rest=rest), [parse_key(key) for key in DECLARED], COLUMNS)
    return [str(problem).removeprefix("s.toml, ") for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (
            "airport.city",
            "several keys lead from 'flight' to 'airport'; write one of: airport(origin), airport(dest)",
        ),
        ("airport(id).city", "'airport(id)' is no key from 'flight'; choose from airport(origin), airport(dest)"),
        ("airport(origin)[].city", "'airport(origin)' is no key from 'flight'; choose from "),
        (
            "person.person.name",
            "several keys lead from 'person' to 'person'; write one of: person(boss)[], person(boss)",
        ),
        ("airport(origin).flight(dest).year", "goes in a circle: flight → airport → flight"),
        ("seat.flight.year", "goes in a circle: flight → seat → flight"),
        ("setas.class", "unknown table 'setas'; choose from flight, airport, region, seat, meal, person, 'odd name'"),
        ("region.name", "no key leads from 'flight' to 'region'; keys lead to: airport, 'odd name', person, seat; key"),
        ("seat.klass", "table 'seat' has no column 'klass'; it has: flight, year, row, class, kind"),
        ("klass", "table 'flight' has no column 'klass'; it has: id, origin, dest, crew, year, kind"),
        ("seat[sort=x].class", "table 'seat' has no column 'sort'; it has: "),
        ("seat[kind.of=x].class", "a predicate of a table names one of its columns: [kind=…]"),
        ("airport(dest)[city=x].region", "'airport(dest)' is no key from 'flight'; choose from "),
        ("seat[flight=1].class", "column 'flight' of table 'seat' is a key that paths follow; keys are not published"),
        ("seat.flight", "column 'flight' of table 'seat' is a key that paths follow; keys are not published, but made"),
    ],
)
def test_a_wrong_path_is_told_with_what_there_is(path: str, expected: str) -> None:
    [problem] = told(path)
    assert problem.startswith("class 'c0': path: " + expected)


@pytest.mark.parametrize("path", ["seat[]", "airport(origin)", "seat[kind=x]"])
def test_a_path_ends_in_a_column(path: str) -> None:
    with pytest.raises(SchemaError, match="must end in a column of a table"):
        loaded(path)


def test_keys_of_either_side_are_refused_as_classes() -> None:
    assert "column 'id' of table 'flight' is a key" in told("id", "seat.class")[0]
    assert resolved("id", "airport(dest).city") == ["id", "airport(dest).city"], "a key that no path follows"
    hidden = "[[class]]\nname = 'no'\npath = 'seat.flight'\nrole = 'identifier'\n"
    assert resolved("seat.class", rest=hidden) == ["seat[].class", "seat[].flight"]


def test_names_of_the_input_table_are_checked() -> None:
    assert told("year", record="flights")[0].startswith("input: record: unknown table 'flights'; choose from flight,")
    keys = ("seat.flight -> plane.id", "seat.(year, no) -> flight.(year, id)")
    assert told("seat.class", keys=keys) == [
        "input: key 1: unknown table 'plane'; choose from flight, airport, region, seat, meal, person, 'odd name'",
        "input: key 2: table 'seat' has no column 'no'; it has: flight, year, row, class, kind",
    ]


def test_all_problems_are_told_at_once() -> None:
    assert len(told("airport.city", "setas.class", "klass", "seat.class")) == 3


def test_one_step_cannot_go_to_both_sides_of_a_key() -> None:
    both = "goes by person.boss -> person.id from one side, and another class from the other"
    assert both in told("person(boss)[].name", "person(boss).name", record="person")[0]
    hidden = "[[class]]\nname = 'no'\npath = 'person(boss).id'\nrole = 'identifier'\n"
    expected = ["person(boss)[].name", "person(boss).id"]
    assert resolved("person(boss)[].name", record="person", rest=hidden) == expected, (
        "what is not published goes freely"
    )


def test_what_contradicts_in_the_layout_is_told_once_the_keys_are_known() -> None:
    schema = loaded("seat.class", "seat[].class")
    with pytest.raises(SchemaError, match="is the path of another class too"):
        _ = resolve(schema, [parse_key(key) for key in DECLARED], COLUMNS).layout
    with pytest.raises(SchemaError, match="is the path of another class too"):
        loaded("seat.class", "seat[].class", keys=("seat.flight -> flight.id",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a name is expected at character 1"),
        ("a.b", "'->' is expected at character 4"),
        ("a -> b.c", "'.' is expected at character 3"),
        ("a.b -> c", "'.' is expected at character 9"),
        ("a.(b, c -> d.e", "')' is expected at character 9"),
        ("a.(b,) -> d.e", "a name is expected at character 6"),
        ("a.b -> c.d e", "nothing is expected at character 12"),
        ("a.(b, c) -> d.e", "2 columns cannot refer to 1"),
        ("a.(b, b) -> d.(e, f)", "a column is named twice"),
        ("a.(b, c) -> d.(e, e)", "a column is named twice"),
        ("'a.b -> c.d", "a name is expected at character 1"),
        ("''.b -> c.d", "a name is expected at character 1"),
    ],
)
def test_keys_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(KeyFormError) as caught:
        parse_key(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("text", ["a.b->c.d", " a . b -> c . d ", "a.(b)->c.(d)", "'a'.\"b\" -> c.d"])
def test_keys_are_written_freely(text: str) -> None:
    assert str(parse_key(text)) == "a.b -> c.d"
    odd = parse_key("'a b'.(\"it's\", 'c.d') -> '(x)'.('->', größe)")
    assert parse_key(str(odd)) == odd
