"""One Spark session for all tests of the engine; where Java or PySpark is missing they are skipped, and say so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

QUICK = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="PySpark is not installed: pip install '.[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed")
    # Java that compiles little is ready sooner; so is Spark, which would make a program of every small plan.
    os.environ.setdefault(
        "PYSPARK_SUBMIT_ARGS",
        '--driver-java-options "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData" pyspark-shell',
    )
    from treeanon.spark.session import session

    found = session()
    for name, value in QUICK.items():
        found.conf.set(name, value)
    yield found
    found.stop()


@pytest.fixture
def split(spark: Any) -> Iterator[None]:
    """Have Spark read files in small pieces."""
    small = {"spark.sql.files.maxPartitionBytes": "900", "spark.sql.files.openCostInBytes": "1"}
    before = {name: spark.conf.get(name) for name in small}
    for values in (small, before):
        for name, value in values.items():
            spark.conf.set(name, value)
        if values is small:
            yield
