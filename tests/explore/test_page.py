"""What the page holds: settings as they are sent, parts of HTML in which every value of the data is text."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from lxml import html

import treeanon as ta
from tests.support.explorers import Served, hospital_ground, looked, rows_ground, served, session_of, start_of
from tests.support.hospital import WORD
from tests.support.waiting import wait_until
from treeanon.errors import UsageError
from treeanon.explore.page import page
from treeanon.explore.parts import PARTS, chart, numbers, parts_of
from treeanon.explore.session import Finished, Point, Problem, ks_around
from treeanon.explore.settings import Settings, explored_data, searches_of, settings_of

HOSTILE = [
    "<script>document.title='run'</script>",
    "<img src=x onerror=\"document.title='run'\">",
    "'\"></svg><svg onload=document.title='run'>",
    "\x1b[31mred\x1b[0m\x07",
    "\u202eright to left\u2066",
    "]]>&lt;&amp;",
    "x" * 1_000_000,
]


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(hospital_ground(tmp_path_factory.mktemp("ground"), 70, 60)) as found:
        yield found


def test_the_form_sends_the_settings_that_it_was_made_with(tmp_path: Path) -> None:
    explored = hospital_ground(tmp_path / "x")
    given = Settings("trees", k=7, m=3, n=0, attacker="joint", algorithm="maximal", weights=(("hospital", 2.5),))
    form = html.document_fromstring(page(explored, given)).forms[0]
    fields = {name: str(value) for name, value in form.fields.items() if value is not None}
    assert settings_of(fields, "trees", explored.of_role("quasi"), sensitive=False) == given
    labels = {label.get("for") for label in form.iter("label")}
    for field in form.iter("input", "select", "textarea"):
        assert field.get("id") in labels or field.get("aria-label"), field.get("name")


def test_the_page_says_what_it_is(tmp_path: Path) -> None:
    explored = hospital_ground(tmp_path / "x", 70, 60)
    shown = html.document_fromstring(page(explored, start_of(explored)))
    words = shown.text_content()
    assert "original data" in words and "60 of 70 persons" in words and "to which all numbers refer" in words
    assert {*PARTS} <= {element.get("id") for element in shown.iter()}
    assert WORD not in words  # it has no data yet
    whole = hospital_ground(tmp_path / "y", 20)
    assert "all 20 persons" in page(whole, start_of(whole))


WRONG = [
    {"k": "x"},
    {"k": ""},
    {"k": "1.5"},
    {"algorithm": "magic"},
    {"algorithm": "samarati"},
    {"attacker": "all-knowing"},
    {"effort": "60s"},
    {"weight-0": "heavy"},
    {"weight-0": "nan"},
    {"weight-0": "-1"},
    {"weight-0": "1e9"},
    {"max_suppressed": "some"},
    {"show": "number", "number": "71"},
    {"show": "number", "number": "-1"},
    {"show": "number", "number": "9" * 5000},
    {"k": "0"},
    {"k": "9" * 20},
    {"m": "99"},
    {"n": "-1"},
    {"k": "61"},
]


@pytest.mark.parametrize("fields", WRONG, ids=lambda fields: json.dumps(fields)[:40])
def test_wrong_settings_are_told_on_the_page(explorer: Served, fields: dict[str, str]) -> None:
    parts = explorer.look(fields)
    assert parts["status"] == "No release with these settings."
    assert 'class="problem"' in parts["guarantee"] and "internal error" not in parts["guarantee"]
    assert parts["records"] == parts["losses"] == ""


def test_a_look_fills_all_parts(explorer: Served) -> None:
    parts = explorer.look({"k": "3", "algorithm": "gcs", "show": "worst"})
    assert {*parts} == {*PARTS}
    assert all(parts[name] for name in PARTS)
    assert "Value loss 0." in parts["status"]
    assert "at least 3" in parts["guarantee"] and "not for the whole input" in parts["guarantee"]
    assert parts["records"].count('<svg role="img"') == 6
    assert "no release" not in parts["points"]


def test_one_record_by_number(explorer: Served) -> None:
    explored = explorer.session.explored
    assert explored.of is not None
    number = int(explored.of[5]) + 1
    fields = {"k": "3", "algorithm": "gcs", "show": "number", "number": str(number)}
    assert f"Record {number} of the input" in explorer.look(fields)["records"]


def test_a_window_that_is_closed_ends_its_search(explorer: Served) -> None:
    body = "k=2&m=4&n=3&effort=4"
    with socket.create_connection(("127.0.0.1", explorer.access.port)) as connection:
        lines = [f"POST {explorer.access.path}look HTTP/1.1", f"Host: {explorer.host}", f"Cookie: {explorer.cookie}"]
        lines += [f"Origin: http://{explorer.host}", f"Content-Length: {len(body)}", "", body]
        connection.sendall("\r\n".join(lines).encode())
        assert b"200 OK" in connection.recv(1000)
        wait_until(lambda: explorer.session.busy)
    wait_until(lambda: not explorer.session.busy)


def test_the_command_line_follows(explorer: Served) -> None:
    status, text = explorer.post("command", {"k": "9", "m": "3", "n": "2", "weight-1": "4"})
    assert status == 200 and "-k 9 -m 3 -n 2 -a maximal --weight hospital=4 -o" in text
    assert explorer.post("command", {"k": "many"})[0] == 422
    # What a quick look finds is not what the line's usual effort finds: the page says so.
    assert "finds another release" in explorer.ask()[2]


def test_hostile_values_are_text(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(
        'version = 1\n[input]\nformat = "ndjson"\n[[class]]\nname = "<b>at</b>"\npath = "at"\n'
        '[[class]]\nname = "ill"\npath = "ill[]"\n'
    )
    people = [{"at": value, "ill": [value, HOSTILE[0]]} for value in HOSTILE for _ in range(3)]
    (tmp_path / "in.ndjson").write_text("".join(json.dumps(person) + "\n" for person in people))
    explored = explored_data(ta.read(tmp_path / "in.ndjson", ta.Schema.load(tmp_path / "s.toml")), 1000)
    assert "<b>at</b>" not in page(explored, start_of(explored))
    with session_of(explored) as session:
        seen = ""
        for first in range(0, len(people), 3):
            for event in looked(session, start_of(explored, k=3, m=1), (first,)):
                parts = parts_of(event, explored)
                assert {*parts} <= {*PARTS}
                for text in parts.values():
                    _harmless(text)
                    seen += text
    assert len(seen) < 2_000_000
    words = html.fragment_fromstring(seen, create_parent=True).text_content()
    assert "<script>document" in words and r"\x1b[31m" in words and r"\u202e" in words


def _harmless(text: str) -> None:
    for element in html.fragment_fromstring(text, create_parent=True).iter():
        assert element.tag not in ("script", "img", "iframe", "style", "link", "object", "foreignobject")
        assert not any(name.startswith("on") or name in ("style", "src", "href") for name in element.attrib)
    assert all(letter.isprintable() or letter == "\n" for letter in text)


def test_rows_of_a_table() -> None:
    explored = rows_ground()
    assert "distinct values of ill" in page(explored, start_of(explored)) and 'id="m"' not in page(
        explored, start_of(explored)
    )
    with served(explored) as explorer:
        parts = explorer.look({"k": "3", "l": "2", "algorithm": "local"})
        assert "GCP 0." in parts["status"] and "before" in parts["records"] and "svg" in parts["curve"]
        # Diversity may be given up in words alone.
        assert "sensitive" in explorer.look({"k": "3", "l": "1", "algorithm": "local"})["guarantee"]
        # Nobody is singled out by a freeform row that looks like no other.
        risk = explorer.look({"k": "3", "l": "1", "algorithm": "ring"})["risk"]
        assert "Input: singled out" in risk and "Release: singled out" not in risk and "need not be alike" in risk


def test_events_without_trees() -> None:
    explored = rows_ground()
    assert parts_of(Finished(True), explored) == {}
    assert "Change a setting" in parts_of(Finished(False), explored)["status"]
    assert parts_of(Problem("a\nb", "risk"), explored) == {"risk": '<p class="problem">a</p><p class="problem">b</p>'}


def test_every_search_can_be_chosen() -> None:
    for kind in ("trees", "table"):
        for name in searches_of(kind):  # type: ignore[arg-type]
            assert Settings(kind, algorithm=name).options == {} or name == "maximal"  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="unknown algorithm for tables"):
        Settings("table", algorithm="maximal")


def test_the_curve_is_drawn_and_told() -> None:
    points = [Point(2, 0.1, 0.0), Point(5, 0.25, 0.1), Point(20, None), Point(100, None)]
    drawn = chart(points, 5, 100)
    assert drawn.get("role") == "img" and "0.250 at k = 5" in str(drawn.get("aria-label"))
    assert (
        len(drawn.findall("circle")) == 2 and len([e for e in drawn.iter("path") if e.get("class") == "unreached"]) == 2
    )
    told = [[cell.text for cell in row] for row in numbers(points).iter("tr")]
    assert told[0] == ["k", "values lost", "relations lost"]
    assert told[1] == ["2", "0.100", "0.000"] and told[3] == ["20", "no release", "no release"]
    assert chart([], 5, 2) is not None and chart([Point(2, 1.0)], 2, 2) is not None


@pytest.mark.parametrize(("k", "persons"), [(2, 2), (5, 3), (100, 1000), (7, 60), (500, 400)])
def test_the_k_of_the_curve(k: int, persons: int) -> None:
    ks = ks_around(k, persons)
    assert ks[0] == k and len({*ks}) == len(ks)
    assert all(one == k or 2 <= one <= min(persons, 100) for one in ks)
