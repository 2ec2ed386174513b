"""`treeanon run`: a job file stands for the options of `anonymize`, for schedulers."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import treeanon as ta
from tests.support.command_line import treeanon
from tests.support.paths import ROOT
from treeanon.cli.anonymize import command as anonymize
from treeanon.cli.run import options_of
from treeanon.errors import FileError, GuaranteeError, SchemaError, UsageError

SCHEMA = 'version = 1\n[input]\nformat = "ndjson"\none_per_person = true\n[[class]]\nname = "age"\npath = "age"\n'
JOB = '[release]\ninput = "in.ndjson"\nschema = "s.toml"\noutput = "out.ndjson"\nk = 2\nm = 1\nn = 0\n'
PAGE = (ROOT / "docs" / "how-to" / "jobs.md").read_text()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "in.ndjson").write_text('{"age":"CANARY-1","name":"x"}\n' * 3 + '{"age":"CANARY-2","name":"x"}\n' * 3)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def test_a_job(place: Path) -> None:
    done = treeanon("run", place / "job.toml")
    assert done.returncode == 0 and (place / "out.ndjson").exists()
    assert re.search(r"^\d{4}-\d\d-\d\d .* treeanon.stages: read: 6 records, 6 nodes$", done.stderr, re.M)
    assert "treeanon.stages: searching: " in done.stderr
    assert "CANARY" not in done.stderr + done.stdout
    done = treeanon("run", place / "job.toml")
    assert done.returncode == 4 and "exists already" in done.stderr
    done = treeanon("run", place / "job.toml", "--force", "--json", "--quiet")
    assert done.returncode == 0 and not done.stderr and json.loads(done.stdout)["counts"]["records"] == 6
    assert not logging.getLogger("treeanon").handlers


def test_a_schema_that_is_a_job(place: Path) -> None:
    text = JOB.replace('schema = "s.toml"\n', "").replace("k = 2", 'k = 2\nweight = { age = 2 }\nsolution = "x.json"')
    (place / "s.toml").write_text(SCHEMA + text)
    assert treeanon("run", place / "s.toml").returncode == 0
    assert json.loads((place / "x.json").read_text())["options"]["weights"] == {"age": 2.0}
    verified = treeanon("verify", place / "out.ndjson", "-s", place / "s.toml", "-k", "2", "-m", "1", "-n", "0")
    assert verified.returncode == 0


def test_a_dry_run_writes_nothing(place: Path) -> None:
    before = sorted(place.iterdir())
    done = treeanon("run", place / "job.toml", "--dry-run")
    assert done.returncode == 0 and sorted(place.iterdir()) == before
    assert "in.ndjson (1 file, " in done.stdout and "out.ndjson (the release" in done.stdout
    told = json.loads(treeanon("run", place / "job.toml", "--dry-run", "--json").stdout)
    assert (told["kind"], told["files"], told["classes"]) == ("trees", 1, {"age": "quasi"})
    (place / "in.ndjson").unlink()
    done = treeanon("run", place / "job.toml", "--dry-run")
    assert done.returncode == 4 and "there is no such file" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("k = 2", "kk = 2", "unknown key 'kk'; choose from input, "),
        ("k = 2", 'k = "x"', "Invalid value for '-k'"),
        ("k = 2", "k = true", "k: must be a text or a number"),
        ("k = 2", "k = [2, 3]", "k: takes one value"),
        ("k = 2", "force = 1", "force: must be true or false"),
        ('input = "in.ndjson"', "", "input: is missing"),
        ("[release]", "[realese]", "has no table [release]"),
        ("[release]", "[other]\n[release]", "a job file has the table [release] alone"),
        ("[release]", "version = 1\n[release]", "this file is the schema"),
        ("[release]", "[release", "is not valid TOML"),
    ],
)
def test_jobs_that_cannot_be(old: str, new: str, words: str, place: Path) -> None:
    (place / "job.toml").write_text(JOB.replace(old, new))
    done = treeanon("run", place / "job.toml")
    assert done.returncode == 2 and words in done.stderr and not (place / "out.ndjson").exists()


def test_the_guarantee_that_cannot_be_reached_is_1(place: Path) -> None:
    (place / "job.toml").write_text(JOB.replace("k = 2", "k = 9"))
    assert treeanon("run", place / "job.toml").returncode == 1


def test_the_json_schema_names_options() -> None:
    shipped = json.loads((ROOT / "schemas" / "treeanon.schema.json").read_text())
    assert shipped["$defs"]["release"]["properties"].keys() - {"input"} <= options_of(anonymize).keys()


def test_the_job_of_the_page(tmp_path: Path) -> None:
    assert treeanon("demo", tmp_path / "hospital").returncode == 0
    (text,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.S | re.M)
    (tmp_path / "hospital" / "job.toml").write_text(text)
    done = treeanon("run", tmp_path / "hospital" / "job.toml", "--dry-run")
    assert done.returncode == 0 and "weights {'age': 2.0}" in done.stdout


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")
def test_the_units_of_the_page(place: Path) -> None:
    """What systemd itself says of them, with the paths of this machine."""
    service, timer = re.findall(r"^```ini\n(.*?)^```$", PAGE, re.S | re.M)
    service = service.replace("/srv/clinic", str(place)).replace("/srv/venv/bin/treeanon", sys.executable)
    units = {"release.service": service, "release.timer": timer}
    for name, text in units.items():
        (place / name).write_text(text)
    command = ["systemd-analyze", "verify", *(str(place / name) for name in units)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and str(place) not in done.stderr, done.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_makefile_of_the_page(place: Path) -> None:
    """A real make runs what the page shows: once, and not again before the input is newer."""
    (text,) = re.findall(r"^```make\n(.*?)^```$", PAGE, re.S | re.M)
    (place / "Makefile").write_text(text.replace("treeanon run", f"{sys.executable} -m treeanon run"))
    (place / "job.toml").write_text(JOB.replace("out.ndjson", "release.ndjson"))

    def make() -> str:
        return subprocess.run(["make"], cwd=place, capture_output=True, text=True, check=True).stdout

    assert "treeanon run" in make() and (place / "release.ndjson").exists()
    assert "up to date" in make()


def test_a_job_from_python(place: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    (place / "job.toml").write_text(JOB + 'solution = "x.json"\njson = true\n')
    plan = ta.run(place / "job.toml", dry_run=True)
    assert plan.release is None and plan.verdict is None and plan.files == () and plan.facts["kind"] == "trees"
    with caplog.at_level(logging.INFO, "treeanon"):
        done = ta.run(str(place / "job.toml"))
    assert isinstance(done.release, ta.Release) and done.verdict.holds and done.losses.value_loss >= 0
    assert [Path(name).name for name in done.files] == ["out.ndjson", "x.json"] and all(map(os.path.exists, done.files))
    assert done.facts["counts"]["records"] == 6 and "out.ndjson written" in repr(done)
    assert "read: 6 records, 6 nodes" in caplog.text and "CANARY" not in caplog.text
    with pytest.raises(FileError, match="exists already"):
        ta.run(place / "job.toml")
    assert ta.run(place / "job.toml", force=True).verdict.holds
    # What becomes of the log is the caller's.
    assert capfd.readouterr() == ("", "") and not logging.getLogger("treeanon").handlers


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [("k = 2", "k = 9", GuaranteeError), ("k = 2", "kk = 2", SchemaError), ("k = 2", 'k = "x"', UsageError)],
)
def test_jobs_from_python_raise(old: str, new: str, kind: type[Exception], place: Path) -> None:
    (place / "job.toml").write_text(JOB.replace(old, new))
    with pytest.raises(kind):
        ta.run(place / "job.toml")
    assert not (place / "out.ndjson").exists()


@pytest.mark.parametrize(
    "more", ['release = "documents"\n', 'publish = "permuted"\noutput = "two"\nl = 2\n', 'algorithm = "datafly"\n']
)
def test_every_kind_of_release_from_python(more: str, place: Path) -> None:
    rows = "".join(f'{{"age":"{at % 2}","ill":"{at}"}}\n' for at in range(6))
    (place / "in.ndjson").write_text(rows)
    is_hidden = 'role = "sensitive"\n' if "publish" in more else ""
    (place / "s.toml").write_text(f'{SCHEMA}[[class]]\nname = "ill"\npath = "ill"\n{is_hidden}')
    output = "" if "output" in more else 'output = "out.csv"\n' if "datafly" in more else 'output = "out.ndjson"\n'
    job = f'[release]\ninput = "in.ndjson"\nschema = "s.toml"\n{output}{more}'
    (place / "job.toml").write_text(job + ("" if "publish" in more else "k = 2\n"))
    done = ta.run(place / "job.toml")
    assert done.verdict.holds and done.losses is not None and Path(done.files[0]).exists() and repr(done)
