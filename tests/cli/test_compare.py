"""`treeanon compare`: the losses of a release by what was written, whoever wrote it; and what it says of nobody."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.paths import ROOT
from tests.support.profiles import few
from treeanon.cli.main import main
from treeanon.hierarchy import Hierarchy
from treeanon.io.columns.read_table import read_table
from treeanon.metrics.table import measure
from treeanon.table.compared import in_terms_of

SCHEMA = """version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "Age"
type = "integer"
hierarchy = { intervals = [5, 10, 20], min = 0, max = 100 }
[[class]]
name = "town"
path = "town"
hierarchy = { groups = 3 }
[[class]]
name = "sex"
path = "sex"
[[class]]
name = "ill"
path = "ill"
role = "sensitive"
[[class]]
name = "name"
path = "name"
role = "identifier"
"""


def run(*arguments: object, input: str | None = None) -> Any:
    return CliRunner().invoke(main, [*map(str, arguments)], input=input)


def told(*arguments: object) -> dict[str, Any]:
    done = run("compare", *arguments, "--json")
    assert done.exit_code == 0, (done.output, done.exception)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def single(losses: dict[str, Any]) -> dict[str, Any]:
    """The losses with those of columns beside the others, without those that only `compare` has."""
    by_column = {f"{name} {c}": x for name in ("ncp_taxonomy", "ncp_set") for c, x in losses[name].items()}
    return by_column | {name: x for name, x in losses.items() if isinstance(x, int | float)}


def near(losses: dict[str, Any]) -> Any:
    return pytest.approx(single(losses))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = random.Random(3)
    with (tmp_path / "p.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["name", "Age", "town", "sex", "ill"])
        for number in range(200):
            age = made.choice(["", *map(str, range(20, 70, 3))])
            out.writerow([f"N{number}", age, made.choice("ABCDEFG"), made.choice("fm"), made.choice(["flu", "gout"])])
    (tmp_path / "s.toml").write_text(SCHEMA)
    return tmp_path


def release(home: Path, *more: object, name: str = "out.csv") -> dict[str, Any]:
    asked = (home / "p.csv", "-s", home / "s.toml", "-k", 4, "--l", 1, "-o", home / name, "--force", "--json")
    done = run("anonymize", *asked, *more)
    assert done.exit_code == 0, (done.output, done.exception)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.tsv"])
@pytest.mark.parametrize("algorithm", ["optimal", "onedim", "suppress-cells"])
def test_what_was_written_has_lost_what_the_release_says(home: Path, algorithm: str, name: str) -> None:
    """Levels of hierarchies, ranges and sets, and stars: read again by nobody's hierarchy but that of the input."""
    more = ["--max-suppressed", "5%"] if algorithm == "optimal" else []
    made = release(home, "-a", algorithm, *more, name=name)
    found = told(home / "p.csv", home / name, "-s", home / "s.toml", "-k", 4)
    assert single(found["losses"]) == near(made["losses"]) and found["strange_rows"] == {}
    assert (found["rows"], found["published_rows"]) == (200, made["counts"]["published_rows"])


def test_the_text(home: Path) -> None:
    release(home)
    asked = (home / "p.csv", home / "out.csv", "-s", home / "s.toml")
    done = run("compare", *asked, "--label", "ill", "--weight", "age=3", "--queries", 1)
    lines = {line[:30].strip(): line[30:].split() for line in done.stdout.splitlines() if line}
    losses = told(*asked, "--label", "ill", "--weight", "age=3")["losses"]
    assert lines["GCP (taxonomy)"][0] == f"{losses['gcp_taxonomy']:.5f}"
    assert lines["classification"][0] == f"{losses['classification']:.5f}"
    assert lines["counts by 1 class"][1:3] == ["KL", "divergence,"] and done.stderr == ""
    by_column = losses["ncp_taxonomy"]
    weighed = (3 * by_column["age"] + by_column["town"] + by_column["sex"]) / 5
    assert losses["gcp_taxonomy"] == pytest.approx(weighed)
    extents = told(*asked, "--weight", "age=3")["of_published_rows"]
    assert lines["mean extent of a group (IL1)"] == [f"{extents['il_1']:.5f}"]
    quiet = run("compare", *asked, "-q")
    assert quiet.exit_code == 0 and quiet.output == ""


def test_queries(home: Path) -> None:
    same = told(home / "p.csv", home / "p.csv", "-s", home / "s.toml", "--queries", 2)["queries"]
    assert same["level"] == 2 and len(same["by_classes"]) == 3
    assert same["kl_divergence"] == pytest.approx(0) and same["by_classes"]["age + town"] == pytest.approx(0)
    release(home)
    assert told(home / "p.csv", home / "out.csv", "-s", home / "s.toml", "--queries", 2)["queries"]["kl_divergence"] > 0


def test_itself_has_lost_nothing(home: Path) -> None:
    found = told(home / "p.csv", home / "p.csv", "-s", home / "s.toml")
    assert set(list(found["of_published_rows"].values())[:5]) == {0}
    losses = found["losses"]
    assert (losses["gcp_taxonomy"], losses["gcp_set"], losses["precision"], losses["suppressed"]) == (0, 0, 1, 0)


def test_rows_that_are_not_there_are_lost(home: Path) -> None:
    lines = (home / "p.csv").read_text().splitlines(keepends=True)
    (home / "half.csv").write_text("".join(lines[:101]))
    losses = told(home / "p.csv", home / "half.csv", "-s", home / "s.toml")["losses"]
    assert losses["suppressed"] == 100 and losses["gcp_set"] == pytest.approx(0.5)


def test_what_nobody_can_have(home: Path) -> None:
    release(home, "-a", "onedim")
    with (home / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[0]["Age"], rows[1]["Age"], rows[2]["Age"], rows[3]["Age"] = "young", "0-4", "95 … 99", "20 … 35"
    rows[4]["sex"], rows[5]["sex"], rows[6]["sex"] = "x", "", '["f","m"]'
    rows[7]["ill"] = "SECRET"
    with (home / "odd.csv").open("w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)
    asked = ("compare", home / "p.csv", home / "odd.csv", "-s", home / "s.toml")
    assert told(*asked[1:])["strange_rows"] == {"age": 3, "sex": 2, "ill": 1}
    done = run(*asked)
    assert done.exit_code == 0 and "3 rows  age" in done.stderr and "SECRET" not in done.output


def test_frames_of_others(home: Path) -> None:
    """A release whose numbers are numbers, and whose columns have another order."""
    read = read_table(home / "p.csv", ta.Schema.load(home / "s.toml"))
    texts = {c.header: c.texts() for c in read.columns}
    columns = {name: pa.array(texts[name]) for name in ("sex", "ill", "town")}
    columns["Age"] = pa.array([None if text is None else int(text) for text in texts["Age"]])
    pq.write_table(pa.table(columns), home / "o.parquet")
    found = told(home / "p.csv", home / "o.parquet", "-s", home / "s.toml")
    assert found["losses"]["gcp_taxonomy"] == 0 and found["strange_rows"] == {}


def test_documents(tmp_path: Path) -> None:
    source, schema = ROOT / "samples" / "patients.ndjson", ROOT / "schemas" / "hospital-json.toml"
    reduced = []
    for name, how in {"hospital": "mode", "date": "min", "diagnosis": "set", "treatment": "count"}.items():
        reduced += ["--reduce", f"{name}={how}"]
    asked = (source, "-s", schema, "-k", 3, "-a", "datafly", "--max-suppressed", "10%", *reduced)
    done = run("anonymize", *asked, "-o", tmp_path / "o.csv", "--json")
    assert done.exit_code == 0, (done.output, done.exception)
    found = told(source, tmp_path / "o.csv", "-s", schema, "-k", 3, *reduced)
    assert single(found["losses"]) == near(json.loads(done.stdout)["losses"]) and found["strange_rows"] == {}
    same = told(source, source, "-s", schema, *reduced)
    assert same["losses"]["gcp_taxonomy"] == 0 and same["strange_rows"] == {}


def test_documents_released_as_trees(tmp_path: Path) -> None:
    """Flat views of both, where values are nodes of hierarchies."""
    text = SCHEMA.replace('"csv"', '"ndjson"').replace('path = "ill"', 'path = "ill[]"')
    (tmp_path / "s.toml").write_text(text)
    people = [{"Age": 20 + i % 9, "town": "AB"[i % 2], "sex": "f", "ill": ["flu", "gout"][: i % 3]} for i in range(60)]
    (tmp_path / "p.ndjson").write_text("".join(json.dumps(one) + "\n" for one in people))
    released = [one | {"Age": "20-39" if i % 2 else "20-24"} for i, one in enumerate(people)]
    (tmp_path / "o.ndjson").write_text("".join(json.dumps(one) + "\n" for one in released))
    asked = (tmp_path / "p.ndjson", tmp_path / "o.ndjson", "-s", tmp_path / "s.toml")
    for how in ("count", "mode", "set"):
        found = told(*asked, "--table", "--reduce", f"ill={how}")
        assert found["strange_rows"] == {} and found["losses"]["ncp_taxonomy"]["town"] == 0
        assert found["losses"]["ncp_taxonomy"]["age"] > 0
    # As trees they need no reductions.
    assert told(*asked)["losses"]["value_loss_by_class"]["town"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["p.csv", "p.csv", "--weight", "2"], "must be CLASS=N"),
        (["p.csv", "p.csv", "--weight", "nope=2"], "unknown quasi column 'nope'"),
        (["p.csv", "p.csv", "--label", "nope"], "unknown column 'nope'"),
        (["p.csv", "p.csv", "--queries", "4"], "1 to 3 quasi columns"),
        (["p.csv", "p.csv", "--reduce", "age=mode"], "--reduce applies to records"),
        (["p.csv", "o.ndjson"], "a release of rows is a CSV or Parquet file"),
        (["-", "-"], "only one of BEFORE and AFTER"),
        (["one.csv", "p.csv"], "it is not a release of it"),
        (["p.csv", "less.csv"], "has no column"),
        (["p.csv", "nowhere.csv"], "there is no such file"),
    ],
)
def test_refused(home: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    (home / "one.csv").write_text("Age,town,sex,ill\n20,A,f,flu\n")
    (home / "less.csv").write_text("Age,sex,ill\n20,f,flu\n")
    done = run("compare", *arguments, "-s", "s.toml")
    assert done.exit_code != 0 and said in f"{done.output}{done.exception}"


def test_standard_input(home: Path) -> None:
    release(home)
    asked = ("-s", str(home / "s.toml"), "--json")
    done = run("compare", home / "p.csv", "-", *asked, input=(home / "out.csv").read_text())
    assert json.loads(done.stdout) == told(home / "p.csv", home / "out.csv", "-s", home / "s.toml")


# --- what a published value may stand for -----------------------------------------------------------------------------


LEAVES = ["1", "2", "3", "4", "5"]
NUMBERS = Hierarchy.from_paths([[x, "low" if x < "3" else "high", "*"] for x in LEAVES])
HELD = {"low": {"1", "2"}, "high": {"3", "4", "5"}, "*": {*LEAVES, None}, **{x: {x} for x in LEAVES}, None: {None}}
RANGES = {f"{a} … {b}": {x for x in LEAVES if a <= x <= b} for a in LEAVES for b in LEAVES if a < b}
SETS = {'["1","4"]': {"1", "4"}, '["2",null]': {"2", None}, "2 … 3 or missing": {"2", "3", None}, "what": set[str]()}
STANDS_FOR = {**HELD, **RANGES, **SETS}


@few(150, 300)
@given(
    st.lists(st.sampled_from([*LEAVES, "low", "high", None]), min_size=1, max_size=6),
    st.lists(st.sampled_from(list(STANDS_FOR)), min_size=1, max_size=6),
)
def test_strange_rows(before: list[str | None], after: list[str | None]) -> None:
    """A row is strange where no value of the original, spelled out, is among those that it stands for."""
    original = ta.Table.of_texts({"x": (before, NUMBERS)})
    published = ta.Table.of_texts({"x": (after, Hierarchy.flat(sorted({x for x in after if x not in (None, "*")})))})
    table, strange = in_terms_of(original, published)
    spelled = set[str | None]().union(*(HELD[text] for text in before))
    assert strange.get("x", 0) == sum(not (STANDS_FOR[text] & spelled) for text in after)
    assert table.column("x").hierarchy is NUMBERS
    if "what" not in after and len(after) <= len(before):
        shown = [text if text in STANDS_FOR else None for text in table.column("x").texts()]
        assert shown == after and measure(original, table).rows == len(before)
