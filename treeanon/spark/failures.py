"""What Spark says when it fails, as an error of ours: the kind of failure, never a row, a plan or a traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from treeanon.errors import FileError, TreeanonError
from treeanon.spark.session import log_hint

_MISSING = ("PATH_NOT_FOUND", "FileNotFoundException", "Input path does not exist")
_KIND = re.compile(r"\b(?:[a-z]\w*\.)+([A-Z]\w*(?:Exception|Error))\b")


@contextmanager
def spark_failures(what: str) -> Iterator[None]:
    """Turns failures of Spark into a FileError that names what was at work and the kind of failure."""
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException

    try:
        yield
    except TreeanonError:
        raise
    except (ConnectionError, Py4JNetworkError):
        raise FileError(
            f"{what}: Spark's Java process has ended before the work; it may have had too little memory"
        ) from None
    except (PySparkException, Py4JError) as problem:
        text = str(problem)
        if any(word in text for word in _MISSING):
            raise FileError(f"{what}: there is no such file or folder") from None
        kinds = list(dict.fromkeys(_KIND.findall(text)))
        told = ", ".join(kinds[-2:]) or type(problem).__name__
        raise FileError(f"{what}: Spark could not finish ({told}){log_hint()}") from None
