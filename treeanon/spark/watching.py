"""Work by Spark that a signal ends: its jobs are cancelled, and it has cleaned up before anybody goes on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from treeanon.progress import Progress, apart
from treeanon.spark.interface import Told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")


class Telling:
    """Tells how far the work is; where nobody waits for the work any more, it ends there."""

    def __init__(self, told: Told | None, progress: Progress) -> None:
        self.told, self.progress = told, progress

    def __call__(self, words: str) -> None:
        """Tells it in words."""
        self.progress(0, None)
        if self.told is not None:
            self.told(words)


def watched(work: Callable[[Telling], T], told: Told | None) -> T:
    """What the work gives, done in a thread of its own.

    A signal that came in the middle of a call of Java would leave the connection to it unusable, jobs running, and what
    they have written where it is. What is told may have a method `tick`, which is called now and then.
    """
    doing: list[threading.Thread] = []
    inside = _in_same_session()

    def run(progress: Progress) -> T:
        doing.append(threading.current_thread())
        found: T = inside(lambda: work(Telling(told, progress)))
        return found

    def end() -> None:
        if doing:
            _cancel(_tag_of(doing[0]))

    return apart(run, _Ticking(told), end)


class _Ticking:
    """Gives the ticks of a wait to what draws."""

    def __init__(self, told: Told | None) -> None:
        self._tick: Callable[[], None] | None = getattr(told, "tick", None)

    def __call__(self, done: int, total: int | None) -> None:
        """How much is done is told in words."""

    def tick(self) -> None:
        """Passes a tick on."""
        if self._tick is not None:
            self._tick()


def _in_same_session() -> Callable[[Callable[[], Any]], Any]:
    """Does work in another thread with the session, and the properties of jobs, that this thread has, if any."""
    if "pyspark" not in sys.modules:
        return _plainly
    from pyspark import SparkContext, inheritable_thread_target
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is None:
        return _plainly
    active = SparkSession.getActiveSession()
    if active is None:
        return _plainly
    session: Any = active

    def inside(work: Callable[[], Any]) -> Any:
        session._jvm.org.apache.spark.sql.SparkSession.setActiveSession(session._jsparkSession)
        return work()

    inherited: Callable[[Callable[[], Any]], Any] = inheritable_thread_target(active)(inside)
    return inherited


def _plainly(work: Callable[[], Any]) -> Any:
    return work()


@contextmanager
def tagged(spark: SparkSession) -> Iterator[None]:
    """Jobs that are started within are known as those of this thread."""
    context, tag = spark.sparkContext, _tag_of(threading.current_thread())
    context.addJobTag(tag)
    try:
        yield
    finally:
        with suppress(Exception):
            context.removeJobTag(tag)


def _tag_of(thread: threading.Thread) -> str:
    return f"treeanon-{thread.ident}"


def _cancel(tag: str) -> None:
    """Ends the jobs with a tag; where Java is not there yet, or no longer, there are none."""
    if "pyspark" not in sys.modules:
        return
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is not None:
        with suppress(Exception):
            context.cancelJobsWithTag(tag)
