"""Schemas proposed for files of rows: one class a column, hierarchies beside the file, and that they work at once."""

from __future__ import annotations

import csv
import gzip
import json
import random
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import treeanon as ta
from tests.support.profiles import few
from treeanon.cli.main import main
from treeanon.errors import DataError, UsageError
from treeanon.infer import propose, render_schema
from treeanon.io.columns.read_table import read_table

TOWNS = ["Ulm", "Bonn", "Köln", "Rom", "Bari", "Linz", "Graz", "Wien", "Bern", "Basel"]


def run(*arguments: object) -> Any:
    done = CliRunner().invoke(main, [*map(str, arguments)])
    assert done.exit_code == 0, (done.output, done.exception)
    return done


def people(rows: int = 400) -> list[dict[str, str]]:
    made = random.Random(5)
    return [
        {
            "id": str(number),
            "Full name": f"Name of {number}",
            "zip.code": f"{made.randint(100, 160):05}",
            "home town": made.choice(TOWNS),
            "age": str(made.randint(1, 90)),
            "born": f"19{made.randint(10, 99)}-0{made.randint(1, 9)}-17",
            "income, yearly": f"{made.randint(100, 99999)}.5",
            "smoker": made.choice(["yes", "no", ""]),
            "married": made.choice(["single", "married"]),
            "none": "",
        }
        for number in range(rows)
    ]


def write(path: Path, rows: list[dict[str, str]], delimiter: str = ",") -> Path:
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        out.writeheader()
        out.writerows(rows)
    return path


def classes(text: str) -> dict[str, dict[str, Any]]:
    return {each["path"].strip("'"): each for each in tomllib.loads(text)["class"]}


@pytest.mark.parametrize(("name", "delimiter"), [("p.csv", ","), ("p.csv", ";"), ("p.tsv", "\t"), ("p.csv", "|")])
def test_the_schema_works_at_once(tmp_path: Path, name: str, delimiter: str) -> None:
    rows = people()
    source, schema, out = write(tmp_path / name, rows, delimiter), tmp_path / "s.toml", tmp_path / f"out-{name}"
    done = run("init", source, "-o", schema)
    assert f"treeanon anonymize INPUT -s {schema} -k 5 -o OUTPUT" in done.stderr
    found = classes(schema.read_text())
    assert tomllib.loads(schema.read_text())["input"] == {"format": "csv"}
    assert {path for path, each in found.items() if each.get("role") == "identifier"} == {"id", "Full name"}
    assert found["zip.code"]["hierarchy"] == {"prefix": [3, 2, 1]} and "type" not in found["zip.code"]
    assert found["age"]["type"] == "integer" and found["age"]["hierarchy"]["intervals"] == [5, 10, 20, 40]
    assert found["born"]["type"] == "date" and found["income, yearly"]["type"] == "number"
    assert "none" not in found and "none: always empty" in schema.read_text()
    run("anonymize", source, "-s", schema, "-k", 5, "--max-suppressed", "20%", "-o", out)
    with out.open(newline="") as file:
        released = list(csv.DictReader(file, delimiter=delimiter))
    assert len(released) >= 320 and set(released[0]) == set(rows[0]) - {"id", "Full name", "none"}
    assert min(Counter(tuple(row.values()) for row in released).values()) >= 5


def test_no_value_is_in_the_schema(tmp_path: Path) -> None:
    text = run("init", write(tmp_path / "p.csv", people())).stdout
    assert not [value for value in ("Name of", *TOWNS, "single", "00101") if value in text]


def test_small_numbers_are_no_ids_of_others(tmp_path: Path) -> None:
    """Persons are numbered from 1, as ages are small: these are not withheld as referring to those."""
    found = propose(write(tmp_path / "p.csv", people()))
    assert next(each for each in found.classes if each.name == "age").published


def test_parquet(tmp_path: Path) -> None:
    columns = {
        "age": pa.array([34, 35, None, 41] * 10),
        "ok": pa.array([True, False] * 20),
        "tags": pa.array([["a"]] * 40),
        "w": pa.array([1.5, 2.25, 3.75, 10.0] * 10),
    }
    pq.write_table(pa.table(columns), tmp_path / "p.parquet")
    # Without an ending its first bytes tell.
    (tmp_path / "data").write_bytes((tmp_path / "p.parquet").read_bytes())
    assert propose(tmp_path / "data").sample.format == "parquet"
    run("init", tmp_path / "p.parquet", "-o", tmp_path / "s.toml")
    text = (tmp_path / "s.toml").read_text()
    assert tomllib.loads(text)["input"] == {"format": "parquet"}
    assert {path: each.get("type", "text") for path, each in classes(text).items()} == {
        "age": "integer",
        "ok": "text",
        "w": "number",
    }
    assert "# tags: " in text
    run("anonymize", tmp_path / "p.parquet", "-s", tmp_path / "s.toml", "-k", 5, "-o", tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 40


def test_standard_input_and_compression(tmp_path: Path) -> None:
    source = write(tmp_path / "p.csv", people())
    plain = render_schema(propose(source))
    packed = tmp_path / "p.csv.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    assert render_schema(propose(packed)) == plain
    command = [sys.executable, "-m", "treeanon", "init", "-", "--from", "csv"]
    done = subprocess.run(command, input=source.read_bytes(), capture_output=True, check=True)
    assert done.stdout.decode() == plain


def test_folders_stay_tables(tmp_path: Path) -> None:
    write(tmp_path / "people.csv", people(30))
    assert propose(tmp_path).sample.format == "tables"


# --- hierarchies beside the file --------------------------------------------------------------------------------------


def test_hierarchies_beside_the_file(tmp_path: Path) -> None:
    source = write(tmp_path / "p.csv", people())
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "out").mkdir()
    towns = "".join(f"{town};{'north' if town < 'D' else 'south'};*\n" for town in TOWNS)
    (tmp_path / "p_hierarchy_home_town.csv").write_text(towns)
    (tmp_path / "hierarchies" / "home town.csv").write_text(towns.replace("north", "cold"))
    (tmp_path / "hierarchies" / "age.csv").write_text(
        "".join(f"{age},{'old' if age > 60 else 'young'},*\n" for age in range(100))
    )
    (tmp_path / "hierarchies" / "married.csv").write_text("single;*\n")
    (tmp_path / "hierarchies" / "smoker.json").write_text('{"yes": "*", "no": "*"}')
    (tmp_path / "hierarchies" / "born.csv").write_text("a;b;*\na;c;*\n")
    schema = tmp_path / "out" / "s.toml"
    done = run("init", source, "-o", schema, "--explain")
    found = classes(schema.read_text())
    # ARX's name goes before the folder; paths are those from the schema.
    assert found["home town"]["hierarchy"] == "../p_hierarchy_home_town.csv"
    assert found["age"]["hierarchy"] == "../hierarchies/age.csv" and found["age"]["type"] == "integer"
    assert found["smoker"]["hierarchy"] == "../hierarchies/smoker.json"
    assert found["married"]["hierarchy"] == {"flat": True} and "dates" in found["born"]["hierarchy"]
    assert "note: married.csv lies beside the input, but does not know 1 of the 2 values of 'married'" in done.stderr
    assert "note: born.csv lies beside the input, but is no hierarchy" in done.stderr
    explained = {line.split()[0]: line.split()[4] for line in done.stderr.splitlines() if line.startswith("age ")}
    assert explained["age"] == "file"
    run("anonymize", source, "-s", schema, "-k", 5, "--max-suppressed", "50%", "-o", tmp_path / "o.csv")
    told = json.loads(run("init", source, "--json", "-o", schema, "--force").stdout)
    assert {each["name"]: each["hierarchy"] for each in told["classes"]}["age"] == "../hierarchies/age.csv"
    assert len(told["warnings"]) == 2


def test_a_hierarchy_must_know_every_value_of_the_file_not_of_the_sample(tmp_path: Path) -> None:
    rows = people(50)
    rows[-1]["home town"] = "Atlantis"
    (tmp_path / "x_hierarchy_home-town.csv").write_text("".join(f"{town};*\n" for town in TOWNS))
    found = propose(write(tmp_path / "p.csv", rows), sample=10, home=tmp_path)
    town = next(each for each in found.classes if each.name == "home_town")
    assert isinstance(town.hierarchy, dict)
    assert found.warnings == (
        "x_hierarchy_home-town.csv lies beside the input, but does not know 1 of the 11 values of 'home town'",
    )


def test_a_type_that_the_file_cannot_have(tmp_path: Path) -> None:
    source = write(tmp_path / "p.csv", people())
    (tmp_path / "p_hierarchy_age.csv").write_text("".join(f"{age};from  {age // 10} ;*\n" for age in range(100)))
    run("init", source, "-o", tmp_path / "s.toml")
    found = classes((tmp_path / "s.toml").read_text())["age"]
    assert found["hierarchy"] == "p_hierarchy_age.csv" and "type" not in found
    ta.Schema.load(tmp_path / "s.toml")


# --- rows after the sample --------------------------------------------------------------------------------------------


def test_rows_after_the_sample_count_too(tmp_path: Path) -> None:
    rows = people(60)
    rows[18] |= {"age": "unknown", "born": "long ago"}
    rows[20] |= {"income, yearly": "n/a"}
    source = write(tmp_path / "p.csv", rows)
    run("init", source, "--sample", 40, "-o", tmp_path / "s.toml")
    text = (tmp_path / "s.toml").read_text()
    found = classes(text)
    assert not [path for path in ("age", "born", "income, yearly") if "type" in found[path]]
    assert "as the sample has it, 1 of all values would" in text.replace("\n# ", " ")
    assert len(read_table(source, ta.Schema.load(tmp_path / "s.toml"))) == 60


def test_an_age_beyond_all_bounds(tmp_path: Path) -> None:
    rows = people(60)
    rows[50]["age"] = "999"
    source = write(tmp_path / "p.csv", rows)
    run("init", source, "--sample", 40, "-o", tmp_path / "s.toml")
    assert "max" not in classes((tmp_path / "s.toml").read_text())["age"]["hierarchy"]
    assert len(read_table(source, ta.Schema.load(tmp_path / "s.toml"))) == 60


VALUES = st.one_of(
    st.sampled_from(
        ["", "1", "02", "3.5", "2020-01-31", "1999", " 4", "a", "Ä;b", "x,y", '"q"', "*", "12103", "-7", "1e3"]
    ),
    st.integers(-5, 200).map(str),
)


@few(40, 80)
@given(
    st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[VALUES] * width), min_size=1, max_size=30)),
    st.integers(1, 40),
)
def test_every_proposal_reads_its_file(tmp_path_factory: pytest.TempPathFactory, rows: Any, sample: int) -> None:
    folder = tmp_path_factory.mktemp("rows")
    names = [f"c {number}" for number in range(len(rows[0]))]
    source = write(folder / "p.csv", [dict(zip(names, row, strict=True)) for row in rows])
    try:
        found = propose(source, sample=sample)
    except DataError as problem:
        assert "could become a class" in str(problem)
        assert not any(any(row) for row in rows[:sample])
        return
    schema = ta.Schema.loads(render_schema(found))
    table = read_table(source, schema) if schema.layout.classes else None
    for column in table.columns if table else ():
        at = names.index(column.header)
        texts = [row[at] if column.spec.type == "text" else row[at].strip() for row in rows]
        assert column.texts() == [text or None for text in texts]


# --- what cannot be ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; a header is expected"),
        ("a,b\n", "holds no row"),
        ("34,12,2020\n1,2,3\n", "is there a header"),
        ("a,b\n1,2\n3\n", "line 3"),
        ("a,b\n,\n", "no column in the sample could become a class"),
        ("a,a\n1,2\n", "have the same name in the header"),
    ],
)
def test_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        propose(tmp_path / "p.csv")


def test_wrong_usage(tmp_path: Path) -> None:
    source = write(tmp_path / "p.csv", people(3))
    with pytest.raises(UsageError, match="each row is one record"):
        propose(source, record="p")
    with pytest.raises(UsageError, match="a pattern cannot be"):
        propose(tmp_path / "*.csv")


def test_very_many_columns(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(230)]
    (tmp_path / "p.csv").write_text(f"{','.join(names)}\n{','.join(['a'] * 230)}\n")
    found = propose(tmp_path / "p.csv")
    assert len(found.classes) == 200 and len(found.left_out) == 30
