"""`treeanon run`: make the release that a job file describes, with a log of its stages, for schedulers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from treeanon.cli.options import Command, printing_options
from treeanon.cli.printing import as_library
from treeanon.cli.request import Made
from treeanon.errors import FileError, Problem, SchemaError, UsageError
from treeanon.schema.toml_lines import parse_toml
from treeanon.shown import Shown, Summary

if TYPE_CHECKING:
    from treeanon.cli.request import AnyRelease


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
    from treeanon.cli.printing import show_log

    found = Job(Path(job))
    with show_log(quiet=quiet or found.is_quiet):
        found.make({"--dry-run": dry_run, "--force": force, "--quiet": quiet, "--json": as_json})


_SELF = frozenset(("class", "use", "version"))
"""Tables that make a job file a schema, too."""

_NOT_IN_JOBS = frozenset(("help", "help-all", "dry-run", "recommend"))
_FILES = ("FILE", "PATH")


class Job:
    """A job: its file, and what is in its table [release]."""

    def __init__(self, path: Path) -> None:
        self.path = path
        document = parse_toml(_text(path), str(path))
        table = document.get("release")
        if not isinstance(table, dict):
            raise self.problem('has no table [release], which says what to do: input = "…", output = "…", k = 5 …')
        self.table: dict[str, Any] = table
        if not _SELF.isdisjoint(document):
            if "schema" in table:
                raise self.problem("schema: this file is the schema of the release; leave the key out")
            self.table = {**table, "schema": path.name}
        elif unknown := sorted(document.keys() - {"release"}):
            raise self.problem(f"{unknown[0]}: a job file has the table [release] alone, or is a schema")

    def problem(self, message: str) -> SchemaError:
        """Return the error about the table [release]."""
        return SchemaError([Problem(f"{self.path}, [release]", message)])

    def arguments(self, command: click.Command) -> list[str]:
        """Return the arguments of a command that the job stands for; paths in it are relative to its file."""
        options = options_of(command)
        for key in ("input", "schema", "output"):
            if not isinstance(self.table.get(key), str) or not self.table[key]:
                raise self.problem(f'{key}: is missing; for example {key} = "…"')
        found: list[str] = []
        for key, value in self.table.items():
            if key == "input":
                continue
            if key not in options:
                raise self.problem(f"unknown key {key!r}; choose from input, {', '.join(sorted(options))}")
            found += self._given(key, value, options[key])
        return [*found, "--", self._place(self.table["input"])]

    @property
    def is_quiet(self) -> bool:
        """Whether the job asks for no log."""
        return self.table.get("quiet") is True

    def make(self, flags: Mapping[str, bool]) -> Made:
        """Return what the job makes, with further flags of `anonymize`; UsageError where a key has a wrong value."""
        from treeanon.cli.anonymize import command as anonymize

        arguments = self.arguments(anonymize)
        arguments = [*(flag for flag, is_given in flags.items() if is_given and flag not in arguments), *arguments]
        try:
            with anonymize.make_context("run", arguments, click.get_current_context(silent=True)) as context:
                made = anonymize.invoke(context)
        except click.UsageError as problem:
            raise UsageError(f"{self.path}, [release]: {problem.format_message()}") from None
        assert isinstance(made, Made)
        return made

    def _given(self, key: str, value: object, option: click.Option) -> Iterator[str]:
        """Yield an option with its value, as often as the value says."""
        flag = max(option.opts, key=len)
        if option.is_flag:
            if not isinstance(value, bool):
                raise self.problem(f"{key}: must be true or false")
            yield from [flag] if value else []
            return
        each = value if isinstance(value, list) else [value]
        if isinstance(value, dict):
            each = [f"{name}={_text_of(of)}" for name, of in value.items() if isinstance(of, (str, int, float))]
        if len(each) > 1 and not option.multiple:
            raise self.problem(f"{key}: takes one value")
        for one in each:
            if isinstance(one, bool) or not isinstance(one, (str, int, float)):
                raise self.problem(f"{key}: must be a text or a number")
            text = _text_of(one)
            yield from (flag, self._place(text) if option.metavar in _FILES else text)

    def _place(self, name: str) -> str:
        """Return a path of the job as one from the working folder; URLs, and `-`, are none."""
        if name == "-" or "://" in name or name.startswith("env:"):
            return name
        folder = self.path.parent
        end = "/" if name.endswith("/") else ""
        return name if folder == Path() else f"{folder / name}{end}"


@dataclass(frozen=True, repr=False)
class JobResult(Shown):
    """What a job has made.

    `release` is what was published, as `treeanon.anonymize` returns it for files, and None after a dry run; `files` are
    all that were written, the release first; `facts` are what `treeanon run --json` prints, without a value of the data
    (after a dry run what would be read, searched and written).
    """

    release: AnyRelease | None
    files: tuple[str, ...]
    facts: Mapping[str, Any]

    @property
    def verdict(self) -> Any:
        """The verdict of the check that the release has passed; None after a dry run."""
        rows = getattr(self.release, "rows", None)
        return getattr(self.release if rows is None else rows, "verdict", None)

    @property
    def losses(self) -> Any:
        """What the release has lost; None after a dry run."""
        return getattr(self.release, "loss", None)

    def _summary(self) -> Summary:
        if self.release is None:
            return Summary("JobResult", f"dry run: {self.facts['kind']} by {self.facts['algorithm']}")
        facts = [("verified", self.verdict.sentence), ("losses", self.losses._summary().line)]
        return Summary("JobResult", f"{self.files[0]} written", facts)


def run(job: str | Path, *, dry_run: bool = False, force: bool = False) -> JobResult:
    """Make the release that a job file describes, as `treeanon run` does; GuaranteeError if there cannot be one.

    Prints nothing: stages and progress go to the loggers `treeanon.stages` and `treeanon.progress`.

    Args:
        job: the file with the table [release]; paths in it are relative to it.
        dry_run: check the job, and return what it would do; no record is read, nothing is written.
        force: replace existing output, whatever the job says.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "in.csv").write_text("age\\n34\\n34\\n")
    >>> _ = (folder / "job.toml").write_text('''
    ... version = 1
    ... [input]
    ... format = "csv"
    ... [[class]]
    ... name = "age"
    ... path = "age"
    ... [release]
    ... input = "in.csv"
    ... output = "out.csv"
    ... k = 2
    ... ''')
    >>> done = run(folder / "job.toml")
    >>> done.verdict.holds, [Path(name).name for name in done.files]
    (True, ['out.csv'])
    """
    with as_library():
        made = Job(Path(job)).make({"--dry-run": dry_run, "--force": force})
    return JobResult(made.release, made.files, made.facts)


def _text_of(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as problem:
        raise FileError(f"{path}: cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise SchemaError([Problem(str(path), "is not UTF-8; save the file as UTF-8")]) from None


def options_of(command: click.Command) -> Mapping[str, click.Option]:
    """Return the options that a job may set, by their long names without dashes (k, m, n, max-suppressed)."""
    found = {
        max(param.opts, key=len).lstrip("-"): param
        for param in command.params
        if isinstance(param, click.Option) and not param.hidden
    }
    return {name: option for name, option in found.items() if name not in _NOT_IN_JOBS}
