"""`treeanon report`: its facts are those of verify, risk and compare; a check finds each change; who may see what."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from lxml import html as reader

import treeanon as ta
from tests.support.command_line import treeanon
from tests.support.hospital import folder_of, write_persons

TABLE = """
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
path = "town"
hierarchy = "towns.csv"
[[class]]
name = "illness"
path = "illness"
role = "sensitive"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with releases of trees and of rows, their solutions, and the internal reports about them."""
    folder = folder_of(tmp_path_factory.mktemp("report") / "place")
    write_persons(folder / "in.ndjson", 1)
    (folder / "table.toml").write_text(TABLE)
    (folder / "towns.csv").write_text("Ulm;south;*\nBonn;west;*\n")
    rnd = Random(1)
    with (folder / "people.csv").open("w", newline="") as stream:
        put = csv.writer(stream)
        put.writerow(["name", "age", "town", "illness"])
        for i in range(60):
            put.writerow([f"NAME{i}", rnd.randint(18, 90), rnd.choice(["Ulm", "Bonn"]), rnd.choice("ABCDE")])
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in (
            "anonymize in.ndjson -s s.toml -k 3 -a gcs -o out.ndjson --solution out.json -q",
            "report out.ndjson --of in.ndjson -s s.toml --solution out.json -o trees.html -q --purpose Research",
            "anonymize people.csv -s table.toml -k 3 --l 2 -a mondrian -o out.csv --solution rows.json -q",
            "report out.csv --of people.csv -s table.toml --solution rows.json -o rows.html -q",
        ):
            done = treeanon(*line.split())
            assert done.returncode == 0, done.stderr
    yield folder


@pytest.fixture
def home(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder, which a test may change."""
    shutil.copytree(made, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy"


def facts_of(path: str) -> dict[str, Any]:
    return dict(ta.Report.load(path).facts)


def said(*line: str) -> Any:
    return json.loads(treeanon(*line, "--json", "-q").stdout)


def without_time(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != "seconds"}


def test_facts_are_those_of_the_other_commands(home: Path) -> None:
    facts = facts_of("trees.html")
    verdict = said("verify", "out.ndjson", "-s", "s.toml", "-k", "3", "--objects", "merged")
    told = without_time(facts["verdict"]["details"])
    assert told == {name: value for name, value in verdict.items() if name in told}
    for name, key in (("in.ndjson", "before"), ("out.ndjson", "after")):
        risk = said("risk", name, "-s", "s.toml", "-k", "3", "-m", "3", "-n", "2", "--exact", "--objects", "merged")
        for part in ("below_k", "unique", "combinations"):
            assert facts["risk"][key][part] == risk[part]
    # The search knows which record is whose, and the solution says what it lost; else records are compared unmatched.
    assert facts["losses"] == json.loads((home / "out.json").read_text())["losses"]
    line = "report out.ndjson --of in.ndjson -s s.toml -k 3 --objects merged -o without.html -q"
    assert treeanon(*line.split()).returncode == 0
    lost = said("compare", "in.ndjson", "out.ndjson", "-s", "s.toml", "--objects", "merged")["losses"]
    assert facts_of("without.html")["losses"] == lost


def test_facts_of_rows_are_those_of_the_other_commands(home: Path) -> None:
    facts = facts_of("rows.html")
    verdict = said("verify", "out.csv", "-s", "table.toml", "-k", "3", "--l", "2")
    told = without_time(facts["verdict"]["details"])
    assert told == {name: value for name, value in verdict.items() if name in told} and told["holds"]
    for name, key in (("people.csv", "before"), ("out.csv", "after")):
        assert without_time(facts["risk"][key]) == {
            name: value
            for name, value in said("risk", name, "-s", "table.toml", "-k", "3").items()
            if name in facts["risk"][key] and name != "seconds"
        }
    lost = said("compare", "people.csv", "out.csv", "-s", "table.toml")["losses"]
    assert facts["losses"]["ncp_taxonomy"] == lost["ncp_taxonomy"]
    sizes = facts["group_sizes"]
    assert sum(sizes["before"]) == sum(sizes["after"]) == 60
    assert sizes["after"][0] == 0 and sizes["before"][0] == facts["risk"]["before"]["all_columns"]["unique"]["persons"]


def test_the_page_shows_its_facts(home: Path) -> None:
    shown = (home / "trees.html").read_text().partition("<script")[0]
    facts = facts_of("trees.html")
    for one in facts["files"]:
        assert one["sha256"] in shown and len(one["sha256"]) == 64
    assert {one["role"] for one in facts["files"]} >= {"release", "schema", "input", "solution"}
    for text in ("Singling out", "Linkability", "Inference", "Signature", "Research", "algorithm", facts["sentence"]):
        assert text in shown
    assert "<script" not in shown, "facts come last, and are the only block of data"


def test_a_check_finds_nothing_while_nothing_has_changed(home: Path) -> None:
    for name in ("trees.html", "rows.html"):
        done = treeanon("report", "--check", name)
        assert done.returncode == 0, done.stderr
        assert "differs" not in done.stdout and "holds" in done.stdout


def test_a_check_finds_a_changed_byte_in_each_file(home: Path) -> None:
    files = facts_of("rows.html")["files"]
    assert [one["role"] for one in files] == ["release", "schema", "hierarchy", "input", "solution"]
    for one in files:
        path = home / one["path"]
        content = path.read_bytes()
        path.write_bytes(content + b"\n")
        done = treeanon("report", "--check", "rows.html")
        assert done.returncode == 3, (one, done.stderr)
        assert f"differs: {one['role']} {path.name}: its SHA-256" in done.stdout
        path.write_bytes(content)
    assert treeanon("report", "--check", "rows.html").returncode == 0


def test_a_check_finds_a_page_that_was_edited(home: Path) -> None:
    page = home / "trees.html"
    page.write_text(page.read_text().replace("Inference</h3>", "inference</h3>"))
    done = treeanon("report", "--check", "trees.html")
    assert done.returncode == 3 and "differs: page" in done.stdout


def test_exit_1_says_that_the_guarantee_does_not_hold(home: Path) -> None:
    lines = (home / "out.csv").read_text().splitlines()
    (home / "out.csv").write_text("\n".join(lines[:2]) + "\n")
    done = treeanon("report", "--check", "rows.html")
    assert done.returncode == 1 and "differs: release" in done.stdout and "differs: verdict" in done.stdout
    # A report about it can be made: it says so, too.
    line = "report out.csv --of people.csv -s table.toml -k 3 --l 2 -o now.html"
    done = treeanon(*line.split())
    assert done.returncode == 1 and "The guarantee does not hold" in done.stderr
    assert "Does not hold." in (home / "now.html").read_text()
    assert all(one["addressed"].startswith("Not addressed") for one in facts_of("now.html")["law"])


def test_what_cannot_be_read_any_more_differs(home: Path) -> None:
    (home / "table.toml").write_text("version = 9\n")
    done = treeanon("report", "--check", "rows.html")
    assert done.returncode == 3 and "differs: schema" in done.stdout and "Not verified again" in done.stdout


def test_files_that_were_moved_are_named(home: Path) -> None:
    (home / "else").mkdir()
    (home / "out.csv").rename(home / "else" / "out.csv")
    assert treeanon("report", "--check", "rows.html").returncode == 4
    assert treeanon("report", "--check", "rows.html", "else/out.csv").returncode == 0
    # The whole folder may move: names are relative to the report.
    shutil.copytree(home, home.parent / "moved")
    assert treeanon("report", "--check", home.parent / "moved" / "rows.html", home / "else/out.csv").returncode == 0


@pytest.mark.parametrize("kind", ["trees", "rows"])
def test_the_public_edition_is_made_of_the_release_alone(home: Path, kind: str) -> None:
    release, schema = ("out.ndjson", "s.toml") if kind == "trees" else ("out.csv", "table.toml")
    asked = "-k 3 --objects merged" if kind == "trees" else "-k 3 --l 2"
    line = f"report {release} -s {schema} {asked} --audience public -o public.html"
    done = treeanon(*line.split())
    assert done.returncode == 0, done.stderr
    first = facts_of("public.html")
    (home / "public.html").unlink()
    # The same without the input: nothing of it can be in the report.
    for name in ("in.ndjson", "people.csv", "out.json", "rows.json"):
        (home / name).unlink()
    assert treeanon(*line.split()).returncode == 0
    again = facts_of("public.html")
    for found in (first, again):
        found.pop("made")
        found["risk"]["after"].pop("seconds")
    assert first == again
    assert {one["role"] for one in again["files"]} <= {"release", "schema", "hierarchy"}
    assert not any("/" in one["path"] for one in again["files"])
    assert again["risk"].keys() == {"after"} and again["group_sizes"].keys() == {"after"}
    assert not {"input", "losses", "counts", "strange", "parameters"} & again.keys()
    shown = (home / "public.html").read_text()
    assert "NAME" not in shown and "Public" in shown
    assert treeanon("report", "--check", "public.html").returncode == 0


@pytest.mark.parametrize("name", ["trees.html", "rows.html"])
def test_no_edition_shows_a_value_of_the_original(home: Path, name: str) -> None:
    source = "in.ndjson" if name == "trees.html" else "people.csv"
    texts = set(re.findall(r"CANARY-\w+|NAME\d+|Ulm|Bonn", (home / source).read_text()))
    shown = (home / name).read_text()
    assert len(texts) > 5 and not {text for text in texts if text in shown}


def test_nothing_in_a_report_is_markup_or_script(home: Path) -> None:
    hostile = "</script><script>alert(1)</script><b>"
    schema = TABLE.replace('name = "town"', f'name = "{hostile}"')
    (home / "odd.toml").write_text(schema.replace('path = "town"', 'path = "town"'))
    line = ["report", "people.csv", "--of", "people.csv", "-s", "odd.toml", "-k", "1", "--l", "1", "--purpose", hostile]
    treeanon(*line, "-o", "odd.html")
    page = reader.fromstring((home / "odd.html").read_text())
    assert [(one.get("type"), one.get("id")) for one in page.iter("script")] == [("application/json", "facts")]
    assert hostile in page.text_content() and facts_of("odd.html")["fields"]["purpose"] == hostile


def test_an_internal_report_is_for_its_owner_alone(home: Path) -> None:
    assert (home / "trees.html").stat().st_mode & 0o777 == 0o600
    (home / "rows.html").chmod(0o644)
    line = "report out.csv --of people.csv -s table.toml --solution rows.json -o rows.html --force"
    assert treeanon(*line.split()).returncode == 0
    assert (home / "rows.html").stat().st_mode & 0o777 == 0o600


def test_anonymize_writes_the_same_report(home: Path) -> None:
    line = "anonymize people.csv -s table.toml -k 3 --l 2 -a mondrian -o new.csv --report new.html"
    done = treeanon(*line.split())
    assert done.returncode == 0 and "Internal report written to new.html" in done.stderr
    facts = facts_of("new.html")
    assert facts["verdict"]["holds"] and facts["parameters"]["algorithm"] == "mondrian"
    assert treeanon("report", "--check", "new.html").returncode == 0


def test_a_freeform_release_is_verified_against_its_input(home: Path) -> None:
    line = "anonymize people.csv -s table.toml -k 3 --l 1 -a freeform-greedy -o free.csv --report free.html"
    assert treeanon(*line.split()).returncode == 0
    facts = facts_of("free.html")
    assert facts["promise"]["freeform"] and facts["risk"]["after"] is None
    assert treeanon("report", "--check", "free.html").returncode == 0
    public = "report free.csv -s table.toml --audience public -o public.html"
    assert treeanon(*public.split(), "-k", "3").returncode == 1, "rows that are not alike fail without the input"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("report out.csv -s table.toml -k 3 -o r.html", "name it (of)"),
        ("report out.csv --of people.csv -s table.toml -o r.html", "say what the release promises"),
        ("report out.csv --of people.csv -s table.toml --solution rows.json -k 3 -o r.html", "leave out k"),
        ("report out.csv --of people.csv -s table.toml -k 3 -o r.txt", "FILE.html or FILE.pdf"),
        ("report out.csv --of people.csv -s table.toml -k 3", "missing --output"),
        ("report out.csv --of people.csv -s table.toml -k 3 -o people.csv", "is an input"),
        ("report --check out.csv", "is no report"),
        ("report --check rows.html -o r.html", "leave out --output"),
        ("anonymize people.csv -s table.toml -k 3 --l 1 -o - --report r.html", "--report is about files"),
        ("anonymize people.csv -s table.toml -k 3 --l 2 --publish permuted -o p --report r.html", "have no report"),
        ("anonymize in.ndjson -s s.toml -k 3 -o o.xml --report r.html", "the format of the input"),
    ],
)
def test_wrong_use_is_refused_before_the_work(home: Path, line: str, says: str) -> None:
    done = treeanon(*line.split())
    assert done.returncode == 2 and says in " ".join(done.stderr.split()), done.stderr
    assert not (home / "r.html").exists()


def test_pdf_carries_the_same_facts(home: Path) -> None:
    pytest.importorskip("weasyprint", reason="the extra `report` is not installed")
    line = "report out.csv --of people.csv -s table.toml --solution rows.json -o rows.pdf"
    assert treeanon(*line.split()).returncode == 0
    found, page = facts_of("rows.pdf"), facts_of("rows.html")
    assert without_risks(found) == without_risks(page)
    assert treeanon("report", "--check", "rows.pdf").returncode == 0
    with (home / "out.csv").open("a") as stream:
        stream.write("\n")
    assert treeanon("report", "--check", "rows.pdf").returncode == 3


def without_risks(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts but for what takes time: when it was made, and how long it took."""
    verdict = {**facts["verdict"], "details": without_time(facts["verdict"]["details"])}
    return {name: value for name, value in facts.items() if name not in ("made", "risk")} | {"verdict": verdict}
