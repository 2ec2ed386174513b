"""`treeanon demo`: the sample hospital, ready to try."""

from __future__ import annotations

from pathlib import Path

import click

from treeanon.cli.common import force_option, result, talking_options

_FILES = {
    "patients.xml": ("samples", "patients.xml"),
    "patients.ndjson": ("samples", "patients.ndjson"),
    "hospital-xml.toml": ("schemas", "hospital-xml.toml"),
    "hospital-json.toml": ("schemas", "hospital-json.toml"),
    "hierarchies/hospital.csv": ("schemas", "hierarchies/hospital.csv"),
    "hierarchies/diagnosis.csv": ("schemas", "hierarchies/diagnosis.csv"),
    "hierarchies/treatment.csv": ("schemas", "hierarchies/treatment.csv"),
}


@click.command()
@click.argument("folder", default="treeanon-demo", metavar="[FOLDER]")
@force_option
@talking_options
def command(folder: str, force: bool, quiet: bool, as_json: bool) -> None:
    """Write a sample hospital (invented patients as XML and NDJSON), its schemas and hierarchies to a folder."""
    from treeanon.errors import FileError
    from treeanon.io.output import open_output, refuse_existing
    from treeanon.resources import folder as shipped

    base = Path(folder)
    for name in _FILES:
        refuse_existing(base / name, force=force)
    try:
        (base / "hierarchies").mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"{folder}: cannot be made: {problem.strerror}") from None
    for name, (home, source) in _FILES.items():
        with open_output(base / name, force=force) as stream:
            stream.write((shipped(home) / source).read_bytes())
    if not quiet and not as_json:
        click.echo(_next_steps(base))
    result({"folder": str(base), "files": sorted(_FILES)}, as_json=as_json)


def _next_steps(base: Path) -> str:
    return f"""\
A sample hospital is in {base}: 1,000 invented patients, their schemas and hierarchies. Try next:

  cd {base}
  treeanon hierarchy show hierarchies/diagnosis.csv
  treeanon anonymize patients.xml -s hospital-xml.toml -k 5 -m 2 -n 1 -o release.xml
  treeanon verify release.xml -s hospital-xml.toml -k 5 -m 2 -n 1
  treeanon init patients.ndjson -o my-schema.toml

hospital-xml.toml explains the schema language by example."""
