"""`treeanon preview` as a user has it: what it prints where, what it refuses, and that it publishes nothing."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import treeanon as ta
from tests.support.waiting import WAIT
from treeanon.cli.main import main
from treeanon.cli.preview import has_colors
from treeanon.errors import GuaranteeError, UsageError
from treeanon.reports.preview_text import preview_text

SCHEMA = """version = 1
input = { format = "ndjson" }
[[class]]
name = "age"
path = "age"
hierarchy = { prefix = [1] }
[[class]]
name = "ill"
path = "visits[].ill"
"""
CSV_SCHEMA = SCHEMA.replace("ndjson", "csv").replace("visits[].ill", "ill")
ILLS = ["flu", "gout", "acne"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    people = [{"age": f"{3 + i % 2}{i % 10}", "visits": [{"ill": ILLS[i % 3]}], "name": "n"} for i in range(60)]
    (tmp_path / "p.ndjson").write_text("".join(json.dumps(one) + "\n" for one in people))
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "p.csv").write_text("age,ill\n" + "".join(f"{3 + i % 2}{i % 10},{ILLS[i % 3]}\n" for i in range(60)))
    (tmp_path / "c.toml").write_text(CSV_SCHEMA)
    return tmp_path


def run(line: str) -> Result:
    return CliRunner().invoke(main, ["preview", *line.split()])


TREES = "p.ndjson -s s.toml -k 5"
ROWS = "p.csv -s c.toml -k 5"


def test_records_before_and_after_and_nothing_is_written(home: Path):
    there = sorted(path.name for path in home.iterdir())
    found = run(TREES)
    assert found.exit_code == 0
    assert found.stdout.startswith("PREVIEW: nothing is written. It shows ORIGINAL data")
    assert found.stdout.count(" of 60, changed by ") == 3
    assert "Whoever knows up to 2 values of a person" in found.stdout
    assert "      60  name" in found.stdout
    assert "\x1b" not in found.stdout and max(map(len, found.stdout.splitlines())) <= 80
    assert sorted(path.name for path in home.iterdir()) == there


def test_rows_of_a_table_and_documents_seen_as_one(home: Path):
    found = run(f"{ROWS} --records 1")
    assert found.exit_code == 0 and "row " in found.stdout and "rows that are alike" in found.stdout
    found = run("p.ndjson -s s.toml -k 5 -a mondrian --reduce ill=mode --worst --records 1")
    assert found.exit_code == 0 and "rows that are alike" in found.stdout


@pytest.mark.parametrize("line", [TREES, ROWS])
def test_named_records_are_shown_in_the_order_they_are_named(home: Path, line: str):
    told = json.loads(run(f"{line} --record 7 --record 2 --json").stdout)
    assert [change["record"] for change in told["changes"]] == [7, 2]
    assert told["contains_original_data"] is True and told["records"] == 60
    assert told["release"]["verification"]["holds"] is True


def test_json_has_trees_by_node_and_what_became_of_each(home: Path):
    change = json.loads(run(f"{TREES} --record 1 --json").stdout)["changes"][0]
    assert {"id": 2, "class": "age", "value": "30", "children": []} in change["before"]
    assert {"before", "after", "changes", "moved_from"} == set(change["nodes"][0])
    assert [node["before"] for node in change["nodes"]] == [0, 1, 2]


def test_a_sample_says_so(home: Path):
    found = run(f"{TREES} --sample 30")
    assert "SAMPLE of 30 of 60 records" in found.stdout
    assert json.loads(run(f"{TREES} --sample 30 --json").stdout)["sampled"] == 30


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f"{TREES} --class sex", "unknown class 'sex'; choose from age, ill"),
        (f"{ROWS} --class sex", "unknown class 'sex'; choose from age, ill"),
        (f"{TREES} --record 61", "no record 61: the input has 60"),
        (f"{ROWS} --record 61", "no record 61: the input has 60"),
        (f"{TREES} --param style=ranges", "'maximal' has no parameter 'style'"),
        ("p.csv -s c.toml", "k"),
    ],
)
def test_what_cannot_be_meant_is_refused(home: Path, line: str, told: str):
    found = run(line)
    assert found.exit_code != 0
    assert told in (str(found.exception) if isinstance(found.exception, UsageError) else found.output)
    assert "PREVIEW" not in found.stdout


@pytest.mark.parametrize(
    "line", [f"{TREES} --record 1 --worst", f"{TREES} --records 0", f"{TREES} --record 0", "p.ndjson -s s.toml"]
)
def test_options_that_do_not_go_together(home: Path, line: str):
    assert run(line).exit_code == 2


def test_a_guarantee_that_cannot_be_reached_is_told_as_by_anonymize(home: Path):
    found = run("p.ndjson -s s.toml -k 61")
    assert isinstance(found.exception, GuaranteeError) and not found.stdout


def test_quiet_prints_nothing(home: Path):
    found = run(f"{TREES} --quiet")
    assert found.exit_code == 0 and not found.output


def test_colors_when_asked_for(home: Path):
    assert "\x1b[33m" in CliRunner().invoke(main, ["preview", *TREES.split(), "--color"], color=True).stdout
    assert "\x1b" not in CliRunner().invoke(main, ["preview", *TREES.split(), "--no-color"], color=True).stdout


def on_a_terminal() -> str:
    """What a terminal would be sent."""
    above, below = pty.openpty()
    command = [sys.executable, "-m", "treeanon", "preview", *TREES.split(), "--records", "1"]
    env = {**os.environ, "TERM": "xterm", "NO_COLOR": ""}
    done = subprocess.Popen(command, stdout=below, stderr=subprocess.DEVNULL, env=env)
    os.close(below)
    out = b""
    while True:
        try:
            part = os.read(above, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(above)
    assert done.wait(WAIT) == 0
    return out.decode()


def test_colors_on_a_terminal_that_wants_them(home: Path):
    assert "\x1b[1mPREVIEW" in on_a_terminal()


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_the_environment_can_want_no_colors(environment: dict[str, str], wanted: bool, monkeypatch: pytest.MonkeyPatch):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert has_colors() is wanted


def test_an_encoding_that_lacks_letters_is_no_obstacle(home: Path):
    (home / "p.ndjson").write_text("".join(json.dumps({"age": "é東"}) + "\n" for _ in range(9)))
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "treeanon", "preview", *TREES.split(), "--records", "1"]
    done = subprocess.run(command, capture_output=True, env=env, check=False)
    assert done.returncode == 0 and b"\\xe9\\u6771" in done.stdout


def test_hostile_values_are_texts(home: Path):
    values = ["\x1b[2J\x1b[31m", "a\u202eb", "<script>", "\u200b\u200d", "z" * 10**6, "line\nbreak"]
    rows: list[Any] = [{"age": "30", "visits": [{"ill": value} for value in values]} for _ in range(6)]
    (home / "p.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = run(f"{TREES} --records 1")
    assert found.exit_code == 0
    assert all(line.isprintable() and len(line) <= 80 for line in found.stdout.splitlines())
    for text in ("\\x1b[2J\\x1b[31m", "a\\u202eb", "\\u200b\\u200d", "line\\nbreak", "zzz…"):
        assert text in found.stdout


def test_a_page_with_it(home: Path):
    found = run(f"{TREES} --records 1 --html page.html")
    assert found.exit_code == 0 and "ORIGINAL data written to page.html" in found.stderr
    assert "<html" in (home / "page.html").read_text().lower()
    assert isinstance(run(f"{TREES} --html page.html").exception, Exception), "an existing file is not replaced"
    assert run(f"{TREES} --html page.html --force --quiet").exit_code == 0
    assert run(f"{TREES} --html p.ndjson --force").exit_code == 2, "the input is not written over"
    assert run(f"{TREES} --html s.toml --force").exit_code == 2
    assert run(f"{TREES} --html -").exit_code == 2
    assert run(f"{ROWS} --html rows.html --sample 30").exit_code == 0


def test_the_name_of_a_page_does_not_steer_the_terminal(home: Path):
    line = [*f"{TREES} --records 1 --html".split(), "page\x1b[31m.html"]
    found = CliRunner().invoke(main, ["preview", *line], color=True)
    assert found.exit_code == 0 and "written to page\\x1b[31m.html" in found.stderr


def test_rows_are_told_of_as_by_the_other_commands() -> None:
    table = ta.read_table("samples/census.csv", ta.Schema.load("schemas/census.toml")).take(np.arange(200))
    found = ta.preview(table, k=5, l=2)
    text = preview_text(found, width=200)
    assert found.release.sentence in text
    assert f"GCP (taxonomy) {found.release.loss.gcp_taxonomy:.3f}" in text
