from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.support.command_line import treeanon
from tests.support.paths import ROOT
from treeanon.cli.checks import refuse_hierarchies, write_schema
from treeanon.cli.main import exit_code, main
from treeanon.errors import TreeanonError
from treeanon.hierarchy import Hierarchy, read_hierarchy
from treeanon.schema import Schema

DIAGNOSIS = str(ROOT / "schemas" / "hierarchies" / "diagnosis.csv")
SCHEMA = str(ROOT / "schemas" / "hospital-json.toml")
PATIENTS = str(ROOT / "samples" / "patients.ndjson")


def run(*args, input=None):
    result = CliRunner().invoke(main, ["hierarchy", *map(str, args)], input=input)
    if isinstance(result.exception, TreeanonError):
        result.exit_code = exit_code(result.exception)
    elif result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_show_draws_the_tree_within_its_limits(tmp_path):
    shown = run("show", DIAGNOSIS)
    assert shown.exit_code == 0
    assert len(shown.stdout.splitlines()) == len(read_hierarchy(Path(DIAGNOSIS)))
    short = run("show", DIAGNOSIS, "--depth", 1, "--children", 2).stdout.splitlines()
    assert len(short) == 4 and short[-1].startswith("└── ... and ")


def test_check_tells_numbers(tmp_path):
    file = tmp_path / "h.csv"
    file.write_text("flu;lung;*\nacne;*;*\n")
    found = json.loads(run("check", file, "--json").stdout)
    assert found == {"leaves": 2, "nodes": 4, "height": 2, "levels": [1, 2, 1], "balanced": False}
    assert "is a tree: 2 leaves" in run("check", file).stderr
    assert run("check", file, "--quiet").stderr == ""


def test_check_refuses_what_is_no_tree(tmp_path):
    file = tmp_path / "h.csv"
    file.write_text("flu;lung;*\nflu;skin;*\n")
    done = treeanon("hierarchy", "check", file)
    assert done.returncode == 2
    assert "two different parents" in done.stderr and "Traceback" not in done.stderr
    assert treeanon("hierarchy", "check", tmp_path / "none.csv").returncode == 4
    assert treeanon("hierarchy", "check", tmp_path / "h.txt").returncode == 2


def test_check_with_data_counts_unknown_values_and_shows_them_only_on_demand(tmp_path):
    data = tmp_path / "p.ndjson"
    data.write_text('{"d": "flu"}\n{"d": "gout"}\n{"d": "gout"}\n')
    schema = tmp_path / "s.toml"
    declared = '{ name = "d", path = "d", hierarchy = "h.csv" }'
    schema.write_text(f'version = 1\ninput.format = "ndjson"\nclass = [{declared}]\n')
    (tmp_path / "h.csv").write_text("flu;*\n")
    asked = ["check", tmp_path / "h.csv", "-s", schema, "--class", "d", data]
    told = run(*asked)
    assert told.exit_code == 2
    assert "1 of the 2 values" in told.stderr and "2 occurrences" in told.stderr and "gout" not in told.stderr
    assert "gout" in run(*asked, "--show-values").stderr
    found = json.loads(run(*asked, "--json").stdout)
    assert (found["unknown_values"], found["unknown_occurrences"], found["values"]) == (1, 2, 2)
    assert "unknown" not in found
    (tmp_path / "h.csv").write_text("flu;*\ngout;*\n")
    assert run(*asked).exit_code == 0


def test_the_shipped_hierarchies_know_the_sample():
    for name in ("hospital", "diagnosis", "treatment"):
        file = ROOT / "schemas" / "hierarchies" / f"{name}.csv"
        assert run("check", file, "-s", SCHEMA, "--class", name, PATIENTS).exit_code == 0


def test_input_schema_and_class_go_together():
    assert run("check", DIAGNOSIS, PATIENTS).exit_code == 2
    unknown = run("check", DIAGNOSIS, PATIENTS, "-s", SCHEMA, "--class", "diagnoses")
    assert unknown.exit_code == 2 and "diagnosis" in str(unknown.exception)


def test_convert_goes_both_ways(tmp_path):
    there, back = tmp_path / "h.json", tmp_path / "h.csv"
    assert run("convert", DIAGNOSIS, "-o", there).exit_code == 0
    assert run("convert", there, "-o", back).exit_code == 0
    assert read_hierarchy(back) == read_hierarchy(there) == read_hierarchy(Path(DIAGNOSIS))
    assert run("convert", there, "-o", back).exit_code == 4
    assert run("convert", there, "-o", back, "--force").exit_code == 0
    assert run("convert", there, "-o", tmp_path / "h.txt").exit_code == 2


def test_convert_to_standard_output():
    done = treeanon("hierarchy", "convert", DIAGNOSIS, "-o", "-", "--to", "json")
    assert done.returncode == 0 and done.stderr == ""
    assert "*" in json.loads(done.stdout).values()
    assert treeanon("hierarchy", "convert", DIAGNOSIS, "-o", "-").returncode == 2
    assert treeanon("hierarchy", "convert", DIAGNOSIS, "-o", "-", "--to", "csv", "--json").returncode == 2


def test_build_from_a_schema_builds_what_reading_builds(tmp_path):
    import treeanon as ta

    out = tmp_path / "zip.csv"
    assert run("build", PATIENTS, "-s", SCHEMA, "--class", "zip", "-o", out).exit_code == 0
    forest = ta.read(PATIENTS, ta.Schema.load(SCHEMA))
    assert read_hierarchy(out) == forest.classes.hierarchies[forest.classes.index("zip")]


def test_options_override_the_builder_of_the_schema(tmp_path):
    out = tmp_path / "age.json"
    assert run("build", PATIENTS, "-s", SCHEMA, "--class", "age", "--groups", 4, "-o", out).exit_code == 0
    assert read_hierarchy(out).find("20-39") is None
    assert run("build", PATIENTS, "-s", SCHEMA, "--class", "sex", "--intervals", 5, "-o", out, "--force").exit_code == 2


def test_build_an_identifier_has_no_secret_way_into_a_release(tmp_path):
    out = tmp_path / "ssn.csv"
    assert run("build", PATIENTS, "-s", SCHEMA, "--class", "ssn", "--prefix", 3, "-o", out).exit_code == 0
    assert read_hierarchy(out).height == 2


def test_build_without_data(tmp_path):
    out = tmp_path / "age.csv"
    assert run("build", "--intervals", "5,10,20", "--min", 0, "--max", 120, "-o", out).exit_code == 0
    built = read_hierarchy(out)
    assert built.find("20-39") is not None and built.leaf_count[0] == 121


@pytest.mark.parametrize(
    "options, lines, node",
    [
        (["--groups", "2"], ["ant", "bee", "cat", "cow"], "a…b"),
        (["--prefix", "3,2,1"], ["54104", "54999"], "54*"),
        (["--dates", "month,quarter,year"], ["2019-03-07"], "2019-Q1"),
        (["--intervals", "0.5,1"], ["0.25", "7"], "[0, 0.5)"),
        (["--flat"], ["x", "y"], "x"),
    ],
)
def test_build_from_values(tmp_path, options, lines, node):
    values = tmp_path / "values.txt"
    values.write_text("\n".join(lines) + "\n\n")
    out = tmp_path / "h.json"
    assert run("build", "--values", values, *options, "-o", out).exit_code == 0
    made = read_hierarchy(out)
    assert made.find(node) is not None
    assert all(made.find(line) is not None for line in lines)


def test_levels_without_values_are_no_file(tmp_path):
    (tmp_path / "in.csv").write_text("zip\n54104\n54999\n")
    (tmp_path / "s.toml").write_text(
        'version = 1\n[input]\nformat = "csv"\n[[class]]\nname = "zip"\npath = "zip"\n'
        "hierarchy = { prefix = [3], leaves = false }\n"
    )
    out = tmp_path / "zip.csv"
    told = run("build", tmp_path / "in.csv", "-s", tmp_path / "s.toml", "--class", "zip", "-o", out)
    assert told.exit_code == 2 and "leaves = false" in told.stderr and not out.exists()


def test_build_reads_values_from_standard_input():
    done = treeanon("hierarchy", "build", "--values", "-", "--flat", "-o", "-", "--to", "csv", input="b\na\n")
    assert done.returncode == 0
    assert done.stdout == "a;*\nb;*\n"


def test_values_without_a_place_are_counted_not_shown(tmp_path):
    values = tmp_path / "values.txt"
    values.write_text("7\nseven\n")
    told = run("build", "--values", values, "--intervals", "5", "-o", tmp_path / "h.csv")
    assert told.exit_code == 0
    assert "1 of 2 values" in told.stderr and "seven" not in told.stderr


def test_build_says_what_is_missing_or_wrong(tmp_path):
    out = tmp_path / "h.csv"
    assert run("build", "--groups", 5, "-o", out).exit_code == 2
    assert run("build", "--values", tmp_path / "none", "--groups", 5, "-o", out).exit_code == 4
    assert run("build", "--intervals", "5,12", "--min", 0, "--max", 9, "-o", out).exit_code == 2
    assert run("build", "--intervals", "five", "--min", 0, "--max", 9, "-o", out).exit_code == 2
    both = run("build", "--groups", 5, "--flat", "--min", 1, "-o", out)
    assert both.exit_code == 2
    assert not out.exists()


def test_every_subcommand_has_a_help_that_needs_nothing_heavy():
    code = "import sys, treeanon.cli.hierarchy, treeanon.cli.init; print({'numba', 'numpy', 'lxml'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "set()"
    for name in ("show", "check", "convert", "build"):
        assert run(name, "--help").exit_code == 0


def test_show_escapes_what_could_steer_a_terminal(tmp_path):
    from treeanon.hierarchy import write_hierarchy

    file = tmp_path / "h.json"
    write_hierarchy(Hierarchy.flat(["\x1b[2J"]), file)
    assert "\x1b" not in run("show", file).stdout


def test_codes_ages_and_areas_are_built_from_options(tmp_path):
    values, concepts, zips = tmp_path / "v.txt", tmp_path / "c.csv", tmp_path / "z.csv"
    concepts.write_text("code,parent,name\na,,Top\nb,a,Lung\nc,b,\nd,a,\n")
    zips.write_text("zip,population\n12101,20001\n03601,20000\n")
    asked = [
        ("J18.9", ["--icd10", "cm"], "J00-J99 Diseases of the respiratory system"),
        ("A10BA02", ["--atc"], "A10 Diabetes"),
        ("c", ["--terminology", concepts], "b Lung"),
        ("1987-07-01", ["--ages", "5,10", "--on", "2024-06-30"], "36 years"),
        ("12101", ["--prefix", "3", "--population", zips], "121*"),
        ("03601", ["--prefix", "3", "--population", zips], "000"),
    ]
    for value, options, above in asked:
        values.write_text(value)
        made = run("build", "--values", values, *options, "-o", "-", "--to", "csv")
        assert made.exit_code == 0 and above in made.stdout.strip().split(";")
    assert (
        run("build", "--values", values, "--terminology", tmp_path / "none.csv", "-o", "-", "--to", "csv").exit_code
        == 2
    )
    assert run("build", "--values", values, "--icd10", "icd9", "-o", "-", "--to", "csv").exit_code == 2


def test_a_release_with_a_terminology_reads_back_and_unknown_codes_are_counted(tmp_path):
    (tmp_path / "t.csv").write_text("code,parent,name\ntop,,All\nl,top,Lung\na,l,\nb,l,\ns,top,Skin\nc,s,\nd,s,\n")
    codes = ["a", "b", "c", "d", "strange"]
    lines = [json.dumps({"codes": [codes[at % 5], codes[at * at % 4]]}) for at in range(60)]
    (tmp_path / "in.ndjson").write_text("\n".join(lines))
    schema = (
        'version = 1\n[input]\nformat = "ndjson"\n[[class]]\nname = "code"\npath = "codes[]"\n'
        'hierarchy = { terminology = "t.csv" }\n'
    )
    (tmp_path / "s.toml").write_text(schema)
    common = ["-s", str(tmp_path / "s.toml"), "-k", "20", "-m", "2"]
    given = ["anonymize", str(tmp_path / "in.ndjson"), *common, "-o", str(tmp_path / "out.ndjson")]
    refused = CliRunner().invoke(main, given)
    assert isinstance(refused.exception, TreeanonError) and exit_code(refused.exception) == 2
    assert "1 distinct values" in str(refused.exception) and "strange" not in str(refused.exception)
    (tmp_path / "s.toml").write_text(schema + 'on_unknown = "suppress"\n')
    assert CliRunner().invoke(main, given).exit_code == 0
    assert CliRunner().invoke(main, ["verify", str(tmp_path / "out.ndjson"), *common]).exit_code == 0
    assert "l Lung" in (tmp_path / "out.ndjson").read_text()


def test_two_code_systems_in_one_element_are_two_classes(tmp_path):
    icd, other = "http://hl7.org/fhir/sid/icd-10-cm", "http://snomed.info/sct"
    lines = [
        json.dumps(
            {"code": {"coding": [{"system": icd, "code": f"J1{at % 2}"}, {"system": other, "code": str(at % 3)}]}}
        )
        for at in range(60)
    ]
    (tmp_path / "in.ndjson").write_text("\n".join(lines))
    head = 'version = 1\n[input]\nformat = "ndjson"\n'
    by_icd = 'hierarchy = { icd10 = "cm" }\n'
    of_icd = f'[[class]]\nname = "condition"\npath = "code.coding[system=\'{icd}\'].code"\n' + by_icd
    (tmp_path / "s.toml").write_text(head + of_icd)
    common = ["-s", str(tmp_path / "s.toml"), "-k", "20", "-m", "2"]
    given = ["anonymize", str(tmp_path / "in.ndjson"), *common, "-o", str(tmp_path / "out.ndjson")]
    assert CliRunner().invoke(main, given).exit_code == 0
    assert '"J10"' in (tmp_path / "out.ndjson").read_text()
    # without the predicate the codes of the other system are unknown
    (tmp_path / "s.toml").write_text(head + '[[class]]\nname = "condition"\npath = "code.coding[].code"\n' + by_icd)
    refused = CliRunner().invoke(main, [*given, "--force"])
    assert isinstance(refused.exception, TreeanonError) and "3 distinct values" in str(refused.exception)


def test_files_of_builders_are_inputs_and_move_with_the_schema(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "t.csv").write_text("code,parent,name\na,,A\nb,a,\n")
    (tmp_path / "home" / "s.toml").write_text(
        'version = 1\n[input]\nformat = "ndjson"\n[[class]]\nname = "c"\npath = "c"\n'
        'hierarchy = { terminology = ["t.csv"] }\n'
    )
    schema = Schema.load(tmp_path / "home" / "s.toml")
    with pytest.raises(click.UsageError, match="is an input"):
        refuse_hierarchies(schema, str(tmp_path / "home" / "t.csv"))
    write_schema(schema, str(tmp_path / "home" / "s.toml"), str(tmp_path / "s2.toml"), "out", force=False)
    assert 'terminology = ["home/t.csv"]' in (tmp_path / "s2.toml").read_text()
    assert Schema.load(tmp_path / "s2.toml").classes[0].hierarchy.build(["b"]).texts == ("*", "b")
