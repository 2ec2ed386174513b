"""Whether an input fits into memory is told before the work begins."""

from __future__ import annotations

from pathlib import Path

import pytest

import treeanon as ta
from tests.support.command_line import treeanon
from treeanon.io import room

SAMPLES = Path(__file__).parents[2] / "samples"
SCHEMAS = Path(__file__).parents[2] / "schemas"


@pytest.fixture
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "SMALL", 1)


def command(tmp_path: Path, *more: str) -> list[str | Path]:
    schema = SCHEMAS / "hospital-json.toml"
    given = ["-k", "5", "--effort", "0.05", "--seed", "1", *more]
    return ["anonymize", SAMPLES / "patients.ndjson", "-s", schema, *given, "-o", tmp_path / "out file.ndjson"]


@pytest.mark.usefixtures("all_are_large")
@pytest.mark.parametrize(("name", "schema"), [("patients.ndjson", "hospital-json"), ("patients.xml", "hospital-xml")])
def test_the_estimate_is_near_the_nodes_that_are_read(name: str, schema: str) -> None:
    read_by = ta.Schema.load(SCHEMAS / f"{schema}.toml")
    found = room.room_for(SAMPLES / name, read_by)
    assert found is not None
    nodes = ta.read(SAMPLES / name, read_by).nodes
    assert nodes <= found.nodes <= 1.3 * nodes


def test_of_small_inputs_and_tables_nothing_is_told() -> None:
    assert room.room_for(SAMPLES / "patients.ndjson", ta.Schema.load(SCHEMAS / "hospital-json.toml")) is None
    assert room.room_for("-", ta.Schema.load(SCHEMAS / "hospital-json.toml")) is None
    assert room.room_for(SAMPLES / "census.csv", ta.Schema.load(SCHEMAS / "census.toml")) is None


@pytest.mark.usefixtures("all_are_large")
def test_what_does_not_fit_is_refused_with_the_command_for_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "memory_there", lambda: 10 << 20)
    done = treeanon(*command(tmp_path))
    assert done.returncode == 2 and not list(tmp_path.iterdir())
    assert "GB of memory" in done.stderr and "--ignore-memory" in done.stderr
    assert f"treeanon anonymize {SAMPLES / 'patients.ndjson'} -s" in done.stderr
    assert f"--engine spark -o '{tmp_path / 'out file'}'" in done.stderr
    assert treeanon(*command(tmp_path, "--dry-run")).stdout.count("GB are free") == 1


@pytest.mark.usefixtures("all_are_large")
def test_what_is_tight_is_told_and_done_and_what_seems_not_to_fit_is_done_if_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "memory_there", lambda: 250 << 20)
    monkeypatch.setattr("treeanon.cli.anonymize.read_records", _stop)
    tight = treeanon(*command(tmp_path))
    assert tight.returncode == 70 and "it may not be enough" in tight.stderr
    monkeypatch.setattr(room, "memory_there", lambda: 1)
    asked = treeanon(*command(tmp_path, "--ignore-memory"))
    assert asked.returncode == 70 and "GB" not in asked.stderr


def _stop(*_: object, **__: object) -> None:
    raise RuntimeError


def test_memory_is_what_the_machine_and_every_control_group_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    for name in ("_MEMORY", "_GROUP", "_GROUPS"):
        monkeypatch.setattr(room, name, tmp_path / name)
    put("_MEMORY", "MemTotal: 9000 kB\nMemAvailable: 8000 kB\n")
    assert room.memory_there() == 8000 << 10
    put("_GROUP", "0::/a/b\n")
    put("_GROUPS/a/memory.max", str(5000 << 10))
    put("_GROUPS/a/memory.current", str(4000 << 10))
    put("_GROUPS/a/memory.stat", f"anon 1\ninactive_file {1000 << 10}\n")
    put("_GROUPS/a/b/memory.max", "max\n")
    assert room.memory_there() == 2000 << 10
    put("_GROUP", "4:cpu,memory:/elsewhere\n")
    put("_GROUPS/memory/memory.limit_in_bytes", str(3000 << 10))
    put("_GROUPS/memory/memory.usage_in_bytes", str(2500 << 10))
    assert room.memory_there() == 500 << 10
