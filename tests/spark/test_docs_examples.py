"""What the docs show of the Spark engine runs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import treeanon as ta
from tests.support.paths import ROOT
from treeanon.cli.main import main

PAGE = (ROOT / "docs/spark.md").read_text()


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    done = CliRunner().invoke(main, ["demo", str(tmp_path / "hospital"), "--quiet"])
    assert done.exit_code == 0, done.output
    return tmp_path / "hospital"


def test_the_commands_run(spark: Any, samples: Path) -> None:
    lines = [line for code in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) for line in code.splitlines()]
    shown = [line for line in lines if line.startswith("treeanon ") and "hdfs:" not in line]
    assert any("--engine spark" in line for line in shown)
    for line in shown:
        # Spark was started elsewhere: what is a name of a file there has to be whole.
        given = [
            str(samples / word) if re.search(r"[a-z][.-][a-z]|^clinic$", word) else word for word in line.split()[1:]
        ]
        done = CliRunner().invoke(main, given)
        assert done.exit_code == 0, (line, done.output, done.exception)


def test_the_dataframe_is_published(spark: Any, samples: Path) -> None:
    spark.read.json(str(samples / "patients.ndjson")).write.parquet(str(samples / "patients.parquet"))
    (code,) = re.findall(r"```py\n(.*?)```", PAGE, re.DOTALL)
    scope = {"spark": spark, "ta": ta, "schema": ta.Schema.load(samples / "hospital-json.toml")}
    *before, last = code.replace("patients.parquet", str(samples / "patients.parquet")).strip().splitlines()
    exec("\n".join([*before, f"released = {last}"]), scope)
    assert scope["released"].count() == 1000  # type: ignore[attr-defined]
    shutil.rmtree(samples / "patients.parquet")
    assert scope["released"].count() == 1000  # type: ignore[attr-defined]
