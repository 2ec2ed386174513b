"""Releases by Spark: true to their solution, safe by brute force, the same however the records are partitioned."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import treeanon as ta
from tests.reference.guarantee import holds, largest_k
from tests.reference.trees import multiset
from tests.support.hospital import WORD, folder_of, is_truth, slow_release, write_persons
from treeanon.cli.main import main
from treeanon.errors import DataError, FileError, GuaranteeError, HierarchyError, UsageError
from treeanon.forest import ForestBuilder
from treeanon.io.interface import ReadOptions, writer_of
from treeanon.privacy.guarantee import Diversity
from treeanon.spark import reading
from treeanon.spark.engine import anonymize_frame, kept, request_of
from treeanon.spark.interface import DistributedRelease, Job, engine_named
from treeanon.spark.lines import LINES, lines_of_files, lines_of_frame, read_parquet
from treeanon.spark.reading import Recipe, classes_of, read_dataset
from treeanon.spark.records import batch_of, forests_of, joined
from treeanon.spark.solving import solve
from treeanon.spark.writing import Target

KNOWN = ["sex", "hospital", "diagnosis"]


class Case:
    """Persons in a folder, and their schema."""

    def __init__(self, path: Path, seed: int, count: int = 40, *extra: str) -> None:
        self.folder = folder_of(path, *extra)
        self.schema = ta.Schema.load(self.folder / "s.toml")
        self.source = write_persons(self.folder / "p.ndjson", seed, count)
        self.forest = ta.read(self.source, self.schema)

    def job(self, **more: Any) -> Job:
        return Job(str(self.source), self.schema, str(self.folder / "out"), **more)


def publish(
    case: Case, *, k: int = 3, sample: int | None = None, notify: Any = None, **asked: Any
) -> DistributedRelease:
    job = case.job(force=True, sample=sample)
    return engine_named("spark").publish(job, request_of(k=k, seed=1, **asked), notify)


def solved_in(spark: Any, case: Case, partitions: int, sample: int | None = None, **asked: Any) -> Any:
    lines = lines_of_files(spark, str(case.source), "ndjson")
    lines = replace(lines, frame=lines.frame.repartition(partitions))
    with kept(read_dataset(lines, case.schema, ReadOptions())) as dataset:
        return solve(dataset, request_of(seed=1, **asked), lambda _: None, sample)


@pytest.mark.parametrize(
    ("seed", "sample", "published", "diversity"),
    [(1, None, True, "frequency"), (2, 12, True, "frequency"), (3, 15, False, "distinct")],
)
def test_l_diversity_is_counted_over_all_records(
    spark: Any, tmp_path: Path, seed: int, sample: int | None, published: bool, diversity: Diversity
) -> None:
    case = Case(tmp_path / "c", seed, 60, "secret")
    release = publish(case, k=3, sample=sample, l=2, as_published=published, diversity=diversity)
    written = ta.read(case.folder / "out", case.schema)
    assert holds(list(written.records()), 3, 2, 1, known=KNOWN, sensitive=["secret"], l=2, diversity=diversity)
    local = ta.verify(written, k=3, l=2, as_published=published, diversity=diversity)
    assert local.holds and local.diversity == release.verdict.diversity
    assert release.verdict.holds


@pytest.mark.parametrize(
    ("seed", "asked"),
    [
        (1, {"negative": "sex"}),
        (2, {"negative": ("sex", "diagnosis"), "sample": 12}),
        (3, {"negative": "diagnosis", "m": 3, "sample": 15}),
        (4, {"negative": "diagnosis", "l": 2, "sample": 20}),
    ],
)
def test_negative_knowledge_is_counted_over_all_records(
    spark: Any, tmp_path: Path, seed: int, asked: dict[str, Any]
) -> None:
    case = Case(tmp_path / "c", seed, 60, *(["secret"] if "l" in asked else []))
    release = publish(case, k=3, **asked)
    written = ta.read(case.folder / "out", case.schema)
    names = (asked["negative"],) if isinstance(asked["negative"], str) else asked["negative"]
    under = {"sex": None, "hospital": None, "diagnosis": "hospital"}
    more = {"l": 2, "sensitive": ["secret"], "diversity": "frequency"} if "l" in asked else {}
    assert holds(list(written.records()), 3, asked.get("m", 2), 1, known=KNOWN, negative=names, under=under, **more)
    local = ta.verify(written, k=3, m=asked.get("m", 2), negative=names, l=asked.get("l", 1))
    assert local.holds and local.diversity == release.verdict.diversity
    assert local.largest_k == release.verdict.largest_k
    assert not release.solution.left_out and release.solution.guarantee.negative == names
    assert fewest_who_lack(case.folder / "out", names, under) >= 3


def test_some_persons_are_left_out_where_that_loses_less(spark: Any, tmp_path: Path) -> None:
    case = Case(tmp_path / "c", 12)
    kinds = [("M", 0, 0)] * 30 + [("F", 1, 3)] * 30 + [("F", 0, 0), ("M", 1, 3)]
    persons = [
        {"sex": f"{WORD}-{sex}", "visits": [{"hospital": f"{WORD}-H{h}", "diagnoses": [f"{WORD}-D{d}"]}]}
        for sex, h, d in kinds
    ]
    case.source.write_text("".join(json.dumps(one) + "\n" for one in persons))
    case.forest = ta.read(case.source, case.schema)
    everybody = publish(case, k=3)
    assert everybody.as_dict()["suppressed"] == 0
    for sample in (None, 25):
        release = publish(case, k=3, max_suppressed=3, sample=sample)
        written = ta.read(case.folder / "out", case.schema)
        counts = release.as_dict()
        assert 1 <= counts["suppressed"] <= 3
        assert len(written) == release.counts["published_records"] == 62 - counts["suppressed"]
        assert release.loss.value_loss + 1 - release.loss.relations_kept < (
            everybody.loss.value_loss + 1 - everybody.loss.relations_kept
        )
        assert holds(list(written.records()), 3, 2, 1, known=KNOWN)
        assert ta.verify(written, k=3).largest_k == release.verdict.largest_k
        whole = Counter(map(str, slow_release(case.forest, release.solution)))
        assert sum((whole - Counter(map(str, written.records()))).values()) == counts["suppressed"]
        assert fewest_who_lack(case.folder / "out", (), {}) >= 3


def fewest_who_lack(folder: Path, negative: tuple[str, ...], under: dict[str, str | None]) -> int:
    """An attacker's script: the fewest persons who have two values, one below the other or not, or who have one and
    lack another, at all or below it.
    """
    persons = []
    for line in "".join(path.read_text() for path in sorted(folder.iterdir())).splitlines():
        held, below = set(), set()
        found = json.loads(line)
        held |= {("sex", found["sex"])} if "sex" in found else set()
        for visit in found.get("visits", ()):
            upper = ("hospital", visit["hospital"]) if "hospital" in visit else None
            lower = {("diagnosis", one) for one in visit.get("diagnoses", ())}
            held |= lower | ({upper} if upper else set())
            below |= {(upper, one) for one in lower if upper}
        persons.append((held, below))
    values = set().union(*(held for held, _ in persons))
    counts = [sum(a in held and b in held for held, _ in persons) for a in values for b in values]
    counts += [sum((a, b) in below for _, below in persons) for a in values for b in values]
    counts += [
        sum(a in held and lacking not in held for held, _ in persons)
        for a in values
        for lacking in values
        if lacking[0] in negative
    ]
    counts += [
        sum(a in held and lacking in held and (a, lacking) not in below for held, below in persons)
        for a in values
        for lacking in values
        if lacking[0] in negative and under[lacking[0]] == a[0]
    ]
    counts += [sum(lacking not in held for held, _ in persons) for lacking in values if lacking[0] in negative]
    return min((count for count in counts if count), default=3)


def test_a_collection_that_is_not_diverse_is_refused(spark: Any, tmp_path: Path) -> None:
    case = Case(tmp_path / "c", 1, 30, "secret")
    with pytest.raises(GuaranteeError, match="diverse"):
        publish(case, k=3, l=25)
    with pytest.raises(GuaranteeError, match="diverse"):
        publish(case, k=3, l=3, diversity="distinct", sample=10)


@pytest.mark.parametrize(
    ("seed", "asked"),
    [
        (1, {"k": 3, "m": 2, "n": 1}),
        (2, {"k": 4, "m": 1, "n": 0, "sample": 10}),
        (3, {"k": 3, "m": 2, "n": 1, "sample": 8}),
        (4, {"k": 2, "m": 3, "n": 2, "sample": 12}),
        (5, {"k": 5, "m": 2, "n": 1, "sample": 15, "recoding": "subtree"}),
        (6, {"k": 3, "m": 2, "n": 1, "sample": 14, "algorithm": "gcs"}),
    ],
)
def test_releases_are_safe_and_what_their_solution_makes(
    spark: Any, tmp_path: Path, seed: int, asked: dict[str, Any]
) -> None:
    case = Case(tmp_path / "c", seed)
    published = publish(case, **asked)
    written = ta.read(case.folder / "out", case.schema)
    slow = slow_release(case.forest, published.solution)
    assert multiset(written.records()) == multiset(slow)
    m, n = asked["m"], asked["n"]
    assert holds(slow, asked["k"], m, n, known=KNOWN)
    assert published.verdict.largest_k == largest_k(slow, m, n, known=KNOWN)
    local = ta.verify(written, k=asked["k"], m=m, n=n)
    assert local.holds and local.largest_k == published.verdict.largest_k
    own = published.solution.apply(case.forest)
    from treeanon.metrics import measure

    losses = measure(case.forest, own)
    assert published.loss.value_loss == pytest.approx(losses.value_loss)
    assert published.loss.relations_kept == pytest.approx(losses.relations_kept)
    assert published.loss.rpd == pytest.approx(losses.rpd)
    assert (published.loss.before, published.loss.after) == (losses.before, losses.after)


def test_a_collection_that_fits_the_sample_loses_what_it_loses_locally(spark: Any, tmp_path: Path) -> None:
    case = Case(tmp_path / "c", 7, 60)
    local = ta.anonymize(case.forest, k=3, seed=1)
    assert is_truth(case.forest, local)
    assert publish(case).loss.value_loss == pytest.approx(local.loss.value_loss, rel=0.05)


@pytest.mark.parametrize("sample", [None, 12])
def test_partitions_do_not_matter(spark: Any, tmp_path: Path, sample: int | None) -> None:
    case = Case(tmp_path / "c", 8)
    found = [solved_in(spark, case, partitions, sample, k=3) for partitions in (1, 3, 7)]
    assert len({str(one.solution.as_dict()) for one in found}) == 1
    assert len({str(one.loss) for one in found}) == 1


def test_empty_partitions_skew_and_a_huge_record(spark: Any, tmp_path: Path) -> None:
    case = Case(tmp_path / "c", 9, 10)
    huge = {"sex": f"{WORD}-F", "visits": [{"hospital": f"{WORD}-H0"}] * 2_000, "note": "x" * 200_000}
    lines = case.source.read_text() + (json.dumps(huge) + "\n") * 6
    case.source.write_text(lines)
    case.forest = ta.read(case.source, case.schema)
    solved = solved_in(spark, case, 20, 12, k=3)
    assert holds(slow_release(case.forest, solved.solution), 3, 2, 1, known=KNOWN)


def test_forms_and_dataframes_hold_the_same(spark: Any, tmp_path: Path) -> None:
    case = Case(tmp_path / "c", 10)
    job = case.job(force=True, target_format="trees")
    request = request_of(k=3, seed=1)
    engine_named("spark").publish(job, request)
    trees = ta.read(case.folder / "out", case.schema, format="trees")
    assert sorted(path.name for path in (case.folder / "out").iterdir()) == ["part-00001.trees.jsonl"]
    frame = spark.read.json(str(case.source))
    rows, published = anonymize_frame(frame, case.schema, request)
    nested = case.folder / "nested.parquet"
    frame.write.parquet(str(nested))
    out = case.folder / "again.parquet"
    engine_named("spark").publish(Job(str(nested), case.schema, str(out)), request)
    assert published.loss.value_loss == pytest.approx(ta.anonymize(case.forest, k=3, seed=1).loss.value_loss)
    for number, found in enumerate((rows, spark.read.parquet(str(out)))):
        plain = case.folder / f"{number}.ndjson"
        plain.write_bytes(b"".join(bytes(row["line"]) + b"\n" for row in lines_of_frame(found).frame.collect()))
        assert ta.read(plain, case.schema) == trees


def test_parquet_files_may_lack_columns_that_others_have(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "p.parquet"
    folder.mkdir()
    pq.write_table(pa.table({"sex": ["F"], "more": [[1]]}), folder / "a.parquet")
    pq.write_table(pa.table({"sex": ["M"], "visits": [[{"hospital": "H"}]]}), folder / "b.parquet")
    rows = [json.loads(bytes(row["line"])) for row in lines_of_frame(read_parquet(spark, str(folder))).frame.collect()]
    assert sorted(rows, key=str) == [{"sex": "F", "more": [1]}, {"sex": "M", "visits": [{"hospital": "H"}]}]


def test_anonymize_takes_a_dataframe(spark: Any, tmp_path: Path) -> None:
    case = Case(tmp_path / "c", 11)
    frame = spark.read.json(str(case.source))
    rows = ta.anonymize(frame, schema=case.schema, k=3, seed=1)
    assert rows.count() == 40
    assert set(rows.columns) == {"sex", "visits", "treeanon:moved"}


def test_what_is_wrong_is_named_without_a_value(spark: Any, tmp_path: Path) -> None:
    case = Case(tmp_path / "c", 12)
    lines = case.source.read_text().splitlines()
    lines[16] = '{"sex": "' + WORD
    case.source.write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"p\.ndjson, line 17: is not valid JSON") as caught:
        publish(case)
    assert WORD not in str(caught.value)
    assert not (case.folder / "out").exists()
    skipped = engine_named("spark").publish(case.job(on_error="skip"), request_of(k=3))
    assert (skipped.counts["skipped_records"], skipped.counts["records"]) == (1, 39)
    lines[16] = json.dumps({"sex": "F", "visits": [{"hospital": f"{WORD}-unknown"}]})
    case.source.write_text("\n".join(lines))
    with pytest.raises(HierarchyError, match="does not know 1 distinct values") as unknown:
        publish(case)
    assert WORD not in str(unknown.value)


def test_what_cannot_be_is_refused(spark: Any, tmp_path: Path) -> None:
    case = Case(tmp_path / "c", 13)
    with pytest.raises(UsageError, match="miracle"):
        publish(case, algorithm="miracle")
    with pytest.raises(UsageError, match="objective = mining"):
        publish(case, objective="mining")
    with pytest.raises(GuaranteeError, match="fewer than k"):
        publish(case, k=41)
    with pytest.raises(FileError, match="no such file"):
        engine_named("spark").publish(replace(case.job(), source=str(case.folder / "none")), request_of(k=3))
    publish(case)
    before = sorted(path.read_bytes() for path in (case.folder / "out").iterdir())
    with pytest.raises(FileError, match="exists already"):
        engine_named("spark").publish(case.job(), request_of(k=3))
    assert sorted(path.read_bytes() for path in (case.folder / "out").iterdir()) == before


def test_nothing_is_left_where_writing_fails(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(tmp_path / "c", 14)

    def lost(*_: object, **__: object) -> None:
        raise GuaranteeError("not what was to be published")

    monkeypatch.setattr("treeanon.spark.engine.verify_written", lost)
    before = sorted(path.name for path in case.folder.iterdir())
    with pytest.raises(GuaranteeError, match="not what"):
        publish(case)
    assert sorted(path.name for path in case.folder.iterdir()) == before


UNPUBLISHED = json.dumps({"visits": [{"hospital": f"{WORD}-H0", "diagnoses": [f"{WORD}-D0"]}]})


@pytest.mark.parametrize("more", [UNPUBLISHED, None], ids=["unpublished value", "missing line"])
def test_files_that_are_not_what_was_to_be_written_fail_the_check(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str | None
) -> None:
    case, arrange = Case(tmp_path / "c", 14, 20), Target.arrange

    def tampered(target: Target) -> None:
        """Another line, or a line less."""
        arrange(target)
        (part,) = Path(target.aside.toUri().getPath()).glob("part-*")
        lines = part.read_text().splitlines()
        part.write_text("\n".join([*lines, more] if more else lines[1:]) + "\n")

    monkeypatch.setattr(Target, "arrange", tampered)
    before = sorted(path.name for path in case.folder.iterdir())
    done = CliRunner().invoke(
        main,
        ["anonymize", str(case.source), "-s", str(case.folder / "s.toml"), "-k", "20", "-o", str(case.folder / "out"),
         "--engine", "spark", "--seed", "1"],
    )  # fmt: skip
    assert isinstance(done.exception, GuaranteeError)
    assert "out: not published, for reading it again does not give the published trees" in str(done.exception)
    assert WORD not in done.output + str(done.exception)
    assert sorted(path.name for path in case.folder.iterdir()) == before


def workers_of(spark: Any) -> list[int]:
    """The Python workers: what the daemon below the Java process has started."""
    java = int(spark._jvm.java.lang.ProcessHandle.current().pid())
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(status.parent.name)] = int(fields[1])
    daemons = [pid for pid, parent in parents.items() if parent == java]
    return [pid for pid, parent in parents.items() if parent in daemons]


def test_a_worker_that_dies_while_reading_changes_nothing(spark: Any, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "c")
    schema = ta.Schema.load(folder / "s.toml")
    source = write_persons(folder / "p.ndjson", 21, 60)
    marks, stages = tmp_path / "marks", tmp_path / "stages"
    marks.mkdir()
    stages.mkdir()
    place = str(marks)

    def dying(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        mark = Path(place) / f"{context.stageId()}-{context.partitionId()}"
        (Path(place).parent / "stages" / str(context.stageId())).touch()
        yield from batches
        if not mark.exists() and len(list(Path(place).iterdir())) < 3:
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    found = []
    for deadly in (False, True):
        lines = lines_of_files(spark, str(source), "ndjson")
        frame = lines.frame.repartition(3)
        lines = replace(lines, frame=frame.mapInArrow(dying, LINES) if deadly else frame)
        with kept(read_dataset(lines, schema, ReadOptions())) as dataset:
            assert dataset.records == 60
            solved = solve(dataset, request_of(k=3, seed=1), lambda _: None, 20)
            found.append((solved.solution.as_dict(), solved.prints, solved.loss))
    assert len(list(marks.iterdir())) == 3
    # Each text is parsed once, whatever is counted afterwards.
    assert len(list(stages.iterdir())) == 1
    assert found[0] == found[1]


def test_numbers_come_to_the_driver_as_numbers_and_trees_from_what_was_parsed(tmp_path: Path) -> None:
    lines = ['version = 1', '[input]', 'format = "ndjson"', '[[class]]', 'name = "town"', 'path = "town"', '[[class]]',
             'name = "price"', 'path = "prices[]"', 'type = "number"', 'hierarchy = { intervals = [100] }']  # fmt: skip
    schema = ta.Schema.loads("\n".join(lines))
    texts = [json.dumps({"town": "ABC"[i % 3], "prices": [i / 4, i + 7]}).encode() for i in range(2500)]
    (tmp_path / "p.ndjson").write_bytes(b"\n".join(texts))
    forest = ta.read(tmp_path / "p.ndjson", schema)
    rows: list[pa.RecordBatch] = []
    for some in (texts[:1300], texts[1300:2400], texts[2400:]):
        part = batch_of(LINES, [1] * len(some), [0] * len(some), some)
        rows += reading._scan([part], "ndjson", schema, ReadOptions(), {})
    table = pa.Table.from_batches(rows)
    prices = table.filter(pc.equal(table["held"], schema.layout.class_index("price")))
    # So few that the reader makes texts of them are in the last part.
    assert len(prices["block"].drop_null()) == 2 and len(prices["text"].drop_null()) == 200
    known = reading._with_hierarchies(schema, table, ForestBuilder(schema), show_values=False)
    assert classes_of(known).hierarchies == forest.classes.hierarchies
    blocks = table.filter(pc.equal(table["held"], reading._TABLES)).select(["block"]).to_batches()
    encoded = reading._encode_tables(blocks, SimpleNamespace(value=known))
    assert joined([*forests_of(encoded, known, classes_of(known))]) == forest


def test_a_value_that_is_not_published_is_no_part_of_a_release(tmp_path: Path) -> None:
    case = Case(tmp_path / "c", 4)
    forest, schema = case.forest, case.forest.schema
    cut = {name: [forest.classes.hierarchies[forest.classes.index(name)].root] for name in KNOWN}
    nothing = np.empty(0, np.int32)
    recipe = Recipe(forest.cut_map(cut), *[nothing] * 4, None, ())
    context = SimpleNamespace(broadcast=lambda value: SimpleNamespace(value=value))
    frame = SimpleNamespace(sparkSession=SimpleNamespace(sparkContext=context))
    dataset: Any = SimpleNamespace(classes=forest.classes, frame=frame)
    suppressing = replace(schema, classes=tuple(replace(one, on_unknown="suppress") for one in schema.classes))
    shared = reading.broadcast_published(dataset, recipe, suppressing)

    def read(texts: list[str]) -> Iterator[pa.RecordBatch]:
        lines = [text.encode() for text in texts]
        part = batch_of(LINES, [1] * len(lines), [0] * len(lines), lines)
        return reading._encode([part], "ndjson", shared, ReadOptions(), {})

    published = recipe.apply(forest)[0]
    written = writer_of("ndjson").texts(published, schema).records(published)
    assert joined([*forests_of(read(written), schema, forest.classes)]) == published
    originals = writer_of("ndjson").texts(forest, schema).records(forest)
    with pytest.raises(HierarchyError):
        list(read([*written[1:], originals[0]]))


def test_workers_killed_while_writing_publish_nothing_twice(spark: Any, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "c")
    schema = ta.Schema.load(folder / "s.toml")
    source = write_persons(folder / "p.ndjson", 22, 60)
    killed = []

    def notify(words: str) -> None:
        if words in ("writing", "verifying the output"):
            for pid in workers_of(spark):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    releases = []
    for tell in (None, notify):
        job = Job(str(source), schema, str(folder / "out"), force=True)
        engine_named("spark").publish(job, request_of(k=3, seed=1), tell)
        releases.append(multiset(ta.read(folder / "out", schema).records()))
    assert killed
    assert releases[0] == releases[1]
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []
