"""The Spark session: the active one, or a local one that needs no configuration.

Failures of Spark become errors of the package that name the kind of failure, never a row, a plan or a traceback.

A signal interrupts Spark: jobs are canceled, and cleanup is complete before control returns.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from treeanon.errors import DataError, FileError, GuaranteeError, HierarchyError, TreeanonError, UsageError
from treeanon.progress import Progress, run_interruptibly
from treeanon.spark.interface import Notify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


MASTER = "local[*, 4]"
"""All cores, and four attempts for each task: a worker that dies is restarted, as on a cluster."""

_LOCAL = {
    "spark.app.name": "treeanon",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.authenticate": "true",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
}
"""Settings of a session of our own, unless the environment overrides them. Values of the data must not reach a log or
another user of the machine: blocks are not served to other processes.
"""

_PATIENCE = 20.0
"""Seconds that the Java process is given to end."""

ARROW = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.session.timeZone": "UTC",
    # Names of fields and columns may differ only in case.
    "spark.sql.caseSensitive": "true",
}
"""Settings that the engine needs in any session, set while it works."""


def session() -> SparkSession:
    """Return the active Spark session, or a new local one; UsageError says what to install for it.

    A session that exists, or that spark-submit configures, is used unchanged.
    """
    _require_pyspark()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if SparkContext._active_spark_context is not None:
        return SparkSession.builder.getOrCreate()
    _require_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    atexit.register(_OwnSession.end)
    builder = SparkSession.builder
    if not _is_submitted():
        builder = builder.master(os.environ.get("SPARK_MASTER", MASTER))
        for name, value in _LOCAL.items():
            if name != "spark.driver.memory" or "--driver-memory" not in os.environ.get("PYSPARK_SUBMIT_ARGS", ""):
                builder = builder.config(name, value)
        if "SPARK_LOCAL_DIRS" not in os.environ:
            place = _OwnSession.folder()
            builder = builder.config("spark.local.dir", place)
            builder = builder.config("spark.driver.extraJavaOptions", f'"-Djava.io.tmpdir={place}"')
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    try:
        with _silent() if not _is_submitted() else nullcontext():
            made = builder.getOrCreate()
            if not _is_submitted():
                _OwnSession.started(made)
            return made
    except Exception as problem:
        _OwnSession.end()
        raise UsageError(
            f"Spark could not be started ({type(problem).__name__}); it needs Java 17 or newer, and memory for a driver"
        ) from None


def refuse_connected(frame: Any) -> None:
    """Raise UsageError for a dataframe of Spark Connect, which cannot broadcast values to the workers."""
    if any(one.__module__.startswith("pyspark.sql.connect") for one in type(frame).__mro__):
        raise UsageError(
            "engine spark needs a classic Spark session, not one of Spark Connect: use a single-user cluster, or"
            " spark-submit"
        )


def log_hint() -> str:
    """Return a hint at the log of a failure; empty for a session of our own, which writes no log."""
    return "" if _OwnSession.java is not None else "; its own log says more"


class _OwnSession:
    """The resources of a session of our own, which must be released: a Java process and a private folder."""

    java: subprocess.Popen[bytes] | None = None
    place: str | None = None

    @classmethod
    def folder(cls) -> str:
        """Return the folder of Spark's temporary files, which hold personal data."""
        if cls.place is None:
            cls.place = tempfile.mkdtemp(prefix="treeanon-spark-")
        return cls.place

    @classmethod
    def started(cls, spark: Any) -> None:
        """Register the Java process, which removes the folder if Python is killed."""
        jvm = spark._jvm
        cls.java = spark.sparkContext._gateway.proc
        # That Java has ended is reported by the call that fails, not by the accumulator server.
        spark.sparkContext._accumulatorServer.handle_error = lambda *_: None
        with suppress(Exception):
            # Empty if the environment has named other folders.
            hooks = jvm.org.apache.spark.util.ShutdownHookManager
            hooks.registerShutdownDeleteDir(jvm.java.io.File(cls.place))

    @classmethod
    def end(cls) -> None:
        """Stop Spark, wait until Java has ended, and remove the folder."""
        java, place, cls.java, cls.place = cls.java, cls.place, None, None
        if java is not None:
            _end_java(java)
        if place is not None:
            shutil.rmtree(place, ignore_errors=True)


def _end_java(java: subprocess.Popen[bytes]) -> None:
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if java.poll() is None:
            if context is not None:
                context.stop()
            # Python must not release its references to Java objects once Java is gone.
            gateway: Any = SparkContext._gateway
            gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    with suppress(OSError, subprocess.TimeoutExpired):
        if java.stdin is not None:
            java.stdin.close()
        java.wait(_PATIENCE)
    if java.poll() is None:
        java.kill()
        java.wait()


@contextmanager
def _silent() -> Iterator[None]:
    """Start the Java process and its workers without standard error: their tracebacks can show values."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _is_submitted() -> bool:
    """Return whether spark-submit or a similar environment has configured the master."""
    return "PYSPARK_GATEWAY_PORT" in os.environ or "--master" in os.environ.get("PYSPARK_SUBMIT_ARGS", "")


def _require_pyspark() -> None:
    if importlib.util.find_spec("pyspark") is None:
        raise UsageError('engine spark needs PySpark 4 or newer: pip install "treeanon[spark]"')
    import pyspark

    if int(pyspark.__version__.split(".")[0]) < 4:
        raise UsageError('engine spark needs PySpark 4 or newer: pip install "treeanon[spark]"')


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")  # noqa: PTH118
    if found is None:
        raise UsageError(
            "engine spark needs Java 17 or newer: install it (on Debian: openjdk-17-jre-headless), or set JAVA_HOME"
        )


_MISSING = ("PATH_NOT_FOUND", "FileNotFoundException", "Input path does not exist")
_KIND = re.compile(r"\b(?:[a-z]\w*\.)+([A-Z]\w*(?:Exception|Error))\b")
_UNREADABLE = re.compile(r"\btreeanon\.errors\.(?:DataError|HierarchyError)\b")


@contextmanager
def spark_failures(what: str) -> Iterator[None]:
    """Turn failures of Spark into a FileError that names the input or target and the kind of failure."""
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException

    try:
        yield
    except TreeanonError:
        raise
    except (ConnectionError, Py4JNetworkError):
        raise FileError(f"{what}: Spark's Java process ended unexpectedly; it may have run out of memory") from None
    except (PySparkException, Py4JError) as problem:
        text = str(problem)
        if any(word in text for word in _MISSING):
            raise FileError(f"{what}: no such file or folder") from None
        kinds = list(dict.fromkeys(_KIND.findall(text)))
        notify = ", ".join(kinds[-2:]) or type(problem).__name__
        raise FileError(f"{what}: Spark could not finish ({notify}){log_hint()}") from None


@contextmanager
def reading_again(name: str, what: str) -> Iterator[None]:
    """Raise GuaranteeError for written files that cannot be read as `what` was published, on the driver or a worker.

    Of what a worker raises, only the kind of error is looked at: its text is a traceback.
    """
    from pyspark.errors import PySparkException

    try:
        yield
    except (DataError, HierarchyError) as problem:
        raise GuaranteeError(f"{name}: not published, for it could not be read again: {problem}") from None
    except PySparkException as problem:
        if not _UNREADABLE.search(str(problem)):
            raise
        raise not_as_published(name, what) from None


def not_as_published(name: str, what: str) -> GuaranteeError:
    """Return the error for written files that are not the release."""
    return GuaranteeError(f"{name}: not published, for reading it again does not give the published {what}")


T = TypeVar("T")


class Notifier:
    """Reports the progress, and ends work that has been abandoned."""

    def __init__(self, notify: Notify | None, progress: Progress) -> None:
        self.notify, self.progress = notify, progress

    def __call__(self, words: str) -> None:
        """Report a sentence."""
        self.refuse_abandoned()
        if self.notify is not None:
            self.notify(words)

    def refuse_abandoned(self) -> None:
        """End work that has been abandoned: what is checked after Ctrl-C gets no name."""
        self.progress(0, None)


def interruptible(work: Callable[[Notifier], T], notify: Notify | None) -> T:
    """Run work in a background thread so that Ctrl-C can interrupt it; return its result.

    A signal in the middle of a call to Java would leave the connection unusable, jobs running, and partial output in
    place. If `notify` has a method `tick`, it is called regularly.
    """
    doing: list[threading.Thread] = []
    inside = _in_same_session()

    def run(progress: Progress) -> T:
        doing.append(threading.current_thread())
        found: T = inside(lambda: work(Notifier(notify, progress)))
        return found

    def end() -> None:
        if doing:
            _cancel(_tag_of(doing[0]))

    return run_interruptibly(run, _Ticker(notify), end)


class _Ticker:
    """Forwards the ticks of a wait to the progress display."""

    def __init__(self, notify: Notify | None) -> None:
        self._tick: Callable[[], None] | None = getattr(notify, "tick", None)

    def __call__(self, done: int, total: int | None) -> None:
        """Ignore counts: the progress is reported in words."""

    def tick(self) -> None:
        """Forward a tick."""
        if self._tick is not None:
            self._tick()


def _in_same_session() -> Callable[[Callable[[], Any]], Any]:
    """Return a function that runs work in another thread with this thread's session and job properties."""
    if "pyspark" not in sys.modules:
        return _call
    from pyspark import SparkContext, inheritable_thread_target
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is None:
        return _call
    active = SparkSession.getActiveSession()
    if active is None:
        return _call
    session: Any = active

    def inside(work: Callable[[], Any]) -> Any:
        session._jvm.org.apache.spark.sql.SparkSession.setActiveSession(session._jsparkSession)
        return work()

    inherited: Callable[[Callable[[], Any]], Any] = inheritable_thread_target(active)(inside)
    return inherited


def _call(work: Callable[[], Any]) -> Any:
    return work()


@contextmanager
def job_tag(spark: SparkSession) -> Iterator[None]:
    """Tag the jobs started within as those of this thread."""
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
    """Cancel the jobs with a tag; there are none if Java has not started or has ended."""
    if "pyspark" not in sys.modules:
        return
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is not None:
        with suppress(Exception):
            context.cancelJobsWithTag(tag)


def task_partition() -> int:
    """Return the partition of this task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context else 0
