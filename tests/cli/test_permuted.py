"""`treeanon anonymize --publish permuted` and `treeanon verify --permuted`, as a user meets them."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.support.as_installed import ran

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
[[class]]
name = "illness"
path = "illness"
role = "sensitive"
[[class]]
name = "id"
path = "id"
role = "identifier"
"""
Run = Callable[..., tuple[str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a line of arguments beside a table of 200 people; gives standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    rnd = Random(1)
    (tmp_path / "s.toml").write_text(SCHEMA)
    with (tmp_path / "people.csv").open("w", newline="") as stream:
        put = csv.writer(stream, delimiter=";")
        put.writerow(["id", "age", "home town", "illness"])
        for i in range(200):
            age = "" if rnd.random() < 0.03 else rnd.randint(18, 70)
            put.writerow([f"P{i}", age, rnd.choice(["Ulm", "Bonn"]), rnd.choice(["", *"ABCDE"])])

    def command(line: str, code: int = 0) -> tuple[str, str]:
        return ran(line.split(), monkeypatch, capsys, code)[1:]

    return command


PUBLISH = "anonymize people.csv -s s.toml --publish permuted"
THREE = "--l 3 --diversity frequency"


def rows(path: str) -> list[dict[str, str]]:
    with Path(path).open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("algorithm", ["onedim-l", "anatomy", "mondrian"])
def test_no_value_is_sure(run: Run, algorithm: str) -> None:
    _, said = run(f"{PUBLISH} -a {algorithm} {THREE} -o out")
    assert "Only illness is protected. Who is in the table is not hidden: age, town are published unchanged." in said
    assert "Nobody can tell which person of a group has which value of illness" in said
    records, values = rows("out/records.csv"), rows("out/values.csv")
    assert list(records[0]) == ["age", "home town", "group"] and list(values[0]) == ["group", "illness", "count"]
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for row in values:
        groups[row["group"]][row["illness"]] += int(row["count"])
    for row in records:
        for ill in "ABCDE":
            assert groups[row["group"]][ill] * 3 <= groups[row["group"]].total()
    with Path("people.csv").open(newline="") as stream:
        people = [(row["age"], row["home town"]) for row in csv.DictReader(stream, delimiter=";")]
    assert Counter(people) == Counter((row["age"], row["home town"]) for row in records)
    out, _ = run(f"verify out -s s.toml --permuted {THREE}")
    assert "frequency 3-diversity of illness holds." in out and "Checked 200 rows" in out
    run("verify out -s s.toml --permuted --l 6 --diversity frequency", code=1)
    run("verify out -s s.toml --permuted -k 201", code=1)


def test_zip_parquet_and_json(run: Run) -> None:
    out, _ = run(f"{PUBLISH} --t 0.5 -k 4 --to parquet -o out.zip --json --quiet")
    told = json.loads(out)
    assert told["publish"] == "permuted" and told["hidden"] == "illness" and told["verification"]["holds"]
    assert told["models"] == ["a group size of at least 4", "0.5-closeness (equal distance)"]
    assert told["algorithm"] == "mondrian" and set(told["losses"]["queries"]) == {"1", "2"}
    out, _ = run("verify out.zip -s s.toml --permuted --t 0.5 -k 4 --json")
    assert json.loads(out)["smallest_group"] >= 4
    assert "exists already" in run(f"{PUBLISH} --l 2 -o out.zip", code=4)[1]
    run(f"{PUBLISH} --l 2 -o out.zip --force")


def test_what_else_lies_there_is_told(run: Run) -> None:
    run(f"{PUBLISH} --l 2 -o out")
    check = "verify out -s s.toml --permuted --l 2"
    run(check)
    Path("out/notes.txt").write_text("who is who")
    assert "notes.txt" in run(check, code=1)[1]
    Path("out/notes.txt").unlink()
    good = Path("out/records.csv").read_text().splitlines()
    named = [f"{line},{i or 'phone'}" for i, line in enumerate(good)]
    Path("out/records.csv").write_text("\n".join(named) + "\n")
    assert "phone" in run(check, code=1)[1]
    run(f"{check} --ignore-unnamed")
    hidden = [f"{line},{'A' if i else 'illness'}" for i, line in enumerate(good)]
    Path("out/records.csv").write_text("\n".join(hidden) + "\n")
    assert "sensitive column" in run(f"{check} --ignore-unnamed", code=3)[1]
    Path("out/records.csv").write_text("\n".join(good[:-1]) + "\n")
    assert "same persons" in run(check, code=3)[1]


@pytest.mark.parametrize("spelt", ["0{}", " {}", "+{}", "{}.0"])
def test_other_spellings_of_a_group_are_found_out(run: Run, spelt: str) -> None:
    run(f"{PUBLISH} --l 2 -o out")
    check = "verify out -s s.toml --permuted --l 2"
    for file, last, first in (("records.csv", True, False), ("values.csv", False, True)):
        good = Path("out", file).read_text()
        head, line, *rest = good.splitlines()
        cells = line.split(",")
        for place, told in ((-1, last), (0, first)):
            if told:
                cells[place] = spelt.format(cells[place])
        Path("out", file).write_text("\n".join([head, ",".join(cells), *rest]) + "\n")
        said = run(check, code=1 if spelt.startswith(" ") else 3)[1]
        assert ("white space" if spelt.startswith(" ") else "permuted release") in said
        Path("out", file).write_text(good)
    counts = [line.rpartition(",") for line in Path("out/values.csv").read_text().splitlines()[1:]]
    body = "\n".join(f"{front},{spelt.format(count)}" for front, _, count in counts)
    Path("out/values.csv").write_text(f'"group","illness","count"\n{body}\n')
    run(check, code=1 if spelt.startswith(" ") else 3)


def test_records_as_rows(run: Run) -> None:
    rnd = Random(2)
    people = [{"age": rnd.randint(20, 60), "ill": rnd.sample("ABC", 2), "job": rnd.choice("xyz")} for _ in range(60)]
    Path("p.ndjson").write_text("\n".join(map(json.dumps, people)))
    classes = (("age", "age", "quasi"), ("ill", "ill[]", "quasi"), ("job", "job", "sensitive"))
    text = "".join(f'[[class]]\nname = "{name}"\npath = "{path}"\nrole = "{role}"\n' for name, path, role in classes)
    Path("n.toml").write_text('version = 1\n[input]\nformat = "ndjson"\n' + text)
    run("anonymize p.ndjson -s n.toml --publish permuted --l 2 --reduce ill=count -o out")
    assert Counter(row["ill"] for row in rows("out/records.csv")) == {"2": 60}
    run("verify out -s n.toml --permuted --l 2")


def test_wrong_usage_leaves_nothing(run: Run) -> None:
    for more, words, code in (
        ("-k 5 --l 1", "only the values of illness are hidden", 2),
        ("-k 5", "illness", 2),
        ("--l 2 -a samarati", "these do: ", 2),
        ("-k 5 --l 2 -a acs", "applies to tables only", 2),
        ("--l 2 -m 2", "applies to trees only", 2),
        ("--l 2 --mining", "applies to trees only", 2),
        ("--l 2 --solution x.json", "--solution", 2),
        ("--l 2 --release documents", "two tables", 2),
        ("--l 2 --rest drop", "--rest", 2),
        ("--l 2 --to xml", "csv, tsv, parquet", 2),
        ("--l 2 -a onedim-dual", "--max-loss", 2),
        ("--l 9", "", 1),
        ("--l 2 -k 201", "fewer than k", 1),
    ):
        said = run(f"{PUBLISH} {more} -o out", code=code)[1]
        assert words in said and "Traceback" not in said
        assert not Path("out").exists()
    assert "name a folder" in run(f"{PUBLISH} --l 2 -o out.csv", code=2)[1]
    run(f"{PUBLISH} --l 2 -o out")
    for more in ("--permuted", "--permuted --l 2 -m 2", "--permuted --l 2 --table", "--permuted --l 2 --from csv"):
        run(f"verify out -s s.toml {more}", code=2)


def test_a_search_that_reaches_more_says_what(run: Run) -> None:
    out, _ = run("anonymize people.csv -s s.toml -a onedim-dual -k 3 --l 1 --max-loss 0.5 -o out.csv --json")
    told = json.loads(out)
    (model,) = told["models"]
    k = int(model.split("-")[0])
    assert k > 3 and told["verification"]["largest_k"] >= k
    run(f"verify out.csv -s s.toml -k {k}")
