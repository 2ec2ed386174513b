"""`treeanon anonymize --engine spark` of tables: what it says, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import treeanon as ta
from tests.support.spark_tables import QUASI, SCHEMA, multiset, world, write_csv
from treeanon.cli.main import main, report
from treeanon.io.columns.read_table import read_table


class Place:
    """A folder with a table and its schema."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = write_csv(path / "rows.csv", world(31))
        (path / "s.toml").write_text(SCHEMA)

    def run(self, *options: str) -> tuple[int, str, str]:
        """The exit code, all that is said, and what is on standard output."""
        given = [str(self.rows), "-s", str(self.path / "s.toml"), "-k", "3", "--engine", "spark", *options]
        if "-o" not in options:
            given += ["-o", str(self.path / "out")]
        done = CliRunner().invoke(main, ["anonymize", *given])
        if done.exception is None or isinstance(done.exception, SystemExit):
            return done.exit_code, done.output, done.stdout
        return report(done.exception), str(done.exception), ""


def test_the_command_writes_a_folder_and_tells_of_it(spark: Any, tmp_path: Path) -> None:
    place = Place(tmp_path)
    solution = tmp_path / "out.solution.json"
    code, said, out = place.run("--l", "2", "-a", "optimal", "--json", "--solution", str(solution))
    assert code == 0, said
    told = json.loads(out)
    assert told["engine"] == "spark" and told["verification"]["holds"] and set(told["levels"]) == set(QUASI)
    assert told["published_as_they_are"] == {"sensitive": ["ill"], "keep": ["serial"]}
    (part,) = (tmp_path / "out").iterdir()
    written = read_table(part, ta.Schema.loads(SCHEMA), published=True)
    own = read_table(place.rows, ta.Schema.loads(SCHEMA))
    again = ta.apply(solution, own)
    assert multiset(written.to_arrow().to_pylist(), *QUASI, "ill") == multiset(
        again.table.to_arrow().to_pylist(), *QUASI, "ill"
    )


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--l", "1", "-a", "freeform"], 2, "freeform"),
        (["--l", "2", "--publish", "permuted"], 2, "permuted releases"),
        (["--l", "1", "--release", "documents", "-a", "local"], 2, "--release documents"),
        (["--l", "1", "--reduce", "age=set"], 2, "--reduce"),
        (["--l", "1", "--html", "page.html"], 2, "--html"),
        (["-m", "2", "-a", "local", "--l", "1"], 2, "-m"),
        ([], 2, "ill sensitive"),
        (["--l", "6"], 1, ""),
        (["--l", "1", "--from", "xml"], 3, "does not begin as XML"),
        (["--l", "1", "-o", "-"], 2, "standard"),
        (["--l", "1", "-o", "no/such/folder/out"], 4, "folder"),
    ],
)
def test_what_cannot_be_is_refused_with_the_code_of_the_local_command(
    spark: Any, tmp_path: Path, options: list[str], code: int, words: str
) -> None:
    place = Place(tmp_path)
    found, said, _ = place.run(*options)
    assert (found, words in said) == (code, True), said
    assert not (tmp_path / "out").exists()


def test_an_input_that_is_not_there(spark: Any, tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.rows.unlink()
    code, said, _ = place.run("--l", "1")
    assert code == 4 and "no such file" in said
