"""The Spark session: the one there is, or a local one that needs no setting up."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

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
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
}
"""What a session of our own is given, unless the environment says otherwise. Values of data must not reach a log."""

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
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    _require_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder
    if not _is_submitted():
        builder = builder.master(os.environ.get("SPARK_MASTER", MASTER))
        for name, value in _LOCAL.items():
            if name != "spark.driver.memory" or "--driver-memory" not in os.environ.get("PYSPARK_SUBMIT_ARGS", ""):
                builder = builder.config(name, value)
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    try:
        with _silent() if not _is_submitted() else nullcontext():
            return builder.getOrCreate()
    except Exception as problem:
        raise UsageError(
            f"Spark could not be started ({type(problem).__name__}); it needs Java 17 or newer, and memory for a driver"
        ) from None


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
