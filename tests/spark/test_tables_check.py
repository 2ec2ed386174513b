"""The check of tables over all partitions counts what that of one machine counts, and keeps back what fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import treeanon as ta
from tests.support.spark_tables import schema, world, write_csv
from treeanon.errors import GuaranteeError
from treeanon.io.columns.frames import table_of
from treeanon.privacy.models import KAnonymity
from treeanon.privacy.models.registry import models_of
from treeanon.release.table_request import table_request_of
from treeanon.spark.interface import Job, engine_named
from treeanon.spark.table import engine as tables
from treeanon.spark.table.checking import check_written, fingerprint_of
from treeanon.verifier.table import verify_table


def test_it_counts_what_is_counted_on_one_machine(spark: Any) -> None:
    own = ta.Schema.loads(
        'version = 1\n[input]\nformat = "csv"\n'
        + "".join(
            f'[[class]]\nname = "{name}"\npath = "{name}"\nrole = "{role}"\n'
            for name, role in (("town", "quasi"), ("ill", "sensitive"), ("age", "sensitive"))
        )
    )
    data = world(41, 80)
    data = data.set_column(0, "age", [[None if a is None else a[0] for a in data["age"].to_pylist()]])
    table = table_of(data, own)
    models = (
        *models_of(12, l={"ill": 2, "age": 3}, t={"age": 0.3}),
        *models_of(l={"ill": 2}, diversity="entropy"),
        *models_of(alpha={"ill": 0.5}, k=2),
        *models_of(l={"ill": 2, "age": 3}, t={"age": 0.3}, sensitive="joined"),
    )
    rows = [tuple(row) for row in table.rows()]
    frame = spark.createDataFrame(rows, "v0 string, v1 string, v2 string").repartition(5)
    found, squares = check_written(frame, table.columns, models)
    local = verify_table(table, models)
    assert sorted(map(str, found.checked)) == sorted(map(str, local.checked)) and not local.holds
    assert any(one.groups for one in found.checked if one.column) and squares > 80
    assert (found.largest_k, found.groups, found.rows) == (local.largest_k, local.groups, local.rows)
    assert fingerprint_of(frame, 3) != fingerprint_of(frame.selectExpr("v1 v0", "v0 v1", "v2"), 3)


def test_what_does_not_hold_does_not_appear(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, own, search = write_csv(tmp_path / "rows.csv", world(42)), schema(), tables.search_whole

    def less(rows: Any, request: Any, *more: Any) -> Any:
        """A search that finds less than what it is asked for."""
        from dataclasses import replace

        return search(rows, replace(request, models=(KAnonymity(2),), unprotected=True), *more)

    monkeypatch.setattr(tables, "search_whole", less)
    request = table_request_of(k=6, l=1)
    with pytest.raises(GuaranteeError, match="did not pass the check"):
        engine_named("spark").publish_rows(Job(str(source), own, str(tmp_path / "out")), request)
    monkeypatch.setattr(tables, "search_whole", search)
    monkeypatch.setattr(tables, "read_again", lambda given, columns: _without_a_row(spark, len(columns)))
    with pytest.raises(GuaranteeError, match="does not give the published rows"):
        engine_named("spark").publish_rows(Job(str(source), own, str(tmp_path / "out")), request)
    assert [one.name for one in tmp_path.iterdir()] == ["rows.csv"]


def _without_a_row(spark: Any, columns: int) -> Any:
    return spark.createDataFrame([], ", ".join(f"v{i} string" for i in range(columns)))
