"""What the command line asks of tables: diversity of some classes alone, and errors before anything is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import pyarrow as pa
import pytest

import treeanon as ta
from tests.support.as_installed import ran
from treeanon.cli import checks
from treeanon.errors import UsageError
from treeanon.io.columns.read_table import read_table

SCHEMA = """version = 1
[input]
format = "csv"
[[class]]
name = "age"
path = "age"
[[class]]
name = "ill"
path = "ill"
role = "sensitive"
[[class]]
name = "pay"
path = "pay"
role = "sensitive"
"""
ROWS = "age,ill,pay\n34,flu,1\n34,gout,1\n35,flu,1\n35,acne,1\n"
Run = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "s.toml").write_text(SCHEMA)
    (tmp_path / "in.csv").write_text(ROWS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line, and gives what it prints."""

    def command(line: str, code: int = 0) -> str:
        _, out, err = ran(line.split(), monkeypatch, capsys, code)
        return err + out

    return command


@pytest.mark.parametrize("asked", ["--l ill=2 --l pay=1", "--l 1 --l ill=2", "--l ill=2 --l 1", "--l ill=2 --t pay=1"])
def test_diversity_is_asked_class_by_class(folder: Path, run: Run, asked: str) -> None:
    said = run(f"anonymize in.csv -s s.toml -k 2 {asked} -o out.csv")
    assert "distinct 2-diversity of ill" in said
    run(f"verify out.csv -s s.toml -k 2 {asked}")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("--l ill=2", "the schema calls pay sensitive"),
        ("--l pay=1", "the schema calls ill sensitive"),
        ("--l ill=2 --l wage=1", "unknown class 'wage'"),
        ("--l ill=2 --l pay=1 --l age=1", "the role of class 'age' is not sensitive"),
        ("--l 2 --l pay=1", "beside them only --l 1 (no diversity for the other classes)"),
        ("--l 1 --l 1", "a class is given twice"),
        ("--alpha 1 --alpha ill=0.5", "give one number for all classes, or CLASS=N for each"),
    ],
)
def test_what_is_not_said_of_a_class_is_asked(folder: Path, run: Run, asked: str, words: str) -> None:
    assert words in " ".join(run(f"anonymize in.csv -s s.toml -k 2 {asked} -o out.csv", code=2).split())
    assert not (folder / "out.csv").exists()


def test_the_library_too(folder: Path) -> None:
    table = read_table(folder / "in.csv", ta.Schema.load(folder / "s.toml"))
    release = ta.anonymize(table, k=2, l={"ill": 2, "pay": 1})
    assert release.verdict.holds and len(release.table) == 4
    with pytest.raises(UsageError, match="pay"):
        ta.anonymize(table, k=2, l={"ill": 2})


def test_documents_of_classes_that_want_no_diversity(folder: Path, run: Run) -> None:
    (folder / "in.ndjson").write_text(
        "".join(f'{{"age":"{age}","ill":"{ill}","pay":"1"}}\n' for age, ill in (("34", "flu"), ("34", "gout")))
    )
    (folder / "n.toml").write_text(SCHEMA.replace('"csv"', '"ndjson"'))
    run("anonymize in.ndjson -s n.toml -k 2 --l ill=2 --l pay=1 --release documents -o out.ndjson")
    run("anonymize in.ndjson -s n.toml -k 2 --l 1 --l ill=2 --release documents -o two.ndjson")


def test_what_is_wrong_is_said_alone(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Eager:
        """Says so at once, as if all kernels had to be compiled."""

        def __setattr__(self, name: str, value: bool) -> None:
            if value:
                click.echo("compiling kernels", err=True)

        def end(self) -> None:
            pass

    monkeypatch.setattr(checks, "_announcement", Eager)
    for line in (
        "anonymize in.csv -s s.toml -k 2 -o out.csv",
        "anonymize in.csv -s s.toml -k 2 -m 1 -o out.csv",
        "anonymize in.csv -s s.toml --publish permuted --l 2 -o out/",
        "anonymize in.csv -s s.toml -k 2 --l 1 --release documents -o none/out.csv",
        "anonymize in.csv -s s.toml -k 2 --l 1 -o in.csv",
        "apply s.toml in.csv -s s.toml -o out.csv",
    ):
        with_code = 4 if "none/" in line else 2
        assert "compiling" not in run(line, code=with_code), line
    assert run("anonymize in.csv -s s.toml -k 2 --l 1 -o out.csv").startswith("compiling kernels")
    assert "compiling" not in run("anonymize in.csv -s s.toml -k 2 --l 1 -o out.csv --force -q")


@pytest.mark.parametrize("seed", ["x", 1.5, -1, True])
def test_a_seed_is_a_whole_number(folder: Path, run: Run, seed: object) -> None:
    schema = ta.Schema.loads(SCHEMA)
    table = read_table(folder / "in.csv", schema)
    for data in (table, ta.read(folder / "in.csv", schema)):
        with pytest.raises(UsageError, match="seed must be a whole number"):
            ta.anonymize(data, k=2, l=1, seed=seed)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="seed"):
        ta.anonymize(pa.table({"age": ["1"], "ill": ["a"], "pay": ["1"]}), schema=schema, k=1, l=1, seed=seed)
    run(f"anonymize in.csv -s s.toml -k 2 --l 1 -o out.csv --seed {seed}", code=2)


def test_how_many_may_be_left_out(folder: Path) -> None:
    table = read_table(folder / "in.csv", ta.Schema.loads(SCHEMA))
    for wrong in ("all", 1.5, -1, "101%", True):
        with pytest.raises(UsageError, match=r'a share such as "1%" or 0\.01; the number whole, such as 12'):
            ta.anonymize(table, k=2, l=1, max_suppressed=wrong)


@pytest.mark.parametrize("more", ["", " --table", " --l 2"])
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("--attacker joint", "--attacker applies to trees only"),
        ("-m 2 -n 1 --t 0.9", "-m and -n apply to trees only"),
        ("--negative age --table", "--negative applies to trees only"),
    ],
)
def test_verify_leaves_nothing_unsaid_that_was_asked(folder: Path, run: Run, asked: str, words: str, more: str) -> None:
    assert words in run(f"verify in.csv -s s.toml -k 1 {asked}{more}", code=2)


def test_verify_against_an_original_asks_for_nothing_of_trees(folder: Path, run: Run) -> None:
    run("verify in.csv -s s.toml -k 1 --original in.csv")
    assert "-m applies to trees only" in run("verify in.csv -s s.toml -k 1 --original in.csv -m 2", code=2)
    assert "-n applies to trees only" in run("verify . -s s.toml --l 1 --permuted -n 0", code=2)
