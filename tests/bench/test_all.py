"""One command for all benches: what has become slower is run again, and makes the exit code 1 if it still is."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def benches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The module, with a stored run of its own in which `a` and `b` took 10 yardsticks and `c` less than counts."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    module = importlib.import_module("all")
    monkeypatch.setattr(module, "STORED", tmp_path / "stored.json")
    module.STORED.write_text(json.dumps({"quick": {"a": 10.0, "b": 10.0, "c": 0.1}, "full": {"a": 1.0}}))
    monkeypatch.setattr(module, "benches", lambda asked: [module.Bench("one", ("one.py",))])
    return module


def runs(module: ModuleType, monkeypatch: pytest.MonkeyPatch, *found: dict[str, float]) -> Iterator[dict[str, float]]:
    """Let the bench find these ratios, one run after the other; what is left has not been run."""
    left = iter(found)
    monkeypatch.setattr(module, "run", lambda *_: next(left))
    return left


def test_what_is_slower_each_time_is_printed_and_makes_the_exit_code_1(
    benches: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    last = {"a": 13.0, "b": 12.5, "c": 0.4}
    left = runs(benches, monkeypatch, {"a": 13.0, "b": 13.0, "c": 0.4}, {"a": 10.5, "b": 12.0, "c": 0.4}, last)
    assert benches.main(["--quick"]) == 1
    assert not list(left)
    assert "Slower by more than 15 %: b (1.20 times)." in capsys.readouterr().out


def test_what_is_not_slower_is_run_once(
    benches: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = runs(benches, monkeypatch, {"a": 11.4, "new": 3.0}, {})
    assert benches.main(["--quick", "--store"]) == 0
    assert len(list(left)) == 1
    told = capsys.readouterr().out
    assert "| a | 11.40 | 10.00 | 1.14 |" in told
    assert "Not run this time: b, c." in told
    stored = {"a": 11.4, "b": 10.0, "c": 0.1, "new": 3.0}
    assert json.loads(benches.STORED.read_text()) == {"quick": stored, "full": {"a": 1.0}}


def test_a_bench_without_its_data_is_left_out_and_named(
    benches: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(benches, "benches", lambda asked: [benches.Bench("one", ("one.py",), needs="some.csv")])
    left = runs(benches, monkeypatch, {"a": 10.0})
    assert benches.main(["--quick", "--data", str(tmp_path)]) == 0
    assert len(list(left)) == 1
    assert "left out: one, which needs --data with some.csv" in capsys.readouterr().out
