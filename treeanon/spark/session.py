"""The Spark session: the one there is, or a local one that needs no setting up."""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from treeanon.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[*, 4]"
"""All cores, and four attempts at a task: a worker that dies is started again, as on a cluster."""

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
"""What a session of our own is given, unless the environment says otherwise. Values of data must not reach a log, nor
another user of the machine: blocks are served to nobody else."""

_PATIENCE = 20.0
"""Seconds that Java has to end in."""

ARROW = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.session.timeZone": "UTC",
    # Fields of documents, and columns, may differ in nothing but their case.
    "spark.sql.caseSensitive": "true",
}
"""What the work needs of any session; set for its time."""


def session() -> SparkSession:
    """The active Spark session, or a new local one; UsageError says what to install for it.

    A program that was sent by spark-submit, or that has a session, is used as it is.
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
    atexit.register(_Own.end)
    builder = SparkSession.builder
    if not _is_submitted():
        builder = builder.master(os.environ.get("SPARK_MASTER", MASTER))
        for name, value in _LOCAL.items():
            if name != "spark.driver.memory" or "--driver-memory" not in os.environ.get("PYSPARK_SUBMIT_ARGS", ""):
                builder = builder.config(name, value)
        if "SPARK_LOCAL_DIRS" not in os.environ:
            place = _Own.folder()
            builder = builder.config("spark.local.dir", place)
            builder = builder.config("spark.driver.extraJavaOptions", f'"-Djava.io.tmpdir={place}"')
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    try:
        with _silent() if not _is_submitted() else nullcontext():
            made = builder.getOrCreate()
            if not _is_submitted():
                _Own.started(made)
            return made
    except Exception as problem:
        _Own.end()
        raise UsageError(
            f"Spark could not be started ({type(problem).__name__}); it needs Java 17 or newer, and memory for a driver"
        ) from None


def refuse_connected(frame: Any) -> None:
    """UsageError for a dataframe of Spark Connect, by which nothing can be sent to the workers once for all tasks."""
    if any(one.__module__.startswith("pyspark.sql.connect") for one in type(frame).__mro__):
        raise UsageError(
            "the engine spark needs a session of its own kind, not one of Spark Connect: use a cluster for one user, or"
            " spark-submit"
        )


def log_hint() -> str:
    """Where more is said of a failure: a session of our own writes no log."""
    return "" if _Own.java is not None else "; its own log says more"


class _Own:
    """What a session of our own leaves unless it is ended: a Java process, and a folder that nobody else can read."""

    java: subprocess.Popen[bytes] | None = None
    place: str | None = None

    @classmethod
    def folder(cls) -> str:
        """The folder for what Spark keeps on disk, which is personal data."""
        if cls.place is None:
            cls.place = tempfile.mkdtemp(prefix="treeanon-spark-")
        return cls.place

    @classmethod
    def started(cls, spark: Any) -> None:
        """Keeps the Java process in mind, which removes the folder should Python be killed."""
        jvm = spark._jvm
        cls.java = spark.sparkContext._gateway.proc
        # When Java ends, this is told by the call that it does not answer, not by the server of its counters.
        spark.sparkContext._accumulatorServer.handle_error = lambda *_: None
        with suppress(Exception):
            # Nothing, if the environment has named other folders.
            hooks = jvm.org.apache.spark.util.ShutdownHookManager
            hooks.registerShutdownDeleteDir(jvm.java.io.File(cls.place))

    @classmethod
    def end(cls) -> None:
        """Stops Spark, waits for the end of Java, and removes the folder."""
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
            # What Python still holds of Java must not be given back to it when it is gone.
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
    """Starts the Java process, and with it all workers, without our standard error: their traces can show values."""
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
    """Whether spark-submit, or an environment of its kind, has said where to run."""
    return "PYSPARK_GATEWAY_PORT" in os.environ or "--master" in os.environ.get("PYSPARK_SUBMIT_ARGS", "")


def _require_pyspark() -> None:
    if importlib.util.find_spec("pyspark") is None:
        raise UsageError('the engine spark needs PySpark 4 or newer: pip install "treeanon[spark]"')
    import pyspark

    if int(pyspark.__version__.split(".")[0]) < 4:
        raise UsageError('the engine spark needs PySpark 4 or newer: pip install "treeanon[spark]"')


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")  # noqa: PTH118
    if found is None:
        raise UsageError(
            "the engine spark needs Java 17 or newer: install it (on Debian: openjdk-17-jre-headless), or set JAVA_HOME"
        )
