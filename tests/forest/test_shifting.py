"""Moved dates: a slow twin, documents, tables and files of persons, and that the span is told nowhere."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from treeanon.cli.main import main
from treeanon.errors import DataError, SchemaError, UsageError
from treeanon.forest import shifting
from treeanon.forest.shifting import shifted

DAYS = {2: 30.436875, 4: 365.2425}

KEPT = """
version = 1
[input]
format = "ndjson"
shift_days = 200
[[class]]
name = "born"
path = "born"
type = "date"
role = "keep"
shift = "person"
[[class]]
name = "visit"
path = "visits[].day"
type = "date"
role = "keep"
shift = "person"
[[class]]
name = "ill"
path = "visits[].ill"
[[class]]
name = "seen"
path = "seen"
type = "date"
role = "keep"
"""


def records(persons: int) -> list[dict[str, Any]]:
    """Persons whose visits are 3 and 40 days after each other, each at a time of the day."""
    made = []
    for number in range(persons):
        day = date(1999, 3, 1) + timedelta(days=211 * number)
        days = [day, day + timedelta(days=3), day + timedelta(days=43)]
        visits = [{"day": f"{each}T08:30:{number % 60:02d}-05:00", "ill": "ab"[number % 2]} for each in days]
        born = {"born": day.replace(year=day.year - 30, day=min(day.day, 28)).isoformat()}
        made.append({**born, "seen": "2024-05-06", "visits": visits})
    return made


def moved_by_hand(text: str, span: int) -> str:
    """Return the moved date as the documentation says it: days by days, months and years by the nearest number."""
    if match := re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})(.*)|(\d{4})(\d{2})(\d{2})(.*)", text):
        year, month, day, rest = (match[at] or match[at + 4] for at in (1, 2, 3, 4)) if match[1] else match.groups()[4:]
        found = date(int(year), int(month), int(day)) + timedelta(days=span)
        return (found.isoformat() if match[1] else found.strftime("%Y%m%d")) + (rest or "")
    if match := re.fullmatch(r"(\d{4})-(\d{2})", text):
        months = int(match[1]) * 12 + int(match[2]) - 1 + round(span / DAYS[2])
        return f"{months // 12:04d}-{months % 12 + 1:02d}"
    return f"{int(text) + round(span / DAYS[4]):04d}"


dates = st.dates(date(1900, 1, 1), date(2100, 12, 31))
times = st.sampled_from(["", "T10:20:30Z", "T10:20-05:00", "T23:59:59.123+02:00"])
texts = st.one_of(
    st.builds(lambda day, time: day.isoformat() + time, dates, times),
    st.builds(lambda day, time: day.strftime("%Y%m%d") + time, dates, st.sampled_from(["", "101530-0500"])),
    dates.map(lambda day: f"{day:%Y-%m}"),
    dates.map(lambda day: f"{day:%Y}"),
)


@given(st.lists(st.tuples(st.lists(texts, max_size=5), st.integers(-700, 700)), min_size=1, max_size=5))
def test_dates_move_as_a_slow_twin_says(persons: list[tuple[list[str], int]]) -> None:
    schema = ta.Schema.loads(
        'version = 1\ninput = { format = "ndjson", objects = "merged" }\n'
        'class = [{ name = "d", path = "days[]", type = "date", hierarchy = { dates = ["month"] }, shift = "person" }]'
    )
    forest = ta.Forest.from_records(schema, [[["d", text, []] for text in held] for held, _ in persons])
    after = shifted(forest, np.array([span for _, span in persons]))
    for record, (held, span) in zip(after.records(), persons, strict=True):
        assert [text for _, text, _ in record] == sorted({moved_by_hand(text, span) for text in held})


def test_spans_are_never_zero_and_use_the_whole_bound() -> None:
    found = shifting._drawn(3000, 3)
    assert set(found.tolist()) == {-3, -2, -1, 1, 2, 3}


def day_of(text: str) -> date:
    return date.fromisoformat(text[:10])


def spans_of(release: list[dict[str, Any]], by_key: dict[str, dict[str, Any]]) -> Iterator[set[int]]:
    """Yield by how many days the dates of each released person have moved, found by the seconds of their times."""
    for record in release:
        visits = sorted(visit["day"] for visit in record["visits"] if "day" in visit)
        before = by_key[visits[0][16:19]]
        own = [before["born"], *sorted(visit["day"] for visit in before["visits"])]
        after = [record["born"], *visits]
        assert [text[10:] for text in own] == [text[10:] for text in after]
        yield {(day_of(new) - day_of(old)).days for old, new in zip(own, after, strict=True)}


@pytest.mark.parametrize("objects", ["merged", "whole"])
def test_all_dates_of_a_person_move_by_one_span_and_no_other_class_moves(objects: str) -> None:
    before = records(50)
    schema = KEPT.replace("shift_days = 200", f'shift_days = 200\nobjects = "{objects}"')
    if objects == "merged":
        schema = schema.replace('path = "visits[].ill"', 'path = "visits[].ill"\nunder = "/"')
    release = ta.anonymize(before, schema=schema, k=2, m=1, n=0)
    by_key = {record["visits"][0]["day"][16:19]: record for record in before}
    spans = list(spans_of(release, by_key))
    assert all(len(found) == 1 for found in spans)
    flat = [span for found in spans for span in found]
    assert all(span and abs(span) <= 200 for span in flat)
    assert len(set(flat)) > 10
    assert {record["seen"] for record in release} == {"2024-05-06"}


def test_a_release_is_read_again_without_moving_and_another_release_moves_otherwise() -> None:
    first, second = (ta.anonymize(records(20), schema=KEPT, k=2, m=1, n=0, seed=1) for _ in range(2))
    assert sorted(map(json.dumps, first)) != sorted(map(json.dumps, second))
    kept = shifted(ta.Forest.from_records(ta.Schema.loads(KEPT), []))
    assert len(kept) == 0


def test_forests_move_once() -> None:
    schema = ta.Schema.loads(KEPT)
    forest = ta.Forest.from_records(schema, [[["born", "2001-02-03", []]], [["born", "2001-02-03", []]]])
    once = shifted(forest)
    assert shifted(once) is once
    assert shifted(once.take([0])).record(0) == once.record(0)


def test_periods_that_are_no_days_move_by_whole_ones() -> None:
    schema = ta.Schema.loads(
        'version = 1\ninput = { format = "ndjson", objects = "merged" }\n'
        'class = [{ name = "day", path = "days[]", type = "date", hierarchy = { dates = ["year"] }, shift = "person" }]'
    )
    forest = ta.Forest.from_records(schema, [[["day", text, []] for text in ("2019-W52", "2019-Q4", "2010s", "*")]])
    record = shifted(forest, np.array([100])).record(0)
    assert [text for _, text, _ in record] == ["*", "2010s", "2020-Q1", "2020-W14"]


NOT_DATES = (
    'version = 1\ninput = { format = "ndjson" }\nclass = [{ name = "day", path = "day", type = "date", shift = "person"'
)


@pytest.mark.parametrize("text", ["in the spring", "9999-12-31", "0001-01-01T10:00Z"])
def test_what_cannot_be_moved_is_refused_or_suppressed(text: str) -> None:
    rows = [[["day", text, []]], [["day", "2020-01-01", []]]]
    forest = ta.Forest.from_records(ta.Schema.loads(NOT_DATES + " }]"), rows)
    spans = np.array([1 if text > "5" else -1, 5])
    with pytest.raises(DataError, match="'day': 1 of its values are no dates") as caught:
        shifted(forest, spans)
    assert text not in str(caught.value)
    lenient = ta.Schema.loads(NOT_DATES + ', on_unknown = "suppress" }]')
    after = shifted(ta.Forest.from_records(lenient, rows), spans)
    assert list(after.records()) == [[["day", "*", []]], [["day", "2020-01-06", []]]]
    assert after.report is not None and after.report.unknown == {"day": 1} and after.report.shifted == {"day": 1}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('type = "date"\nshift = "day"', 'shift: must be "person"'),
        ('shift = "person"', 'shift: needs a class of type = "date"'),
        ('type = "date"\nrole = "drop"\nshift = "person"', "is not for role drop"),
        ('type = "date"\nshift = "person"\nfacets = { text = "told" }', "a class with facets"),
        ('type = "date"\nshift = "person"\nhierarchy = "days.csv"', "built from the dates"),
    ],
)
def test_the_schema_says_what_cannot_move(more: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "days.csv").write_text("2020-01-01;2020;*\n")
    text = f'version = 1\n[input]\nformat = "ndjson"\n[[class]]\nname = "day"\npath = "day"\n{more}\n'
    with pytest.raises(SchemaError, match=words):
        ta.Schema.loads(text, folder=tmp_path)


@pytest.mark.parametrize("days", ["0", "-3", "1.5", "true", '"30"', "36501"])
def test_the_bound_is_a_number_of_days(days: str) -> None:
    with pytest.raises(SchemaError, match=r"shift_days: must be a whole number of days from 1 to 36,500"):
        ta.Schema.loads(KEPT.replace("shift_days = 200", f"shift_days = {days}"))


def test_a_bound_without_dates_that_move_is_refused() -> None:
    with pytest.raises(SchemaError, match="shift_days: only goes with a class that has shift"):
        ta.Schema.loads(KEPT.replace('shift = "person"\n', ""))


def test_a_written_schema_says_the_same() -> None:
    from treeanon.schema.dump import dump_schema

    again = ta.Schema.loads(dump_schema(ta.Schema.loads(KEPT)))
    assert [spec.shift for spec in again.classes] == ["person", "person", "", ""]
    assert again.input.shift_days == 200


def test_tables_and_spark_refuse_what_they_cannot_move() -> None:
    schema = KEPT.replace("visits[].", "")
    with pytest.raises(UsageError, match="shift: a search of tables cannot move the dates of class 'born'"):
        ta.anonymize([{"born": "2001-02-03", "ill": "a"}] * 4, schema=schema, k=2, algorithm="mondrian")
    flat = ta.Forest.from_records(ta.Schema.loads(schema), [[["born", "2001-02-03", []]]] * 4).flatten()
    with pytest.raises(UsageError, match="cannot move the dates"):
        ta.anonymize(flat, k=2)
    from treeanon.release import Request
    from treeanon.spark.solving import check_request

    with pytest.raises(UsageError, match="shift: engine spark cannot move the dates"):
        check_request(Request(k=2), ta.Schema.loads(schema))


def run(*arguments: object) -> str:
    result = CliRunner().invoke(main, [str(one) for one in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_rows_of_persons_in_several_files_move_together(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    persons = [{"id": f"p{n}", "born": f"19{50 + n}-01-0{1 + n % 9}"} for n in range(12)]
    rows = [{"who": f"Patient/p{n}", "day": f"20{10 + n}-01-0{1 + n % 9}T11:00:{n:02d}Z"} for n in range(12)]
    for name, lines in (("Patient", persons), ("Visit", rows)):
        (tmp_path / "in" / f"{name}.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "s.toml").write_text("""
version = 1
input = { format = "ndjson" }
file = [{ name = "Patient", person = "id" }, { name = "Visit", person = "who" }]
[[class]]
name = "born"
path = "Patient.born"
type = "date"
role = "keep"
shift = "person"
[[class]]
name = "day"
path = "Visit.day"
type = "date"
role = "keep"
shift = "person"
[[class]]
name = "place"
path = "Visit.place"
""")
    run("anonymize", tmp_path / "in", "-s", tmp_path / "s.toml", "-k", 2, "-m", 1, "-n", 0, "-o", tmp_path / "out")
    read = {
        name: [json.loads(line) for line in (tmp_path / "out" / f"{name}.ndjson").read_text().splitlines()]
        for name in ("Patient", "Visit")
    }
    born = {str(line["id"]): day_of(line["born"]) for line in read["Patient"]}
    for line in read["Visit"]:
        number = int(line["day"][17:19])
        moved = (day_of(line["day"]) - day_of(rows[number]["day"])).days
        assert moved
        whose = re.sub(r"\D", "", str(line["who"]))
        assert (born[whose] - day_of(persons[number]["born"])).days == moved


def test_tables_tied_by_keys_move(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "in.sqlite")) as file:
        file.executescript("""
            CREATE TABLE patient (id INTEGER PRIMARY KEY, born TEXT, sex TEXT);
            CREATE TABLE visit (patient INTEGER REFERENCES patient (id), day TEXT);
        """)
        for number in range(12):
            file.execute("INSERT INTO patient VALUES (?, ?, 'f')", (number, f"1950-03-{10 + number}"))
            file.execute("INSERT INTO visit VALUES (?, ?)", (number, f"2015-03-{10 + number}"))
        file.commit()
    (tmp_path / "s.toml").write_text("""
version = 1
input = { format = "sqlite", record = "patient" }
class = [
  { name = "born", path = "born", type = "date", role = "keep", shift = "person" },
  { name = "day", path = "visit.day", type = "date", role = "keep", shift = "person" },
  { name = "sex", path = "sex" },
]
""")
    target = tmp_path / "out.sqlite"
    run("anonymize", tmp_path / "in.sqlite", "-s", tmp_path / "s.toml", "-k", 2, "-m", 1, "-n", 0, "-o", target)
    with closing(sqlite3.connect(target)) as file:
        pairs = file.execute("SELECT born, day FROM patient JOIN visit ON visit.patient = patient.id").fetchall()
    apart = (date(2015, 3, 10) - date(1950, 3, 10)).days
    assert len(pairs) == 12
    assert {(day_of(day) - day_of(born)).days for born, day in pairs} == {apart}
    assert len({born for born, _ in pairs} | {f"1950-03-{10 + number}" for number in range(12)}) > 20


def test_the_span_is_told_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A span whose digits occur nowhere else is in no output: release, solution, page, messages, JSON."""
    monkeypatch.setattr(shifting, "_drawn", lambda count, days: np.full(count, 17917))
    schema = KEPT.replace("shift_days = 200", "shift_days = 30000").replace('role = "keep"\nshift', "shift")
    (tmp_path / "s.toml").write_text(schema)
    (tmp_path / "in.ndjson").write_text("".join(json.dumps(record) + "\n" for record in records(30)))
    common = (tmp_path / "in.ndjson", "-s", tmp_path / "s.toml")
    told = run(
        "anonymize", *common, "-k", 2, "-o", tmp_path / "out.ndjson", "--solution", tmp_path / "x.json",
        "--html", tmp_path / "p.html", "--audience", "internal",
    )  # fmt: skip
    assert "All dates of a person by one secret span of up to 30,000 days" in told
    assert "Dates moved: born (30 values), visit (90 values)" in told
    assert "Dates that stayed, and may tell the span: seen" in told
    told += run("anonymize", *common, "-k", 2, "-o", tmp_path / "again.ndjson", "--json")
    previewed = run("preview", *common, "-k", 2)
    assert "one secret span" in previewed and "1999-03-01" not in previewed
    checked = run("verify", tmp_path / "out.ndjson", "-s", tmp_path / "s.toml", "-k", 2)
    assert "Dates of born, visit are counted as they are in the file" in checked
    told += previewed + checked
    told += run("apply", tmp_path / "x.json", *common, "-o", tmp_path / "applied.ndjson")
    outputs = [tmp_path / name for name in ("out.ndjson", "x.json", "p.html", "again.ndjson", "applied.ndjson")]
    assert "17917" not in told.replace(",", "") + "".join(path.read_text() for path in outputs)
    assert json.loads((tmp_path / "x.json").read_text())["counts"]["shifted_dates"]["days"] == 30000
    assert "one secret span" in (tmp_path / "p.html").read_text()
