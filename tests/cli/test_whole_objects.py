"""Whole objects on the command line: releases, solutions, reports, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import treeanon as ta
from tests.support.paths import ROOT
from treeanon.algorithms.tree.default.objective import Effort
from treeanon.cli.main import main
from treeanon.errors import SchemaError, UsageError


def whole_schema(name: str, target: Path) -> Path:
    """A shipped schema with whole objects."""
    text = (ROOT / "schemas" / name).read_text()
    text = re.sub(r"^under.*\n", "", text, flags=re.MULTILINE)
    text = text.replace("[input]\n", '[input]\nobjects = "whole"\n', 1)
    path = target / f"whole-{name}"
    path.write_text(text.replace('"hierarchies/', f'"{ROOT}/schemas/hierarchies/'))
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches end soon: what is asked here does not depend on what they find."""
    monkeypatch.setattr(Effort, "of", lambda _: Effort(0.1))


@pytest.fixture
def few(tmp_path: Path) -> tuple[Path, Path]:
    """Some persons of the sample, and a schema of whole objects."""
    lines = (ROOT / "samples/patients.ndjson").read_text().splitlines()[:120]
    path = tmp_path / "few.ndjson"
    path.write_text("\n".join(lines) + "\n")
    return path, whole_schema("hospital-json.toml", tmp_path)


@pytest.mark.parametrize("audience", ["public", "internal"])
def test_a_release_is_verified_reported_and_made_again(audience: str, few: tuple[Path, Path], tmp_path: Path) -> None:
    source, schema = few
    out, solution, page = tmp_path / "out.ndjson", tmp_path / "out.solution.json", tmp_path / "out.html"
    asked = (
        "-s",
        schema,
        "-k",
        5,
        "-o",
        out,
        "--solution",
        solution,
        "--seed",
        1,
        "--html",
        page,
        "--audience",
        audience,
    )
    done = run("anonymize", source, *asked)
    assert done.exit_code == 0, done.output
    assert "kept whole" in done.output and "in visits[]" in done.output
    assert "Published unchanged" not in done.output
    assert ("kept whole" in page.read_text()) == (audience == "internal") and "in visits[]" in page.read_text()
    checked = run("verify", out, "-s", schema, "-k", 5)
    assert checked.exit_code == 0, checked.output
    again = run("apply", solution, source, "-s", schema, "-o", tmp_path / "again.ndjson")
    assert again.exit_code == 0, again.output
    loaded = ta.Schema.load(schema)
    assert ta.read(tmp_path / "again.ndjson", loaded) == ta.read(out, loaded)
    compared = run("compare", source, out, "-s", schema, "--json")
    assert compared.exit_code == 0, compared.output
    assert json.loads(compared.stdout)["losses"]["objects"]["visits[]"]["whole"] is None
    risky = run("risk", source, "-s", schema, "-m", 2, "-n", 1)
    assert risky.exit_code == 0 and "outermost" not in risky.output
    assert run("preview", source, "-s", schema, "-k", 5).exit_code == 0


@pytest.mark.parametrize(
    "asked",
    [
        ("anonymize", "-k", 5, "-a", "gcs"),
        ("anonymize", "-k", 5, "-a", "miracle"),
        ("anonymize", "-k", 5, "--param", "taking_apart=move"),
        ("anonymize", "-k", 5, "--negative", "diagnosis", "--attacker", "joint"),
    ],
    ids=str,
)
def test_what_is_not_offered_is_refused(asked: tuple, few: tuple[Path, Path], tmp_path: Path) -> None:
    source, schema = few
    command, *rest = asked
    target = ("-o", tmp_path / "out.ndjson") if command == "anonymize" else ()
    done = run(command, source, "-s", schema, *rest, *target)
    # The program's own entry makes exit code 2 of this.
    assert isinstance(done.exception, UsageError), done.output
    assert "objects" in str(done.exception) and not (tmp_path / "out.ndjson").exists()


def test_what_is_left_open_is_whole_until_merged_trees_are_needed(few: tuple[Path, Path], tmp_path: Path) -> None:
    source, schema = few
    schema.write_text(schema.read_text().replace('objects = "whole"', 'objects = "auto"'))
    made = {}
    for name, asked in (("whole", ()), ("moved", ("-a", "gcs", "--param", "g=2", "--as-published"))):
        out, solution = tmp_path / f"{name}.ndjson", tmp_path / f"{name}.json"
        done = run("anonymize", source, "-s", schema, "-k", 4, "-n", 1, "-o", out, "--solution", solution, *asked)
        assert done.exit_code == 0, done.output
        assert ("Trees are merged" in done.output) == (name == "moved")
        made[name] = json.loads(solution.read_text())
        assert made[name]["objects"] == ("whole" if name == "whole" else "merged")
        again = run("apply", solution, source, "-s", schema, "-o", tmp_path / f"{name}-again.ndjson")
        assert again.exit_code == 0, again.output
        compared = run("compare", source, out, "-s", schema, "--objects", made[name]["objects"])
        assert compared.exit_code == 0, compared.output
    checked = ("verify", "-s", schema, "-k", 4)
    assert run(*checked, tmp_path / "whole.ndjson").exit_code == 0
    # What is published of merged trees is not more than what was counted only if it is read as such.
    asked = (*checked, tmp_path / "moved.ndjson", "--as-published")
    assert run(*asked, "--objects", "merged").exit_code == 0
    plain = run(*asked)
    assert plain.exit_code == (0 if made["moved"]["disassociated"] else 1), plain.output
    assert "merged" in plain.output
    # What holds of whole objects holds of merged trees: these have the same values, and no other relations.
    assert run(*checked, tmp_path / "whole.ndjson", "--objects", "merged").exit_code == 0
    assert run("preview", source, "-s", schema, "-k", 4, "-a", "gcs").exit_code == 0
    out = tmp_path / "negative.ndjson"
    assert run("anonymize", source, "-s", schema, "-k", 4, "--negative", "sex", "-o", out).exit_code == 0
    checked = run("verify", out, "-s", schema, "-k", 4, "--negative", "sex")
    assert checked.exit_code == 0 and "merged" not in checked.output
    assert ta.verify(out, schema=ta.Schema.load(schema), k=4, negative="sex").holds
    asked = ("--negative", "sex", "--attacker", "joint")
    assert run("anonymize", source, "-s", schema, "-k", 4, *asked, "-o", tmp_path / "joint.ndjson").exit_code == 0
    checked = run("verify", tmp_path / "joint.ndjson", "-s", schema, "-k", 4, *asked)
    assert checked.exit_code == 0 and "Counted in merged trees" in checked.output


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (("-a", "miracle"), "algorithm 'miracle' searches merged trees"),
        (("-a", "ocs"), "algorithm 'ocs' searches merged trees"),
        (("--negative", "sex", "--attacker", "joint"), "negative knowledge"),
        (("--param", "taking_apart=move"), "taking_apart = move"),
    ],
)
def test_where_nothing_is_said_what_needs_merged_trees_takes_them(
    asked: tuple[str, ...], why: str, few: tuple[Path, Path], tmp_path: Path
) -> None:
    source, schema = few
    schema.write_text(schema.read_text().replace('objects = "whole"\n', ""))
    out, solution = tmp_path / "out.ndjson", tmp_path / "out.json"
    common = ("-s", schema, "-k", 4, "-m", 2, "-n", 1)
    done = run("anonymize", source, *common, *asked, "-o", out, "--solution", solution)
    assert done.exit_code == 0, done.output
    (line,) = [line for line in done.output.splitlines() if line.startswith("Trees are merged")]
    assert why in line and json.loads(solution.read_text())["objects"] == "merged"
    forest = ta.read(out, ta.Schema.load(schema).with_objects("merged"))
    negative = ["sex"] if "--negative" in asked else []
    assert ta.verify(forest, k=4, m=2, n=1, negative=negative).holds
    previewed = run("preview", source, *common, *asked)
    assert previewed.exit_code == 0 and "Trees are merged" in previewed.output.replace("\n", " ")


def test_compare_says_how_to_verify_what_was_made_of_merged_trees(few: tuple[Path, Path], tmp_path: Path) -> None:
    source, schema = few[0], tmp_path / "open.toml"
    schema.write_text(few[1].read_text().replace('objects = "whole"\n', ""))
    as_it_is = tmp_path / "as-it-is.ndjson"
    as_it_is.write_bytes(source.read_bytes())
    said = run("compare", source, as_it_is, "-s", schema, "-k", 5).stdout
    assert "does not hold" in said and "is verified with --objects merged" in " ".join(said.split())
    for objects in ("merged", "whole"):
        assert "Counted in" not in run("compare", source, as_it_is, "-s", schema, "-k", 5, "--objects", objects).stdout


def test_compare_merges_where_a_release_relates_what_no_object_does(few: tuple[Path, Path], tmp_path: Path) -> None:
    source, schema = few[0], tmp_path / "open.toml"
    schema.write_text(few[1].read_text().replace('objects = "whole"\n', ""))
    out = tmp_path / "out.ndjson"
    made = run("anonymize", source, "-s", schema, "-k", 4, "--objects", "merged", "--param", "effort=0.1", "-o", out)
    assert made.exit_code == 0, made.output
    asked = ("compare", source, out, "-s", schema, "-k", 4)
    found, as_merged, whole = (
        json.loads(run(*asked, *more, "--json").stdout)
        for more in ((), ("--objects", "merged"), ("--objects", "whole"))
    )
    assert max(whole["losses"]["relations_kept_by_pair"].values()) > 1 and whole["objects"] == "whole"
    for each in (found, as_merged):
        each["verification"].pop("seconds")
    assert found == as_merged and found["objects"] == "merged" and found["verification"]["holds"]
    assert max(found["losses"]["relations_kept_by_pair"].values()) <= 1
    assert run(*asked).stdout.startswith("Compared as merged trees (--objects overrides the schema)")
    assert "Compared as" not in run(*asked, "--objects", "merged").stdout
    report = ("report", out, "--of", source, "-s", schema, "-k", 4, "-o", tmp_path / "report.html")
    with pytest.raises(UsageError, match="--objects merged verifies and measures"):
        raise run(*report).exception  # type: ignore[misc]


def test_where_nothing_is_said_under_makes_merged_trees(few: tuple[Path, Path], tmp_path: Path) -> None:
    source, schema = few
    text = schema.read_text().replace('objects = "whole"\n', "")
    schema.write_text(re.sub(r'^(name = "treatment")$', r'\1\nunder = "hospital"', text, flags=re.MULTILINE))
    done = run("anonymize", source, "-s", schema, "-k", 4, "-o", tmp_path / "out.ndjson")
    assert done.exit_code == 0 and "Trees are merged: class 'treatment' has `under`" in done.output
    checked = run("verify", tmp_path / "out.ndjson", "-s", schema, "-k", 4)
    assert checked.exit_code == 0, checked.output


def test_an_older_solution_is_of_merged_trees(few: tuple[Path, Path], tmp_path: Path) -> None:
    """Before solutions said of which trees they are, schemas that said nothing were of merged ones."""
    source, schema = few
    schema.write_text(schema.read_text().replace('objects = "whole"\n', ""))
    solution = tmp_path / "old.json"
    made = run("anonymize", source, "-s", schema, "-k", 4, "--objects", "merged", "--param", "effort=0.1",
               "-o", tmp_path / "a.ndjson", "--solution", solution)  # fmt: skip
    assert made.exit_code == 0 and "Trees are merged" not in made.output, made.output
    told = json.loads(solution.read_text())
    assert told.pop("objects") == "merged"
    solution.write_text(json.dumps(told))
    again = run("apply", solution, source, "-s", schema, "-o", tmp_path / "b.ndjson")
    assert again.exit_code == 0, again.output
    assert "Trees are merged: so are those that the solution was made for" in again.output
    merged = ta.Schema.load(schema).with_objects("merged")
    assert ta.verify(ta.read(tmp_path / "b.ndjson", merged), k=4, m=2, n=1).holds


def test_a_solution_says_of_which_trees_it_is(few: tuple[Path, Path], tmp_path: Path) -> None:
    source, schema = few
    forest = ta.read(source, ta.Schema.load(schema))
    merged = ta.read(source, ta.Schema.load(schema).with_objects("merged"))
    with pytest.raises(UsageError, match="made for merged trees"):
        ta.apply(ta.anonymize(merged, k=3).solution, forest)
    with pytest.raises(UsageError, match="made for whole objects"):
        ta.apply(ta.anonymize(forest, k=3).solution, merged)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('format = "csv"\nobjects = "whole"', "is only for formats whose records hold objects"),
        ('format = "ndjson"\nobjects = "hole"', "did you mean 'whole'"),
    ],
)
def test_objects_of_a_schema(text: str, words: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(words)):
        ta.Schema.loads(f'version = 1\n[input]\n{text}\n[[class]]\nname = "a"\npath = "a"\n')


@pytest.mark.parametrize("objects", ["auto", "whole", "merged"])
def test_a_trees_file_says_in_its_schema_what_its_objects_are(few: tuple[Path, Path], objects: str) -> None:
    source, schema = few
    text = re.sub("^objects = .*$", f'objects = "{objects}"', schema.read_text(), flags=re.MULTILINE)
    schema.with_name("s.toml").write_text(text)
    made, again = schema.with_name("made.toml"), source.with_name("again.ndjson")
    trees = source.with_name("o.trees.jsonl")
    run("convert", source, "-s", schema.with_name("s.toml"), "-o", trees, "--schema-out", made)
    run("convert", trees, "-s", made, "-o", again, "--schema-out", schema.with_name("again.toml"))
    before = ta.read(source, ta.Schema.load(schema.with_name("s.toml")))
    after = ta.read(again, ta.Schema.load(schema.with_name("again.toml")))
    assert sorted(map(str, after.records())) == sorted(map(str, before.records()))


def test_under_is_refused_with_a_word_that_says_so() -> None:
    lines = [
        "version = 1",
        "[input]",
        'format = "ndjson"',
        'objects = "whole"',
        "[[class]]",
        'name = "a"',
        'path = "a"',
    ]
    with pytest.raises(SchemaError, match=r"line 8, class 'a': under: is only for merged trees"):
        ta.Schema.loads("\n".join([*lines, 'under = "/"']))
    with pytest.raises(SchemaError, match="is the name of a type of objects"):
        more = ["[[class]]", 'name = "v[]"', 'path = "v[].b"']
        ta.Schema.loads("\n".join([*lines, *more]))


@pytest.mark.parametrize("name", ["clinic.toml", "clinic-sqlite.toml"])
def test_tables_go_out_whole_and_come_back(name: str, tmp_path: Path) -> None:
    schema = ta.Schema.load(whole_schema(name, tmp_path))
    source = ROOT / "samples" / ("clinic.sqlite" if "sqlite" in name else "clinic")
    forest = ta.read(source, schema)
    general = forest.project({"sex": ["*"]}).without(["ward"] if "ward" in forest.classes.names else [])
    for one in (forest, general):
        for target, form in (("o.json", "json"), ("o.xml", "xml"), ("o.ndjson", "ndjson"), ("o.trees.jsonl", "trees")):
            ta.write(one, tmp_path / target, force=True)
            assert ta.read(tmp_path / target, forest.schema.for_format(form)) == one
        ta.write(one, f"{tmp_path}/tables/", force=True)
        assert ta.read(tmp_path / "tables", forest.schema.for_format("tables")) == one
