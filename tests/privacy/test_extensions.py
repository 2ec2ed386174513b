"""A privacy model with a parameter in another package, in one file: from the API and from the command line."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import treeanon as ta
from tests.support.plugins import installed, make_package
from treeanon.cli.main import run
from treeanon.errors import UsageError
from treeanon.privacy.models import KAnonymity, PSensitiveKAnonymity, TCloseness
from treeanon.privacy.models.registry import MODELS, model_of, model_of_text, plain_model
from treeanon.release.reapply import TableSolution, apply_table

MODEL = '''
from dataclasses import dataclass

import numpy as np

from treeanon.parameters import Parameter
from treeanon.privacy.models.model import SensitiveModel
from treeanon.privacy.models.registry import ModelSpec


@dataclass(frozen=True)
class Common(SensitiveModel):
    """At least `times` persons of a group have each value that occurs in it."""

    times: int

    @property
    def _short(self):
        return f"{self.times}-commonness"

    def _holds_in(self, sizes, histogram):
        return np.minimum.reduceat(histogram.counts, histogram.starts[:-1]) >= self.times

    def check(self, group):
        return min(group.values.values()) >= self.times


MODEL = ModelSpec(
    "commonness", Common, "each value in a group is that of several persons",
    (Parameter("times", "int", "how many persons have each value", required=True),
     Parameter("column", "text", "the sensitive class")),
)
'''
SCHEMA = """
version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [10, 20, 40] }
[[class]]
name = "ill"
path = "ill"
role = "sensitive"
"""
ROWS = [(age, "flu" if age % 3 else "gout") for age in range(20, 60)]
FLAGS = ["-s", "s.toml", "-o", "out.csv", "--json"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    package = make_package(
        tmp_path / "package", "more", {"treeanon.models": {"commonness": "more_model:MODEL"}}, {"more_model.py": MODEL}
    )
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "p.csv").write_text("age,ill\n" + "".join(f"{age},{ill}\n" for age, ill in ROWS))
    monkeypatch.chdir(tmp_path)
    with installed(package):
        yield tmp_path


def least_common(rows: list[tuple[str, str]]) -> int:
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for age, ill in rows:
        groups[age][ill] += 1
    return min(min(one.values()) for one in groups.values())


def test_from_the_api(place: Path) -> None:
    release = ta.anonymize("p.csv", schema="s.toml", k=2, models=["commonness:times=5"], algorithm="optimal")
    assert [model.name for model in release.models] == ["2-anonymity", "5-commonness"]
    assert least_common(list(release.table.rows())) >= 5
    table = ta.anonymize("p.csv", schema="s.toml", k=2, l=1).table
    verdict = ta.verify(table, models=["commonness:times=5,column=ill"])
    assert verdict.holds == (least_common(list(table.rows())) >= 5) and not verdict.holds
    release.write_solution("solution.json")
    again = apply_table(TableSolution.load("solution.json"), ta.read_table("p.csv", ta.Schema.load("s.toml")))
    assert again.verdict.holds and [model.name for model in again.models] == ["2-anonymity", "5-commonness"]


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit code of the command line."""
    monkeypatch.setattr(sys, "argv", ["treeanon", *arguments])
    monkeypatch.setattr("signal.signal", lambda *given: None)
    with pytest.raises(SystemExit) as left:
        run()
    return int(left.value.code or 0)


def test_from_the_command_line(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(monkeypatch, "anonymize", "p.csv", *FLAGS, "-k", "2", "--model", "commonness:times=5") == 0
    assert json.loads(capsys.readouterr().out)["models"] == ["2-anonymity", "5-commonness"]
    lines = Path("out.csv").read_text().splitlines()[1:]
    assert least_common([(age, ill) for age, ill in (line.split(",") for line in lines)]) >= 5
    asked = ["verify", "out.csv", "-s", "s.toml", "--json", "--model"]
    assert command(monkeypatch, *asked, "commonness:times=5") == 0
    assert command(monkeypatch, *asked, "commonness:times=41") == 1
    capsys.readouterr()
    assert command(monkeypatch, "anonymize", "p.csv", *FLAGS, "-k", "2", "--model", "commonness:times=x") == 2
    assert "must be a whole number" in capsys.readouterr().err


def test_what_is_wrong_with_a_model_is_said(place: Path) -> None:
    for text, said in (
        ("rarity:times=5", "unknown model 'rarity'; choose from k-anonymity,"),
        ("commonness:often=5", "unknown parameter 'often' of model commonness; choose from times, column"),
        ("commonness:times=some", "parameter times must be a whole number"),
        ("commonness", "needs the parameter times: how many persons have each value"),
        ("commonness:5", "NAME:PARAMETER=VALUE"),
        ("t-closeness:t=0.1,distance=long", "distance must be one of equal, ordered, hierarchical"),
    ):
        with pytest.raises(UsageError, match=said):
            model_of_text(text)


def test_every_model_has_the_parameters_of_its_class() -> None:
    values = {"int": 2, "float": 1.0, "text": "x"}
    for name, spec in MODELS.items():
        given = {one.name: values.get(one.kind, *one.choices[:1]) for one in spec.parameters if one.required}
        model = spec.model(given)
        assert plain_model(model)["model"] == name and model_of(plain_model(model)) == model
        optional = {one.name for one in spec.parameters} - set(given)
        # p-sensitive k-anonymity is never joined.
        fields = set(spec.make.__dataclass_fields__) - ({"joined"} if spec.make is PSensitiveKAnonymity else set())  # type: ignore[attr-defined]
        assert optional | set(given) == fields, name
    assert model_of_text("k-anonymity:k=3") == KAnonymity(3)
    assert model_of_text("t-closeness:t=0.2,column=pay") == TCloseness(0.2, column="pay")
