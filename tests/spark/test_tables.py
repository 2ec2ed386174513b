"""Tables by Spark: safe by a plain count, what the local engine makes, the same however the rows are partitioned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import treeanon as ta
from tests.support.spark_tables import QUASI, check_plainly, multiset, schema, world, write_csv
from treeanon.errors import DataError, FileError, GuaranteeError, HierarchyError, SchemaError, UsageError
from treeanon.release import TableRelease
from treeanon.release.table_request import table_request_of
from treeanon.spark.interface import Job, engine_named


def by_spark(spark: Any, table: pa.Table, partitions: int, own: ta.Schema, **asked: Any) -> list[dict[str, Any]]:
    frame = spark.createDataFrame(table).repartition(partitions)
    found = ta.anonymize(frame, schema=own, **asked)
    return [row.asDict() for row in found.collect()]


def publish(source: Path, target: Path, own: ta.Schema, most: int | None = None, **asked: Any) -> TableRelease:
    given = {
        name: asked.pop(name) for name in ("force", "target_format", "source_format", "delimiter") if name in asked
    }
    job = Job(str(source), own, str(target), sample=most, seed=1, **given)
    return engine_named("spark").publish_rows(job, table_request_of(**asked))


@pytest.mark.parametrize(
    ("seed", "partitions", "asked"),
    [
        (2, 1, {"k": 4, "l": 2}),
        (3, 3, {"k": 3, "l": 2, "t": 0.6, "algorithm": "optimal"}),
        (4, 7, {"k": 3, "l": 1, "algorithm": "samarati", "max_suppressed": 6}),
    ],
)
def test_what_spark_publishes_is_what_one_machine_does(
    spark: Any, seed: int, partitions: int, asked: dict[str, Any]
) -> None:
    table, own = world(seed), schema()
    found = by_spark(spark, table, partitions, own, **asked)
    check_plainly(table, found, asked["k"], asked["l"], gone=6)
    local = ta.anonymize(table, schema=own, **asked).to_pylist()
    assert multiset(found, *QUASI, "ill") == multiset(local, *QUASI, "ill")


@pytest.mark.parametrize(("algorithm", "seed"), [("onedim", 7), ("topdown", 8)])
def test_rows_alike_may_be_published_apart(spark: Any, algorithm: str, seed: int) -> None:
    table = world(seed)
    check_plainly(table, by_spark(spark, table, 3, schema(), k=3, l=1, algorithm=algorithm), 3)


@pytest.mark.parametrize("asked", [{"k": 4, "l": 2}, {"k": 3, "l": 1, "algorithm": "mondrian", "max_suppressed": 9}])
def test_ranges_are_safe_and_partitions_do_not_matter(spark: Any, asked: dict[str, Any]) -> None:
    table, own = world(11, 200), schema()
    found = [by_spark(spark, table, partitions, own, sample=70, **asked) for partitions in (1, 7)]
    for rows in found:
        check_plainly(table, rows, asked["k"], asked["l"], gone=9)
    assert multiset(found[0], *QUASI, "ill") == multiset(found[1], *QUASI, "ill")


def test_a_file_in_ranges_tells_of_the_whole(spark: Any, tmp_path: Path) -> None:
    table, own = world(12, 200), schema()
    source = write_csv(tmp_path / "rows.csv", table)
    release = publish(source, tmp_path / "out", own, 100, k=4, l=1)
    (part,) = (tmp_path / "out").iterdir()
    assert part.name == "part-00001.csv"
    rows = [dict(zip(("age", "town", "ill", "serial"), row, strict=True)) for row in read(part, own).rows()]
    check_plainly(table, rows, 4)
    assert release.found.counts["ranges"] > 1 and release.verdict.holds
    assert release.counts["published_rows"] == 200
    assert release.counts["dropped"] == {"x": 200, "name": 200}
    sizes = multiset(rows, *QUASI)
    assert release.loss.groups == len(sizes) and release.verdict.largest_k == min(sizes.values())
    assert release.loss.discernibility == sum(size * size for size in sizes.values())


def test_what_ranges_cannot_do_is_refused(spark: Any) -> None:
    table, own = world(13), schema()
    with pytest.raises(UsageError, match="samarati would find a different recoding"):
        by_spark(spark, table, 2, own, k=3, l=1, algorithm="samarati", sample=20)
    with pytest.raises(UsageError, match="t-closeness"):
        by_spark(spark, table, 2, own, k=3, t=0.5, sample=20)
    with pytest.raises(UsageError, match="freeform links persons"):
        by_spark(spark, table, 2, schema(ill="keep"), k=3, algorithm="freeform")
    with pytest.raises(UsageError, match="permuted releases"):
        by_spark(spark, table, 2, own, l=2, publish="permuted")


def test_files_are_read_as_they_are_locally(spark: Any, tmp_path: Path) -> None:
    own = schema()
    folder = tmp_path / "in"
    folder.mkdir()
    header = '\ufeffage;"town";ill;serial;name;x\r\n'
    rows = [f'3{i % 4};"Town; ""{i % 2}""";ill-{i % 3};s{i};;\r\n' for i in range(12)]
    (folder / "a.csv").write_text(header + "".join(rows[:5]) + "\r\n", newline="")
    (folder / "b.csv").write_text(header + "".join(rows[5:]).rstrip(), newline="")
    (folder / "c.csv").write_text(header, newline="")
    (tmp_path / "all.csv").write_text(header + "".join(rows), newline="")
    release = publish(folder, tmp_path / "out", own, k=3, l=1)
    local = ta.anonymize(ta.Table(read(tmp_path / "all.csv", own).columns), k=3, l=1)
    (part,) = (tmp_path / "out").iterdir()
    assert part.read_text().startswith('"age";"town";"ill";"serial"\n')
    assert release.delimiter == local.delimiter or release.counts["rows"] == 12
    again = read(part, own)
    assert sorted(map(str, again.rows())) == sorted(map(str, local.table.rows()))


def read(path: Path, own: ta.Schema) -> ta.Table:
    from treeanon.io.columns.read_table import read_table

    return read_table(path, own, published=True)


@pytest.mark.parametrize(
    "row", ['33,"Town\nA",ill-1,s,n,1', '33,"Town A,ill-1,s,n,1', '33,Town A,ill-1,s,n,"\n\n"', '"33\n",T,i,s,n,1']
)
def test_line_ends_in_values_are_refused(spark: Any, tmp_path: Path, row: str) -> None:
    source = write_csv(tmp_path / "rows.csv", world(14, 20))
    source.write_text(source.read_text() + row + "\n" + '34,"Town A",ill-2,s9,n,1\n')
    with pytest.raises(DataError, match="Spark splits files at line breaks") as caught:
        publish(source, tmp_path / "out", schema(), k=2, l=1)
    assert "line 22" in str(caught.value) and "Town" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_values_with_line_ends_go_from_parquet_to_parquet(spark: Any, tmp_path: Path) -> None:
    table = world(15).to_pylist()
    for row in table:
        row["ill"] = row["ill"].replace("-", "\n")
    pq.write_table(pa.Table.from_pylist(table), tmp_path / "rows.parquet")
    with pytest.raises(GuaranteeError, match="publish Parquet"):
        publish(tmp_path / "rows.parquet", tmp_path / "out.csv", schema(), k=3, l=1)
    publish(tmp_path / "rows.parquet", tmp_path / "out.parquet", schema(), k=3, l=1)
    found = pq.read_table(tmp_path / "out.parquet").to_pylist()
    check_plainly(pa.Table.from_pylist(table), found, 3)
    assert [one.name for one in (tmp_path / "out.parquet").iterdir()] == ["part-00001.parquet"]
    with pytest.raises(FileError, match="exists already"):
        publish(tmp_path / "rows.parquet", tmp_path / "out.parquet", schema(), k=3, l=1)
    publish(tmp_path / "rows.parquet", tmp_path / "out.parquet", schema(), k=4, l=1, force=True)
    check_plainly(pa.Table.from_pylist(table), pq.read_table(tmp_path / "out.parquet").to_pylist(), 4)


@pytest.mark.parametrize(
    ("text", "problem", "words"),
    [
        ("age,town,age\n33,T,4\n", DataError, "have the same name"),
        ("age,ill,serial\n33,T,4\n", SchemaError, "town"),
        ("age,town,ill,serial\n33,SECRET,i,s\n34,SECRET\n", DataError, "line 3"),
        ("age,town,ill,serial\n", DataError, "holds no row"),
        ("", DataError, "header"),
        ("age,town,ill,serial\n33,SECRET,i,s\n34,SECRET,i,t\n", GuaranteeError, "fewer than k"),
    ],
)
def test_broken_input_is_told_without_values(
    spark: Any, tmp_path: Path, text: str, problem: type[Exception], words: str
) -> None:
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(problem, match=words) as caught:
        publish(tmp_path / "rows.csv", tmp_path / "out", schema(), k=3, l=1)
    assert "SECRET" not in str(caught.value)
    assert [one.name for one in tmp_path.iterdir()] == ["rows.csv"]


def test_files_with_other_headers_are_refused(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    write_csv(folder / "a.csv", world(16, 10))
    write_csv(folder / "b.csv", world(17, 10).select(["town", "age", "ill", "serial", "name", "x"]))
    with pytest.raises(DataError, match=r"b\.csv.*differs from that of the first file"):
        publish(folder, tmp_path / "out", schema(), k=2, l=1)


def test_unknown_values_are_met_as_the_schema_says(spark: Any) -> None:
    flat = ta.Hierarchy.flat(["Town A", "Town B"])
    table = world(18)
    from dataclasses import replace

    own = schema()
    strict = replace(own, classes=tuple(replace(c, hierarchy=flat) if c.name == "town" else c for c in own.classes))
    with pytest.raises(HierarchyError, match="does not know 5 distinct values"):
        by_spark(spark, table, 3, strict, k=3, l=1)
    loose = replace(
        strict,
        classes=tuple(replace(c, on_unknown="suppress") if c.name == "town" else c for c in strict.classes),
    )
    found = by_spark(spark, table, 3, loose, k=3, l=1)
    local = ta.anonymize(table, schema=loose, k=3, l=1).to_pylist()
    assert multiset(found, *QUASI) == multiset(local, *QUASI)


def test_skew_and_empty_partitions(spark: Any) -> None:
    rows = [{"age": "33", "town": None, "ill": f"ill-{i % 3}", "serial": f"s{i}"} for i in range(300)]
    rows += [{"age": f"2{i}", "town": "Town B", "ill": "ill-0", "serial": f"t{i}"} for i in range(5)]
    table = pa.Table.from_pylist(rows)
    check_plainly(table, by_spark(spark, table, 20, schema(), k=5, l=1, sample=20), 5)


def test_spellings_of_one_number_are_one_value(spark: Any) -> None:
    own = ta.Schema.loads(
        'version = 1\n[input]\nformat = "csv"\n[[class]]\nname = "age"\npath = "age"\n[[class]]\nname = "pay"\n'
        'path = "pay"\ntype = "number"\nrole = "sensitive"'
    )
    pays = ["1", "1.0", "2", "01", "1e0", "2.0"]
    table = pa.table({"age": ["33"] * 6, "pay": pays})
    with pytest.raises(GuaranteeError):
        by_spark(spark, table, 3, own, k=2, l=3)
    assert {row["pay"] for row in by_spark(spark, table, 3, own, k=2, l=2)} == {"1", "2"}
