"""A process of its own for searches: what nobody waits for any more is ended, and nothing stays behind."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator

import pytest

from tests.support import worker_tasks as tasks
from treeanon.explore.worker import PATIENCE, Failed, Superseded, Worker


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with contextlib.closing(Worker(tasks.room, "start")) as found:
        yield found


class Wanted:
    """Wanted for so long."""

    def __init__(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds

    def __call__(self) -> bool:
        return time.monotonic() < self.until


def alive(process: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


def gone(process: int) -> bool:
    until = time.monotonic() + 5
    while alive(process) and time.monotonic() < until:
        time.sleep(0.02)
    return not alive(process)


def test_its_state_is_kept_from_task_to_task(worker: Worker) -> None:
    restarts = worker.restarts
    assert worker.run(tasks.add, "a")[-1] == "a"
    with pytest.raises(Superseded):
        worker.run(tasks.polite, 60, wanted=Wanted(0.3))
    assert worker.run(tasks.add, "b")[-2:] == ["a", "b"]
    assert worker.restarts == restarts


def test_what_does_not_end_by_itself_is_ended(worker: Worker) -> None:
    restarts, begun = worker.restarts, time.monotonic()
    with pytest.raises(Superseded):
        worker.run(tasks.stubborn, 60, wanted=Wanted(0.2))
    assert time.monotonic() - begun < 0.2 + PATIENCE + 2
    assert worker.run(tasks.add, "c") == ["start", "c"]
    assert worker.restarts == restarts + 1


def test_a_compilation_is_not_broken_off(worker: Worker) -> None:
    restarts = worker.restarts
    seen = []

    def wanted() -> bool:
        seen.append(worker.compiling)
        return not worker.compiling

    with pytest.raises(Superseded):
        worker.run(tasks.compiling, PATIENCE + 0.6, wanted=wanted)
    assert seen[-1] and worker.restarts == restarts and not worker.compiling


def test_what_is_not_wanted_is_not_begun(worker: Worker) -> None:
    with pytest.raises(Superseded):
        worker.run(tasks.failing, "killed", wanted=lambda: False)


def test_a_late_end_does_not_touch_the_next_task(worker: Worker) -> None:
    for _ in range(5):
        with contextlib.suppress(Superseded):
            worker.run(tasks.polite, 0.05, wanted=Wanted(0.05))
        assert worker.run(tasks.polite, 0.05) is None


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("guarantee", "cannot be reached"),
        ("memory", "out of memory"),
        ("secret", "internal error: ValueError; please report it"),
        ("killed", "the search was ended by the system; perhaps there was not enough memory"),
    ],
)
def test_errors_come_back_without_values_of_the_data(worker: Worker, kind: str, message: str) -> None:
    with pytest.raises(Failed) as caught:
        worker.run(tasks.failing, kind)
    assert str(caught.value) == message
    assert "start" in worker.run(tasks.add, "d")


def test_closing_ends_what_is_being_done() -> None:
    worker = Worker(tasks.room)
    process = worker.run(tasks.process)
    ended: list[type[BaseException]] = []

    def work() -> None:
        try:
            worker.run(tasks.stubborn, 60)
        except BaseException as problem:
            ended.append(type(problem))

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    worker.close()
    thread.join(10)
    assert ended == [Superseded] and gone(process)
    with pytest.raises(Superseded):
        worker.run(tasks.process)


def test_tasks_of_several_threads_take_turns(worker: Worker) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(worker.run(tasks.process))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(found) == 5 and len({*found}) == 1
