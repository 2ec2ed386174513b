"""`treeanon anonymize`, `verify` and `apply` on tables, as a user meets them."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.support.as_installed import ran
from treeanon.algorithms.table.registry import TABLE_ALGORITHMS, TableAlgorithm
from treeanon.cli.summaries import search_lines

SCHEMA = """
version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
type = "integer"
hierarchy = { intervals = [5, 10, 20, 40], min = 0, max = 99 }
[[class]]
name = "town"
path = "'home town'"
hierarchy = "town.csv"
[[class]]
name = "illness"
path = "illness"
role = "sensitive"
[[class]]
name = "id"
path = "id"
role = "identifier"
"""
TOWNS = "Ulm;south;*\nMunich;south;*\nBonn;west;*\nEssen;west;*\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rnd = Random(1)
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "town.csv").write_text(TOWNS)
    with (tmp_path / "people.csv").open("w", newline="") as stream:
        put = csv.writer(stream, delimiter=";")
        put.writerow(["id", "age", "home town", "illness"])
        for i in range(300):
            age = "" if rnd.random() < 0.03 else rnd.randint(18, 70)
            put.writerow([f"P{i}", age, rnd.choice(["Ulm", "Munich", "Bonn", "Essen"]), rnd.choice("ABCDE")])
    return tmp_path


Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line as the installed command does, and gives what it prints."""

    def command(*arguments: object, code: int = 0) -> str:
        _, out, err = ran(arguments, monkeypatch, capsys, code)
        return err + out

    return command


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream, delimiter=";"))


def test_csv_to_csv(folder: Path, run: Run) -> None:
    said = run(
        "anonymize", folder / "people.csv", "-s", folder / "s.toml", "-k", 5, "--l", 2, "--max-suppressed", "2%",
        "-o", folder / "out.csv", "--solution", folder / "out.solution.json",
    )  # fmt: skip
    assert "5-anonymity holds. distinct 2-diversity of illness holds." in said
    assert "id" in said.split("withholds it:")[1] if "withholds it:" in said else True
    rows = rows_of(folder / "out.csv")
    assert list(rows[0]) == ["age", "home town", "illness"]
    groups = defaultdict(list)
    for row in rows:
        groups[row["age"], row["home town"]].append(row["illness"])
    assert min(map(len, groups.values())) >= 5
    assert min(len(set(ills)) for ills in groups.values()) >= 2
    assert len(rows) >= 294
    said = run("verify", folder / "out.csv", "-s", folder / "s.toml", "-k", 5, "--l", 2)
    assert "5-anonymity holds" in said
    run("verify", folder / "out.csv", "-s", folder / "s.toml", "-k", 290, code=1)
    run("verify", folder / "people.csv", "-s", folder / "s.toml", "-k", 5, code=1)
    if json.loads((folder / "out.solution.json").read_text())["levels"] is not None:
        run(
            "apply",
            folder / "out.solution.json",
            folder / "people.csv",
            "-s",
            folder / "s.toml",
            "-o",
            folder / "b.csv",
        )
        assert len(rows_of(folder / "b.csv")) == len(rows)


OWN = {
    "suppress-tuples": ("-k", 2, "--max-suppressed", "99%", "--l", 1),
    "anatomy": ("-k", 3, "--l", 2),
    "onedim-l": ("--l", 3, "--diversity", "frequency"),
    **dict.fromkeys(("freeform", "freeform-optimal", "koptimize"), ("-k", 3, "--l", 1, "--seconds", 1)),
    "onedim-dual": ("-k", 3, "--l", 1, "--max-loss", 0.5),
}
"""Searches that cannot do what the others do with the same request."""


@pytest.mark.parametrize("algorithm", sorted(TABLE_ALGORITHMS))
def test_every_search_runs_from_the_command_line(folder: Path, run: Run, algorithm: str) -> None:
    out = folder / "out.parquet"
    said = run(
        "anonymize", folder / "people.csv", "-s", folder / "s.toml", "-o", out, "--json", "-a", algorithm,
        *OWN.get(algorithm, ("-k", 3, "--l", 1)),
    )  # fmt: skip
    told = json.loads(said[said.index("{\n") :])
    assert told["verification"]["holds"]
    assert told["algorithm"].startswith(algorithm.split("-")[0]) or algorithm in told["algorithm"]
    if TABLE_ALGORITHMS[algorithm].freeform:
        against = ("--original", folder / "people.csv")
        run("verify", out, "-s", folder / "s.toml", *against, "-k", 3, "--ignore-unnamed")
        run("verify", out, "-s", folder / "s.toml", *against, "-k", 299, "--ignore-unnamed", code=1)
    else:
        run("verify", out, "-s", folder / "s.toml", "--from", "parquet", "-k", 2)


def test_an_exact_search_says_whether_it_has_come_to_an_end() -> None:
    def said(gap: float) -> list[str]:
        search = {"gap": gap, "is_optimal": not gap}
        return search_lines({"algorithm": "a", "suppressed": 0, "published_as_they_are": {}, "search": search})

    assert said(0.0) == ["Algorithm a: the loss is proven least"]
    assert said(1e-5) == ["Algorithm a: the loss is not proven to be the least, which is at most 0.01% lower"]


def test_every_option_of_a_search_is_one_of_the_command_line(run: Run) -> None:
    known = run("anonymize", "--help-all")
    for algorithm in TABLE_ALGORITHMS.values():
        said = run("algorithms", algorithm.name)
        for name in (parameter.name for parameter in algorithm.parameters):
            flag = "--" + name.replace("_", "-")
            assert flag in known if parameter_is_shared(algorithm, name) else f"  {name} " in said, (
                algorithm.name,
                name,
            )


def parameter_is_shared(algorithm: TableAlgorithm, name: str) -> bool:
    return next(parameter.shared for parameter in algorithm.parameters if parameter.name == name)


def test_records_become_rows_when_asked(folder: Path, run: Run) -> None:
    rnd = Random(2)
    people = [{"age": rnd.randint(20, 60), "ill": rnd.sample("ABC", rnd.randint(1, 2))} for _ in range(100)]
    (folder / "p.ndjson").write_text("\n".join(map(json.dumps, people)))
    (folder / "n.toml").write_text(
        'version = 1\n[input]\nformat = "ndjson"\n[[class]]\nname = "age"\npath = "age"\n'
        'type = "integer"\nhierarchy = { intervals = [10, 40] }\n'
        '[[class]]\nname = "ill"\npath = "ill[]"\n'
    )
    asked = ("anonymize", folder / "p.ndjson", "-s", folder / "n.toml", "-k", 4, "-o", folder / "out.csv")
    assert "name a reduction" in run(*asked, "-a", "optimal", code=2)
    run(*asked, "-a", "optimal", "--reduce", "ill=count")
    with (folder / "out.csv").open(newline="") as stream:
        counts = Counter(map(tuple, list(csv.reader(stream))[1:]))
    assert min(counts.values()) >= 4
    assert "end in" in run(
        "anonymize", folder / "p.ndjson", "-s", folder / "n.toml", "-k", 4, "-a", "optimal", "--reduce", "ill=count",
        "-o", folder / "out.xml", code=2,
    )  # fmt: skip


def test_wrong_usage_is_told_and_leaves_nothing(folder: Path, run: Run) -> None:
    asked = ("anonymize", folder / "people.csv", "-s", folder / "s.toml", "-o", folder / "out.csv")
    for more, words, code in (
        (("-k", 5), "calls illness sensitive", 2),
        (("--l", 1), "k is required", 2),
        (("-k", 5, "--l", "age=2"), "not sensitive", 2),
        (("-k", 5, "--l", "x"), "whole number|a number", 2),
        (("-k", 5, "--l", 2, "--t", "ill=.2"), "unknown class 'ill'", 2),
        (("-k", 5, "--l", 2, "--mining"), "applies to trees only", 2),
        (("-k", 5, "--l", 2, "-a", "optimal", "-m", 2), "applies to trees only", 2),
        (("-k", 5, "--l", 2, "-m", 2, "--preference", "minimum_suppression"), "'maximal' has no parameter", 2),
        (("-k", 5, "--l", 2, "-m", 2, "--t", "0.5"), "-m applies to trees only", 2),
        (("-k", 5, "--l", 2, "-a", "datafly", "--loss", "gcp"), "no parameter 'loss'", 2),
        (("-k", 500, "--l", 2), "fewer than k", 1),
        (("-k", 5, "--l", 9), "", 1),
    ):
        said = run(*asked, *more, code=code)
        assert any(word in said for word in words.split("|")), said
        assert not (folder / "out.csv").exists()
    for pair in (("--c", 3), ("--diversity", "entropy")):
        run(*asked, "-k", 5, *pair, code=2)


def test_trees_of_a_csv_when_asked(folder: Path, run: Run) -> None:
    said = run(
        "anonymize",
        folder / "people.csv",
        "-s",
        folder / "s.toml",
        "-k",
        5,
        "--l",
        2,
        "-m",
        2,
        "-o",
        folder / "out.csv",
    )
    assert "5^(2,1)-anonymity holds" in said


def test_values_never_show(folder: Path, run: Run) -> None:
    (folder / "town.csv").write_text(TOWNS.replace("Essen", "Witten"))
    said = run(
        "anonymize", folder / "people.csv", "-s", folder / "s.toml", "-k", 5, "--l", 2, "-o", folder / "o.csv", code=2
    )
    assert "Essen" not in said
    assert "does not know 1 distinct" in said


def test_the_input_stays(folder: Path, run: Run) -> None:
    for target in ("people.csv", "town.csv", "s.toml"):
        run(
            "anonymize", folder / "people.csv", "-s", folder / "s.toml", "-k", 5, "--l", 2, "-o", folder / target,
            "--force", code=2,
        )  # fmt: skip


def test_bounds_of_groups_are_kept_and_verified(folder: Path, run: Run) -> None:
    schema = ("-s", folder / "s.toml", "-k", 3)
    out = folder / "bounded.csv"
    bounds = ("--max-span", "age=12", "--max-group-loss", 0.4)
    run(
        "anonymize",
        folder / "people.csv",
        *schema,
        "--l",
        1,
        "-a",
        "mondrian",
        *bounds,
        "--max-suppressed",
        "20%",
        "-o",
        out,
    )
    assert "max_span 12 of age holds" in run("verify", out, *schema, "--max-span", "age=12")
    assert "max_span 0.5 of age does not hold" in run("verify", out, *schema, "--max-span", "age=0.5", code=1)
    assert "max_group_loss 0.01 does not hold" in run("verify", out, *schema, "--max-group-loss", 0.01, code=1)
    assert "excludes --max-span" in run("verify", out, *schema, "--max-span", "age=1", "--permuted", code=2)
    said = run(
        "anonymize",
        folder / "people.csv",
        *schema,
        "--l",
        1,
        "-a",
        "mondrian",
        "--max-span",
        "age=0.5",
        "-o",
        out,
        "--force",
        code=1,
    )
    assert "may be suppressed" in said
