"""A process of its own for searches: what nobody waits for any more is ended, and nothing stays behind."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.support import worker_tasks as tasks
from tests.support.waiting import WAIT, wait_until
from treeanon.explore.worker import PATIENCE, Failed, Superseded, Worker


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with contextlib.closing(Worker(tasks.room, "start")) as found:
        yield found


def wanted_for(looks: int) -> Callable[[], bool]:
    """Wanted until it has been asked so often."""
    left = iter([True] * looks)
    return lambda: next(left, False)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that has any time to end by itself, as it may need on a busy machine."""
    monkeypatch.setattr("treeanon.explore.worker.PATIENCE", WAIT)


def alive(process: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


def test_its_state_is_kept_from_task_to_task(worker: Worker, patient: None) -> None:
    restarts = worker.restarts
    assert worker.run(tasks.add, "a")[-1] == "a"
    with pytest.raises(Superseded):
        worker.run(tasks.polite, WAIT, wanted=wanted_for(10))
    assert worker.run(tasks.add, "b")[-2:] == ["a", "b"]
    assert worker.restarts == restarts


def test_what_does_not_end_by_itself_is_ended(worker: Worker) -> None:
    restarts = worker.restarts
    with pytest.raises(Superseded):
        worker.run(tasks.stubborn, WAIT, wanted=wanted_for(10))
    assert worker.run(tasks.add, "c") == ["start", "c"]
    assert worker.restarts == restarts + 1


def test_a_compilation_is_not_broken_off(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    restarts, seen = worker.restarts, []

    class Clock:
        """Goes on only while kernels are compiled, and then by more than the worker's patience with every look."""

        now = 0.0

        def monotonic(self) -> float:
            self.now += 2 * PATIENCE if worker.compiling else 0
            return self.now

    def wanted() -> bool:
        seen.append(worker.compiling)
        return not worker.compiling

    monkeypatch.setattr("treeanon.explore.worker.time", Clock())
    with pytest.raises(Superseded):
        worker.run(tasks.compiling, 0.5, wanted=wanted)
    assert seen[-1] and worker.restarts == restarts and not worker.compiling


def test_what_is_not_wanted_is_not_begun(worker: Worker) -> None:
    with pytest.raises(Superseded):
        worker.run(tasks.failing, "killed", wanted=lambda: False)


def test_a_late_end_does_not_touch_the_next_task(worker: Worker, patient: None) -> None:
    for _ in range(5):
        with contextlib.suppress(Superseded):
            worker.run(tasks.polite, 0.05, wanted=wanted_for(3))
        assert worker.run(tasks.polite, 0.05) is None


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("guarantee", "cannot be reached"),
        ("memory", "out of memory"),
        ("secret", "internal error: ValueError; please report this bug"),
        ("killed", "the search was killed; there may not be enough memory"),
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
            worker.run(tasks.stubborn, WAIT)
        except BaseException as problem:
            ended.append(type(problem))

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    worker.close()
    thread.join()
    assert ended == [Superseded]
    wait_until(lambda: not alive(process))
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
