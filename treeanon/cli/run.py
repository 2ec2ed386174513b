"""`treeanon run`: make the release that a job file describes, with a log of its stages, for schedulers."""

from __future__ import annotations

from pathlib import Path

import click

from treeanon.cli.options import Command, printing_options


@click.command(cls=Command)
@click.argument("job", metavar="FILE")
@click.option("--dry-run", is_flag=True, help="Check the job and say what it would do; read no record, write nothing.")
@click.option("--force", is_flag=True, help="Replace existing output, whatever the job says.")
@printing_options
def command(job: str, dry_run: bool, force: bool, quiet: bool, as_json: bool) -> None:
    """Make the release that the table [release] of a schema, or of a file of its own, describes.

    Its keys are `input`, `schema` (where the file is no schema itself) and the options of `treeanon anonymize` by their
    long names. The log on standard error says what was done, when, and how much of it, and never a value of the data.

    \b
    [release]
    input = "patients.xml"
    output = "release.xml"
    k = 5
    m = 2
    """
    from treeanon.cli.job import Job
    from treeanon.cli.printing import show_log

    found = Job(Path(job))
    with show_log(quiet=quiet or found.is_quiet):
        found.make({"--dry-run": dry_run, "--force": force, "--quiet": quiet, "--json": as_json})
