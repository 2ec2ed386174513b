"""One Spark session for all tests of the engine; where Java or PySpark is missing they are skipped, and say so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="PySpark is not installed: pip install '.[spark]'")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed")
    from treeanon.engines.spark.session import session

    found = session()
    found.conf.set("spark.sql.shuffle.partitions", "3")
    yield found
    found.stop()
