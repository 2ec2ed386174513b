"""`treeanon demo`: write the sample data with their schemas and hierarchies, or go through a paper's example."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
from click.core import ParameterSource

from treeanon.cli.checks import check_extra_output
from treeanon.cli.options import force_option, printing_options
from treeanon.cli.printing import print_result

_TABLES = ("practice", "doctor", "ward", "substance", "patient", "allergy", "visit", "diagnosis", "treatment")
_CENSUS = ("country", "gender", "marital", "occupation", "race", "salary_class", "work_class")
_SAMPLES = (
    "patients.xml",
    "patients.ndjson",
    "clinic.sqlite",
    "census.csv",
    "paper.trees.jsonl",
    "clinic/datapackage.json",
    *(f"clinic/{table}.csv" for table in _TABLES),
)
_SCHEMAS = (
    "hospital-xml.toml",
    "hospital-json.toml",
    "clinic.toml",
    "clinic-sqlite.toml",
    "census.toml",
    "paper.toml",
    *(f"hierarchies/paper-{name}.csv" for name in ("hospital", "disease", "treatment")),
    *(f"hierarchies/{name}.csv" for name in ("hospital", "diagnosis", "treatment", "specialty", "substance")),
    *(f"hierarchies/census-{name}.csv" for name in _CENSUS),
)
_FORMS = ("bundles", "bulk", "ccda")
_FILES = {name: home for home, names in (("samples", _SAMPLES), ("schemas", _SCHEMAS)) for name in names}


@click.command()
@click.argument("folder", default="treeanon-demo", metavar="[FOLDER]")
@click.option(
    "--health",
    type=click.IntRange(1),
    metavar="N",
    help="Write health records of N invented persons instead: FHIR (bundles, bulk data) and C-CDA.",
)
@click.option("--paper", is_flag=True, help="Write nothing, and show the running example of the paper on trees.")
@click.option("--html", metavar="FILE", help="With --paper: also write the example as a page, with drawings.")
@force_option
@printing_options
@click.pass_context
def command(
    context: click.Context,
    folder: str,
    health: int | None,
    paper: bool,
    html: str | None,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Write sample data (synthetic patients, a clinic of tables, a census), schemas and hierarchies to a folder.

    With --paper it goes through the running example of the paper on k^(m,n)-anonymity instead, step by step: synopsis
    tree, cut, ValueCheck, StructureCheck, FixStructure, the searches and the release.

    \b
    treeanon demo hospital
    treeanon demo --paper --html paper.html
    """
    if paper:
        if health is not None or context.get_parameter_source("folder") is not ParameterSource.DEFAULT:
            raise click.UsageError("--paper writes no samples: leave out FOLDER and --health")
        _show_paper(html, force=force, quiet=quiet, as_json=as_json)
        return
    if html is not None:
        raise click.UsageError("--html goes with --paper")
    if health is not None:
        _write_health(Path(folder), health, force=force, quiet=quiet, as_json=as_json)
        return
    from treeanon.errors import FileError
    from treeanon.io.output import open_output, refuse_existing
    from treeanon.resources import folder as shipped

    base = Path(folder)
    for name in _FILES:
        refuse_existing(base / name, force=force)
    try:
        for name in _FILES:
            (base / name).parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"{folder}: cannot be created: {problem.strerror}") from None
    for name, home in _FILES.items():
        with open_output(base / name, force=force) as stream:
            stream.write((shipped(home) / name).read_bytes())
    if not quiet and not as_json:
        click.echo(_next_steps(base))
    print_result({"folder": str(base), "files": sorted(_FILES)}, as_json=as_json)


def _show_paper(html: str | None, *, force: bool, quiet: bool, as_json: bool) -> None:
    """Show the running example of the paper on trees."""
    check_extra_output(html, "", force=force, option="--html")
    from treeanon.io.output import open_output
    from treeanon.reports.paper_example import paper_lines, paper_page, steps

    found = list(steps())
    if html is not None:
        with open_output(html, force=force) as stream:
            stream.write(paper_page(found).encode())
    if not quiet and not as_json:
        click.echo("\n".join(paper_lines(found)))
    names = ("title", "section", "words", "lines")
    plain = [{name: getattr(one, name) for name in names} for one in found]
    print_result({"steps": plain}, as_json=as_json)


def _write_health(base: Path, persons: int, *, force: bool, quiet: bool, as_json: bool) -> None:
    """Write health records by the generator that comes with the samples."""
    from treeanon.errors import FileError
    from treeanon.io.output import refuse_existing
    from treeanon.resources import folder as shipped

    for form in _FORMS:
        refuse_existing(base / form, force=force)
    script = shipped("samples") / "make_health.py"
    options = ("--out", str(base), "--persons", str(persons), "--kilobytes", "30")
    done = subprocess.run([sys.executable, str(script), *options], capture_output=True, check=False)
    if done.returncode:
        raise FileError(f"{base}: the health records could not be written")
    if not quiet and not as_json:
        click.echo(f"{base} now contains health records of {persons:,} invented persons, as bundles, bulk and ccda.")
    print_result({"folder": str(base), "files": list(_FORMS)}, as_json=as_json)


def _next_steps(base: Path) -> str:
    return f"""\
{base} now contains synthetic data with schemas and hierarchies: 1,000 patients of a hospital (XML, NDJSON),
600 of a clinic (tables) and 2,000 persons of a census (rows). Try next:

  cd {base}
  treeanon hierarchy show hierarchies/diagnosis.csv
  treeanon risk patients.xml -s hospital-xml.toml
  treeanon preview patients.xml -s hospital-xml.toml -k 5 -m 2 -n 1
  treeanon anonymize patients.xml -s hospital-xml.toml -k 5 -m 2 -n 1 -o release.xml
  treeanon verify release.xml -s hospital-xml.toml -k 5 -m 2 -n 1
  treeanon init patients.ndjson -o my-schema.toml
  treeanon anonymize clinic -s clinic.toml -k 5 -m 2 -n 1 -o clinic-release
  treeanon anonymize census.csv -s census.toml -k 5 --l 2 -o census-release.csv

hospital-xml.toml explains the schema language by example, clinic.toml that of relational tables."""
