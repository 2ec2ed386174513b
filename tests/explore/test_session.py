"""An explorer's session: results are worked out once, newer looks end older ones, and errors are words."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import treeanon as ta
from tests.support.explorers import hospital, hospital_ground, looked, rows_ground, session_of, start_of
from tests.support.hospital import WORD
from tests.support.waiting import WAIT
from treeanon.explore.session import CurveReady, Event, Finished, OutcomeReady, Point, Problem, RiskReady, Session
from treeanon.explore.settings import explored_data
from treeanon.previews.model import RecordChange, RowChange


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with session_of(hospital_ground(tmp_path_factory.mktemp("ground"), 80, 60)) as found:
        yield found


def test_a_look_finds_what_the_library_finds(session: Session) -> None:
    settings = start_of(session.explored, k=3, algorithm="gcs")
    events = looked(session, settings)
    assert [type(event) for event in (*events[:3], events[-1])] == [OutcomeReady, CurveReady, RiskReady, Finished]
    assert isinstance(events[0], OutcomeReady) and events[-1] == Finished(True)
    found = events[0].outcome
    release = ta.anonymize(session.explored.data, k=3, algorithm="gcs")
    assert isinstance(found.preview.release, ta.Release)
    assert found.preview.release.loss == release.loss and found.preview.release.verdict.holds
    assert ta.verify(found.preview.release.forest, k=3).holds
    assert found.preview.sampled == 60 and found.preview.records == 80
    assert len(found.preview.changes) == 3


def test_the_curve_has_the_loss_of_every_k(session: Session) -> None:
    settings = start_of(session.explored, k=7, algorithm="gcs")
    curves = [event for event in looked(session, settings) if isinstance(event, CurveReady)]
    assert [len(one.points) + one.left for one in curves] == [9] * len(curves)
    assert [len(one.points) for one in curves] == sorted({len(one.points) for one in curves})
    last = curves[-1]
    assert last.left == 0 and [point.k for point in last.points] == [2, 3, 5, 7, 8, 12, 20, 35, 60]
    for point in last.points[:4]:
        loss = ta.anonymize(session.explored.data, k=point.k, algorithm="gcs").loss
        assert point == Point(point.k, loss.value_loss, 1 - loss.relations_kept)


def test_what_was_worked_out_is_not_worked_out_again(session: Session) -> None:
    settings = start_of(session.explored, k=4, algorithm="gcs")
    first = looked(session, settings)
    worked = session.worked
    again = looked(session, settings)
    assert session.worked == worked
    # All of the curve is there at once.
    assert [type(event) for event in again] == [OutcomeReady, CurveReady, RiskReady, Finished]
    assert again[1] in first and isinstance(again[1], CurveReady) and again[1].left == 0
    # Another k shares the points of the curve and the releases.
    looked(session, replace(settings, k=5))
    assert session.worked - worked <= 4


def test_typical_records_stay_the_same_ones(session: Session) -> None:
    settings = start_of(session.explored, algorithm="gcs")
    shown = []
    for k in (2, 5, 20):
        event = looked(session, replace(settings, k=k))[0]
        assert isinstance(event, OutcomeReady)
        shown.append([change.number for change in event.outcome.preview.changes])
    assert shown[0] == shown[1] == shown[2]


def test_records_by_their_number_in_the_input(session: Session) -> None:
    explored = session.explored
    assert explored.of is not None and isinstance(explored.data, ta.Forest)
    number = int(explored.of[17])
    assert explored.place(number) == 17
    event = looked(session, start_of(explored), (17,))[0]
    assert isinstance(event, OutcomeReady)
    (change,) = event.outcome.preview.changes
    assert isinstance(change, RecordChange) and change.number == number
    assert sorted(node.value for node in change.before) == sorted(node[1] for node in explored.data.record(17))
    missing = next(number for number in range(explored.records) if number not in explored.of)
    assert explored.place(missing) is None and explored.place(-1) is None and explored.place(10**9) is None


def test_a_newer_look_ends_the_older_one(session: Session) -> None:
    old: queue.SimpleQueue[Event] = queue.SimpleQueue()
    slow = start_of(session.explored, k=3, m=4, n=3, effort="4")
    session.look(slow, "typical", old.put)
    time.sleep(0.05)
    events = looked(session, start_of(session.explored, k=2, algorithm="miracle"))
    assert events[-1] == Finished(True) and isinstance(events[0], OutcomeReady)
    last = old.get(timeout=WAIT)
    while not isinstance(last, Finished):
        last = old.get(timeout=WAIT)
    assert last == Finished(False)


def test_an_ended_look_tells_nothing_more(session: Session) -> None:
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    end = session.look(start_of(session.explored, k=6, m=3, n=2, effort="4"), "worst", events.put)
    end()
    assert events.get(timeout=WAIT) == Finished(False)


def test_two_windows_may_look_at_the_same(session: Session) -> None:
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    settings = start_of(session.explored, k=9, algorithm="gcs")
    session.look(settings, "typical", events.put)
    assert looked(session, settings)[-1] == Finished(True)
    last = events.get(timeout=WAIT)
    while not isinstance(last, Finished):
        last = events.get(timeout=WAIT)
    assert last == Finished(True)


def test_what_cannot_be_reached_is_said_in_words(session: Session) -> None:
    events = looked(session, start_of(session.explored, k=1000))
    assert [type(event) for event in events] == [Problem, Finished]
    assert isinstance(events[0], Problem) and "60" in events[0].message and WORD not in events[0].message
    assert [type(event) for event in looked(session, start_of(session.explored, k=1000))] == [Problem, Finished]


def test_every_search_keeps_diversity(tmp_path: Path) -> None:
    folder = hospital(tmp_path / "x", 60, "secret")
    forest = ta.read(folder / "in.ndjson", ta.Schema.load(folder / "s.toml"))
    with session_of(explored_data(forest, 60)) as session:
        assert session.explored.of_role("sensitive") == ("secret",)
        for algorithm in ("gcs", "maximal"):
            good = looked(session, start_of(session.explored, k=2, algorithm=algorithm))
            assert isinstance(good[0], OutcomeReady) and good[-1] == Finished(True)


def test_objects_that_stay_whole_and_merged_trees_of_them(tmp_path: Path) -> None:
    folder = hospital(tmp_path / "x", 60)
    text = (folder / "s.toml").read_text().replace('objects = "merged"\n', "")
    schema = ta.Schema.loads(text, folder=folder)
    forest = ta.read(folder / "in.ndjson", schema)
    assert forest.classes.types
    with session_of(explored_data(forest, 60)) as session:
        for algorithm, whole in (("maximal", True), ("gcs", False)):
            events = looked(session, start_of(session.explored, k=2, algorithm=algorithm))
            assert isinstance(events[0], OutcomeReady) and events[-1] == Finished(True)
            found = events[0].outcome.preview.release
            assert isinstance(found, ta.Release) and bool(found.forest.classes.types) == whole


def test_rows() -> None:
    with session_of(rows_ground()) as session:
        settings = start_of(session.explored)
        assert settings.l == 2 and settings.algorithm == "local"
        events = looked(session, settings)
        assert isinstance(events[0], OutcomeReady) and events[-1] == Finished(True)
        found = events[0].outcome.preview
        assert isinstance(found.release, ta.TableRelease) and found.release.verdict.holds
        assert all(isinstance(change, RowChange) for change in found.changes)
        risked = next(event for event in events if isinstance(event, RiskReady))
        assert risked.before.kind == "table" and risked.after is not None and risked.after.at(2).share == 0
        # The freeform search has no models of sensitive columns: said in words, and the next look works.
        (problem, _) = looked(session, replace(settings, algorithm="freeform"))
        assert isinstance(problem, Problem) and "k-anonymity alone" in problem.message
        assert looked(session, replace(settings, algorithm="mondrian"))[-1] == Finished(True)
