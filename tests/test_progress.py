"""Work apart: what it gives, who is told, and that nobody has to wait for its end."""

from __future__ import annotations

import os
import signal
import threading
from functools import partial
from pathlib import Path

import pytest

import treeanon as ta
from tests.support.waiting import WAIT, wait_until
from treeanon.progress import Progress, is_work_abandoned, run_interruptibly, stage


def test_it_gives_what_the_work_gives_or_raises() -> None:
    told: list[tuple[int, int | None]] = []

    def work(progress: Progress) -> str:
        assert threading.current_thread() is not threading.main_thread()
        progress(1, 2)
        return "done"

    assert run_interruptibly(work, lambda done, total: told.append((done, total))) == "done"
    assert told == [(1, 2)]

    def fails(progress: Progress) -> str:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_interruptibly(fails)


def test_only_the_main_thread_waits_for_another() -> None:
    where: list[threading.Thread] = []
    thread = threading.Thread(target=lambda: run_interruptibly(lambda _: where.append(threading.current_thread())))
    thread.start()
    thread.join()
    assert where == [thread]


@pytest.mark.parametrize("tells", [True, False])
def test_a_signal_is_answered_at_once(tells: bool) -> None:
    ended, enough = threading.Event(), threading.Event()

    def work(progress: Progress) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            while not enough.wait(0.01):
                if tells:
                    progress(1, None)
        finally:
            ended.set()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_interruptibly(work)
    finally:
        signal.signal(signal.SIGINT, before)
    # Work that tells how far it is ends then; other work goes on, which is known.
    assert tells or is_work_abandoned()
    if not tells:
        assert not ended.is_set()
        enough.set()
    assert ended.wait(WAIT)
    wait_until(lambda: not is_work_abandoned())


def test_stages_and_ticks_are_for_those_who_want_them() -> None:
    class Drawn:
        def __init__(self) -> None:
            self.names: list[str] = []
            self.ticks = 0

        def __call__(self, done: int, total: int | None) -> None:
            self.names.append(f"{done}/{total}")

        def stage(self, name: str) -> Drawn:
            self.names.append(name)
            return self

        def tick(self) -> None:
            self.ticks += 1

    drawn = Drawn()
    progress = stage(drawn, "searching")
    run_interruptibly(lambda _: wait_until(lambda: drawn.ticks), progress)
    assert progress is drawn and drawn.names == ["searching"] and drawn.ticks > 0
    assert stage(None, "searching") is None


class Named:
    """Who wants to know what is being done."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, done: int, total: int | None) -> None:
        pass

    def stage(self, name: str) -> Named:
        self.names.append(name)
        return self


def test_releases_tell_what_is_being_done(tmp_path: Path) -> None:
    schema = ta.Schema.loads('version = 1\n[input]\nformat = "ndjson"\n[[class]]\nname = "age"\npath = "age"')
    forest = ta.Forest.from_records(schema, [[["age", "34", []]]] * 3)
    ages = ta.Table.of_texts({"age": (["34"] * 3, ta.Hierarchy.flat(["34", "35"]))})
    for release, name in ((partial(ta.anonymize, forest), "o.ndjson"), (partial(ta.anonymize, ages), "o.csv")):
        named = Named()
        made = release(k=2, progress=named)
        assert named.names == ["searching", "verifying"]
        made.write(tmp_path / name, progress=named)
        assert named.names[-1] == "verifying" and named.names.count("verifying") == 2


def test_work_that_can_be_ended_has_cleaned_up_before_the_signal_is_met() -> None:
    ended, done = threading.Event(), []

    def work(progress: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert ended.wait(WAIT)
        done.append("clean")

    # A process that was started in the background may ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_interruptibly(work, end=ended.set)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == ["clean"]


def test_the_first_interrupt_asks_for_the_best_so_far() -> None:
    finish = threading.Event()

    def work(progress: object) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        assert finish.wait(WAIT)
        return "the best so far"

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert run_interruptibly(work, finish=finish) == "the best so far"
        # Whoever has been asked already is interrupted.
        with pytest.raises(KeyboardInterrupt):
            run_interruptibly(work, finish=finish)
    finally:
        signal.signal(signal.SIGINT, before)
