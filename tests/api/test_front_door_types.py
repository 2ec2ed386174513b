"""What a type checker says of a user's script: right calls have precise types, wrong ones are refused."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

# Lines that end in `# refused` must be errors, all others none.
SCRIPT = """
from __future__ import annotations

from pathlib import Path
from typing import Any

import treeanon as ta
from treeanon.privacy.models import KAnonymity


class Frame:
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return None


def right(f: ta.Forest, t: ta.Table, frame: Frame, people: list[dict[str, Any]], schema: ta.Schema) -> None:
    trees: ta.Release = ta.anonymize(f, k=5, m=2, n=1, attacker="joint", seed=1, jobs=2)
    trees = ta.anonymize(f, k=5, algorithm="gcs", parameters={"g": 3}, complete=True, l=2, diversity="frequency")
    trees = ta.anonymize(f, max_loss=0.2, max_suppressed="1%", weights={"age": 2.0}, effort="quick")
    rows: ta.TableRelease = ta.anonymize(t, k=5, l={"ill": 3}, diversity="recursive", c=2, models=[KAnonymity(3)])
    rows = ta.anonymize(t, alpha=0.5, p=2, t=0.2, emd="ordered", publish="generalized", k=2)
    apart: ta.PermutedRelease = ta.anonymize(t, l=2, publish="permuted")
    same: Frame = ta.anonymize(frame, schema=schema, k=5)
    both: tuple[Frame, Frame] = ta.anonymize(frame, schema=schema, l=2, publish="permuted")
    tables: dict[str, Frame] = ta.anonymize({"patient": frame}, schema="schema.toml", k=5, m=2)
    dicts: list[dict[str, Any]] = ta.anonymize(people, schema=Path("schema.toml"), k=5)
    dicts = ta.anonymize(people, schema="schema.toml", k=5, t=0.2)
    written = ta.anonymize("in.xml", schema="schema.toml", k=5)
    written.write("out.xml", force=True)
    print(same, both, tables, dicts, apart.verdict.holds, rows.loss, trees.solution)

    verdict = ta.verify(f, k=5, m=2, n=1, patterns=False)
    print(verdict.largest_k, ta.verify(t, k=5, l=3).groups, ta.verify(t, k=5, original=t).k)
    print(ta.verify("out.csv", schema=schema, k=5).holds, ta.verify(frame, schema=schema, t=0.2, k=2).holds)
    print(ta.risk(f, k=5, m=3, n=2, sample=100).at(1).share, ta.risk(t, k=5, population=t).whole)
    print(ta.risk(people, schema=schema, k=5, seconds=None).persons)
    print(ta.preview(f, k=5, records=3, worst=True, sample=1000).changes)
    print(ta.preview(people, schema=schema, k=5, classes="age").records)
    done: ta.JobResult = ta.run("job.toml", dry_run=True, force=True)
    print(done.files, done.verdict, done.losses, done.facts)
    ta.run(Path("job.toml"), dryrun=True)  # refused
    again: ta.Release = ta.apply("solution.json", f)
    same = ta.apply("solution.json", frame, schema=schema)
    dicts = ta.apply("solution.json", people, schema=schema)
    forest: ta.Forest = ta.read("in.xml", "schema.toml", jobs=2)
    table: ta.Table = ta.read_table(Path("in.csv"), schema, delimiter=";")
    table = ta.table_of(frame, schema)
    ta.write(forest, "out.xml", force=True)
    ta.write_page(again, "page.html", audience="internal", before=f, risk_after=ta.risk(f), title="x")
    print(table, ta.verify(ta.read_permuted("out", schema), l=2).holds)


def wrong(f: ta.Forest, t: ta.Table, frame: Frame, people: list[dict[str, Any]], schema: ta.Schema) -> None:
    ta.anonymize(f, kk=5)  # refused
    ta.anonymize(f, k="five")  # refused
    ta.anonymize(f, k=5, attacker="strong")  # refused
    ta.anonymize(f, k=5, t=0.2)  # refused
    ta.anonymize(f, k=5, g=3)  # refused
    ta.anonymize(f, k=5, parameters=3)  # refused
    ta.anonymize(f, k=5, publish="permuted")  # refused
    ta.anonymize(t, k=5, m=2)  # refused
    ta.anonymize(t, k=5, emd="far")  # refused
    ta.anonymize(t, k=5, publish="everything")  # refused
    ta.anonymize(frame, k=5)  # refused
    ta.anonymize(people, k=5)  # refused
    ta.anonymize(people, schema=3, k=5)  # refused
    ta.anonymize(frame, schema=schema, k=5, m=2, t=0.2)  # refused
    ta.anonymize({"patient": frame}, schema=schema, k=5, t=0.2)  # refused
    ta.anonymize("in.xml", schema=schema, kk=5)  # refused
    ta.anonymize(5, schema=schema, k=5)  # refused
    release: ta.Release = ta.anonymize(t, k=5)  # refused
    ta.verify(f, kk=5)  # refused
    ta.verify(t, k=5, m=2)  # refused
    ta.verify(f, k=5, original=t)  # refused
    ta.risk(f, banana=3)  # refused
    ta.risk(t, n=2)  # refused
    ta.risk(people)  # refused
    ta.preview(f, k=5, banana=3)  # refused
    ta.preview(t, k=5, m=2)  # refused
    ta.apply("solution.json", frame)  # refused
    ta.apply(3, f)  # refused
    ta.read("in.xml", schema, on_error="ignore")  # refused
    ta.read("in.xml", 3)  # refused
    ta.read_table("in.csv", schema, banana=3)  # refused
    ta.table_of(3, schema)  # refused
    ta.write(t, "out.xml")  # refused
    ta.write_page(f, "page.html")  # refused
    ta.write_page(release, "page.html", audience="everyone")  # refused
    ta.write_page(release, "page.html", colour="red")  # refused
"""


def test_a_script_is_checked(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    # What was found of the package is kept from run to run, which saves most of the time.
    cache: pytest.Cache | None = getattr(request.config, "cache", None)
    kept = tmp_path if cache is None else cache.mkdir("mypy")
    # In a process of its own: hundreds of megabytes go with it.
    done = subprocess.run(
        [sys.executable, "-m", "mypy",
         "--strict", "--follow-imports=silent", "--ignore-missing-imports", "--config-file=", "--no-pretty",
         "--no-error-summary", f"--cache-dir={kept}", str(script)],
        capture_output=True,
        text=True,
    )  # fmt: skip
    said = done.stdout
    assert not done.stderr and done.returncode == 1
    found = {int(line) for line in re.findall(r"script\.py:(\d+): error:", said)}
    wanted = {number for number, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith("# refused")}
    assert found == wanted, said
