"""`treeanon compare` of trees, of freeform and of permuted releases: what was written has lost what they say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import treeanon as ta
from tests.cli.test_compare import run, told
from tests.support.paths import ROOT
from treeanon.errors import UsageError
from treeanon.metrics.measure import in_terms_of
from treeanon.metrics.values import rpd
from treeanon.table.compared import schema_as_published

XML = (ROOT / "samples/patients.xml", ROOT / "schemas/hospital-xml.toml")
CLINIC = (ROOT / "samples/clinic", ROOT / "schemas/clinic.toml")
CENSUS = (ROOT / "samples/census.csv", ROOT / "schemas/census.toml")


def released(source: Path, schema: Path, target: Path, *more: object) -> dict[str, Any]:
    done = run("anonymize", source, "-s", schema, "-o", target, "--json", *more)
    assert done.exit_code == 0, (done.output, done.exception)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    out = tmp_path_factory.mktemp("trees") / "out.xml"
    return out, released(*XML, out, "-k", 5, "-m", 2, "-n", 1, "--effort", 0.1, "--mining")


def near(losses: dict[str, Any]) -> dict[str, Any]:
    names = ("value_loss", "value_loss_by_class", "relations_kept", "relations_kept_by_pair", "rpd")
    return {name: pytest.approx(losses[name]) for name in names}


def test_what_was_written_has_lost_what_the_release_says(trees: tuple[Path, dict[str, Any]]) -> None:
    out, release = trees
    found = told(XML[0], out, "-s", XML[1], "-k", 5, "-m", 2, "-n", 1, "--mining")
    assert near(release["losses"]) == {name: found["losses"][name] for name in near(release["losses"])}
    assert found["losses"]["mining"]["ml2"] == pytest.approx(release["losses"]["mining"]["ml2"])
    assert "dml2" not in found["losses"]["mining"] and found["matched"] is False
    assert (found["records"], found["published_records"], found["strange_nodes"]) == (1000, 1000, {})
    assert found["verification"]["holds"] is True and found["verification"]["largest_k"] >= 5


def test_the_text_is_that_of_releases(trees: tuple[Path, dict[str, Any]]) -> None:
    out, release = trees
    done = run("compare", XML[0], out, "-s", XML[1], "-k", 50, "--mining")
    assert done.exit_code == 0 and max(map(len, done.stdout.splitlines())) < 80
    lines = {line[:30].strip(): line[30:].split() for line in done.stdout.splitlines() if line}
    assert lines["value loss"][0] == f"{release['losses']['value_loss']:.3f}"
    assert lines["persons"] == ["1,000", "1,000"] and "dML2" not in lines and "ML2" in lines
    assert "50^(2,1)-anonymity does not hold" in done.stdout
    assert run("compare", XML[0], out, "-s", XML[1], "-q").output == ""


def test_stronger_guarantees_and_the_scope_of_levels(trees: tuple[Path, dict[str, Any]]) -> None:
    out, _ = trees
    merged = ("--objects", "merged")
    asked = ("-k", 2, "-m", 2, "-n", 2, "--attacker", "joint", "--negative", "sex")
    found = told(XML[0], out, "-s", XML[1], *merged, *asked, "--scope", "hierarchy")
    schema = ta.Schema.load(XML[1]).with_objects("merged")
    forest = ta.read(out, schema_as_published(schema))
    asked_for = ta.Guarantee(2, 2, 2, "joint", negative=("sex",))
    assert found["verification"]["holds"] is ta.verify(forest, asked_for).holds
    published, _ = in_terms_of(ta.read(XML[0], schema), forest)
    assert found["scope"] == "hierarchy" and found["losses"]["rpd"] == pytest.approx(rpd(published, "hierarchy"))
    assert found["rpda"] > 0
    lines = run("compare", XML[0], out, "-s", XML[1]).stdout.splitlines()
    assert any(line.startswith("RPDa") and line.endswith("by levels of the class") for line in lines)
    for option, value in (("--attacker", "joint"), ("--l", 2), ("--negative", "sex")):
        done = run("compare", XML[0], out, "-s", XML[1], option, value)
        assert done.exit_code == 2 and f"{option} requires -k" in done.output
        rows = run("compare", CENSUS[0], CENSUS[0], "-s", CENSUS[1], option, value)
        assert rows.exit_code == 2 and f"{option} does not apply to rows" in rows.output


def test_itself_has_lost_nothing_in_order_or_not(tmp_path: Path) -> None:
    source = tmp_path / "some.ndjson"
    source.write_text("".join((ROOT / "samples/patients.ndjson").read_text().splitlines(keepends=True)[:300]))
    for more in ((), ("--in-order",)):
        losses = told(source, source, "-s", ROOT / "schemas/hospital-json.toml", "--mining", *more)["losses"]
        assert (losses["value_loss"], losses["relations_kept"], losses["mining"]["ml2"]) == (0, 1, 0)
    assert losses["mining"]["dml2"] == 0


def test_weights_and_tables_with_keys(tmp_path: Path) -> None:
    release = released(*CLINIC, tmp_path / "out", "-k", 5, "-m", 1, "-n", 0, "--effort", 0.1)
    found = told(CLINIC[0], tmp_path / "out", "-s", CLINIC[1])
    assert found["losses"]["value_loss"] == pytest.approx(release["losses"]["value_loss"])
    name = next(name for name, loss in found["losses"]["value_loss_by_class"].items() if loss > 0)
    weighed = told(CLINIC[0], tmp_path / "out", "-s", CLINIC[1], "--weight", f"{name}=50")["losses"]
    assert abs(weighed["value_loss"] - weighed["value_loss_by_class"][name]) < abs(
        found["losses"]["value_loss"] - weighed["value_loss_by_class"][name]
    )


def test_what_nobody_can_have_is_told_by_classes(tmp_path: Path) -> None:
    text = XML[0].read_text().replace("Asthma", "CANARY")
    (tmp_path / "odd.xml").write_text(text)
    shutil.copytree(ROOT / "schemas", tmp_path / "schemas")
    if (ROOT / "hierarchies").exists():
        shutil.copytree(ROOT / "hierarchies", tmp_path / "hierarchies")
    done = run("compare", XML[0], tmp_path / "odd.xml", "-s", XML[1])
    assert done.exit_code == 0 and "nodes  diagnosis" in done.stderr and "CANARY" not in done.output
    assert set(told(XML[0], tmp_path / "odd.xml", "-s", XML[1])["strange_nodes"]) == {"diagnosis"}


def test_a_freeform_release_is_checked_as_one(tmp_path: Path) -> None:
    lines = CENSUS[0].read_text().splitlines(keepends=True)
    (tmp_path / "p.csv").write_text("".join(lines[:101]))
    released(tmp_path / "p.csv", CENSUS[1], tmp_path / "out.csv", "-k", 4, "-a", "freeform-greedy", "--l", 1)
    asked = (tmp_path / "p.csv", tmp_path / "out.csv", "-s", CENSUS[1])
    found = told(*asked, "-k", 4)
    assert found["verification"]["holds"] is False and found["as_freeform"]["holds"] is True
    assert "As a freeform release" in run("compare", *asked, "-k", 4).stdout
    assert "as_freeform" not in told(*asked) and "verification" not in told(*asked)
    same = told(asked[0], asked[0], "-s", CENSUS[1], "-k", 1)
    assert same["verification"]["holds"] is True and "as_freeform" not in same


def test_many_rows_are_not_paired_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treeanon.cli.comparisons._MOST_PAIRED", 10)
    asked = (CENSUS[0], CENSUS[0], "-s", CENSUS[1], "-k", 3)
    assert "as_freeform" not in told(*asked)
    assert "treeanon verify --original" in run("compare", *asked).stdout


def test_a_permuted_release(tmp_path: Path) -> None:
    more = ("--publish", "permuted", "--l", 3)
    release = released(*CENSUS, tmp_path / "out", *more)
    found = told(CENSUS[0], tmp_path / "out", "-s", CENSUS[1], "--permuted")
    queries = release["losses"].pop("queries")
    assert found["losses"].pop("queries") == {level: pytest.approx(loss) for level, loss in queries.items()}
    assert found["losses"] == release["losses"] and found["strange_rows"] == {}
    assert "queries by 2" in run("compare", CENSUS[0], tmp_path / "out", "-s", CENSUS[1], "--permuted").stdout


def test_a_permuted_release_of_others(tmp_path: Path) -> None:
    lines = CENSUS[0].read_text().splitlines(keepends=True)
    (tmp_path / "p.csv").write_text("".join(lines[:1001]))
    released(*CENSUS, tmp_path / "out", "--publish", "permuted", "--l", 2)
    done = run("compare", tmp_path / "p.csv", tmp_path / "out", "-s", CENSUS[1], "--permuted")
    assert isinstance(done.exception, UsageError) and "it is not a release of it" in str(done.exception)
    released(tmp_path / "p.csv", CENSUS[1], tmp_path / "few", "--publish", "permuted", "--l", 2)
    records = tmp_path / "few" / "records.csv"
    head, first, *rest = records.read_text().splitlines(keepends=True)
    records.write_text("".join([head, first.replace(first.split(",")[0], "99999", 1), *rest]))
    found = told(CENSUS[0], tmp_path / "few", "-s", CENSUS[1], "--permuted")
    assert sum(found["strange_rows"].values()) == 1 and found["losses"]["queries"] == {}
    assert found["losses"]["suppressed"] == 1000


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--queries", "2"], "--table"),
        (["--label", "age"], "--table"),
        (["-m", "2"], "-m requires -k"),
        (["--permuted", "-k", "3"], "-k does not apply to a permuted release"),
        (["--table", "--mining"], "--mining does not apply to rows"),
        (["--weight", "nope=2"], "unknown class 'nope'"),
    ],
)
def test_what_cannot_be_asked(arguments: list[str], said: str) -> None:
    done = run("compare", XML[0], XML[0], "-s", XML[1], *arguments)
    assert done.exit_code != 0 and said in f"{done.output}{done.exception}"


def test_in_order_needs_as_many_records(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('version = 1\n[input]\nformat = "ndjson"\n[[class]]\nname = "a"\npath = "a"\n')
    (tmp_path / "p.ndjson").write_text('{"a": "x"}\n{"a": "y"}\n')
    (tmp_path / "o.ndjson").write_text('{"a": "y"}\n')
    asked = (tmp_path / "p.ndjson", tmp_path / "o.ndjson", "-s", tmp_path / "s.toml")
    done = run("compare", *asked, "--in-order")
    assert done.exit_code != 0 and "as many records" in f"{done.output}{done.exception}"
    assert told(*asked)["losses"]["value_loss"] == pytest.approx(0.5)
    assert "it is not a release of it" in str(run("compare", asked[1], asked[0], "-s", asked[3]).exception)
