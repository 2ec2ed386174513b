"""The command `treeanon`: loads the subcommand, and turns errors into messages and exit codes.

Standard streams may be closed, full or without a reader: a lost log is no reason to lose a release.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, TextIO, cast

import click

from treeanon import __version__
from treeanon.errors import FileError
from treeanon.kernels import ahead

LOST = "standard output: cannot be written"


class _Log(io.FileIO):
    """Standard error: what it cannot take is lost, and nothing else is."""

    def write(self, text: Any, /) -> int:
        try:
            return super().write(text)
        except OSError:
            return len(text)


class _Result(io.FileIO):
    """Standard output; click would end with code 1 where it met an OSError of it."""

    def write(self, text: Any, /) -> int:
        try:
            return super().write(text)
        except OSError as problem:
            raise FileError(f"{LOST}: {problem.strerror}") from None


def guard_streams() -> None:
    """Have standard output fail by a FileError and standard error not at all; streams of a test stay as they are."""
    _fill_descriptors()
    out, log = sys.stdout, sys.stderr
    if cast("TextIO | None", log) is None:
        # Nobody reads it: not even what is wrong with the terminal may end the work.
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
    elif isinstance(log, io.TextIOWrapper) and log is sys.__stderr__:
        sys.stderr = _text(_Log(log.fileno(), "wb", closefd=False), log, True)
    if isinstance(out, io.TextIOWrapper) and out is sys.__stdout__:
        sys.stdout = _text(_Result(out.fileno(), "wb", closefd=False), out, out.line_buffering)


def _text(raw: io.FileIO, old: io.TextIOWrapper, line_buffering: bool) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=old.encoding, errors=old.errors, line_buffering=line_buffering
    )


def _fill_descriptors() -> None:
    """Take the places of closed streams, so that no file is opened there that a library then prints into."""
    with suppress(OSError):
        while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
            os.set_inheritable(opened, True)
        os.close(opened)


def finish_output() -> FileError | None:
    """Write what standard output still holds; return why that failed. What is left then cannot fail again at exit."""
    if sys.stdout is None:
        return None
    try:
        sys.stdout.flush()
    except FileError as problem:
        found = problem
    except OSError as problem:
        found = FileError(f"{LOST}: {problem.strerror}")
    except ValueError:
        return None
    else:
        return None
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return found


COMMANDS = {
    "algorithms": "List the search algorithms, or describe one with its parameters.",
    "anonymize": "Anonymize records with a verified guarantee.",
    "append": "Publish new persons by the solution of an earlier release.",
    "apply": "Apply a solution to new data, and verify its guarantee.",
    "bench": "Repeat published experiments on synthetic tables and trees.",
    "compare": "Measure the information loss of a release.",
    "convert": "Convert records to another format.",
    "demo": "Write sample data, schemas and hierarchies to a folder.",
    "explore": "Explore k, m, n and weights on a sample, on a local web page.",
    "flatten": "Convert records to one table with a row per person.",
    "hierarchy": "Build, show, check and convert generalization hierarchies.",
    "init": "Write a commented schema from a sample of the input.",
    "preview": "Show some records before and after anonymization.",
    "query": "Count who satisfies a query in the original of a release, within bounds.",
    "report": "Write a report to sign about a release, or check one.",
    "risk": "Measure who can be singled out by how much knowledge.",
    "run": "Make the release that a job file describes, for schedulers.",
    "synopsis": "Show the synopsis tree of a collection: supports, and what is rare.",
    "verify": "Verify the guarantee of a release.",
}
"""The commands and their summaries, listed here so that `--help` loads none of them."""


class LazyGroup(click.Group):
    """A group whose commands are modules of treeanon.cli, each loaded when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"treeanon.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; the error for an unknown one lists them all."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(
                f"unknown command {args[0]!r}.{hint} Choose from {', '.join(sorted(COMMANDS))}.", ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="treeanon")
def main() -> None:
    """Anonymize nested records of persons and tables, with a verified guarantee.

    Start with `treeanon demo`, or with `treeanon init YOUR-FILE`.

    Exit codes: 0 success; 1 the guarantee does not hold or cannot be reached; 2 invalid usage, schema or hierarchy;
    3 invalid data; 4 a file cannot be read or written; 70 an error of the program itself.

    Shell completion: eval "$(_TREEANON_COMPLETE=bash_source treeanon)" (or zsh_source, fish_source).
    """


def exit_code(problem: BaseException) -> int:
    """Return the exit code for an error of the package."""
    from treeanon import errors

    codes: list[tuple[type[BaseException], int]] = [
        (errors.GuaranteeError, 1),
        (errors.UsageError, 2),
        (errors.SchemaError, 2),
        (errors.HierarchyError, 2),
        (errors.DataError, 3),
        (errors.FileError, 4),
    ]
    return next((code for kind, code in codes if isinstance(problem, kind)), 70)


def _interrupted(signum: int, frame: FrameType | None) -> None:
    # An exception lets every `with` block clean up after itself.
    raise SystemExit(128 + signum)


def run() -> None:
    """Run the command line; the entry point of the installed command."""
    try:
        _run()
    except SystemExit as leaving:
        if isinstance(leaving.code, int) and leaving.code > 128:
            _leave(leaving.code)
        raise


def _leave(code: int) -> None:
    """End the process after a signal, if compiled code still runs in a thread that would have to be waited for.

    Everything has been cleaned up by then, by those who waited for the thread.
    """
    from treeanon.progress import is_work_abandoned

    if is_work_abandoned():
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)


def _run() -> None:
    # On a virtual machine whose host backs memory late, the huge pages that numpy asks for took a fifth of a long run.
    # Numpy reads this when it is imported, and so do the processes that are started.
    os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
    # Modules and compiled kernels stay: looking through them for garbage took a tenth of a first run.
    gc.set_threshold(50_000, 20, 20)
    signal.signal(signal.SIGTERM, _interrupted)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, _interrupted)
    guard_streams()
    ahead.is_wanted = True
    code = _code_of_main()
    lost = finish_output()
    # Python looks for garbage when it ends, too: as long as a tenth of a warm run.
    gc.freeze()
    # What went wrong before is the better answer, but no verdict counts that nobody could read.
    sys.exit(report(lost) if lost is not None and code in (0, 1) else code)


def _code_of_main() -> int:
    """Run the command and report its error, if there is one; return the exit code."""
    try:
        result = main.main(standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Abort:
        _say_interrupted()
        return 130
    except click.ClickException as problem:
        from treeanon.io.relational.urls import without_secrets

        vars(problem)["message"] = without_secrets(problem.message)
        problem.show()
        return problem.exit_code
    except OSError as problem:
        if problem.errno is None:
            return report(problem)
        # Errors of files name the file where it is used; this is standard output.
        _say(f"error: {LOST}: {problem.strerror}")
        return 4
    except Exception as problem:
        return report(problem)


def _signal_behind(problem: BaseException | None) -> int | None:
    """Return the exit code of the signal behind an error: compiled code turns its exception into a SystemError."""
    while problem is not None:
        if isinstance(problem, SystemExit) and isinstance(problem.code, int):
            return problem.code
        if isinstance(problem, KeyboardInterrupt):
            return 130
        problem = problem.__cause__ or problem.__context__
    return None


def report(problem: Exception) -> int:
    """Print the error and return the exit code; an unexpected error shows its place, not its message."""
    from treeanon.errors import TreeanonError

    if isinstance(problem, TreeanonError):
        for line in str(problem).splitlines():
            _say(f"error: {line}")
        return exit_code(problem)
    code = _signal_behind(problem)
    if code is not None:
        _say_interrupted()
        return code
    if isinstance(problem, MemoryError):
        _say("error: out of memory")
        return 4
    # The message of an unexpected error may contain a value of the data; its type and place do not.
    last = traceback.extract_tb(problem.__traceback__)[-1]
    _say(f"internal error: {type(problem).__name__} at {Path(last.filename).name}:{last.lineno}; please report it")
    return 70


def _say_interrupted() -> None:
    # Without any import: the signal may have interrupted the import of a package that cannot be repeated (numpy).
    click.echo("treeanon: interrupted", err=True)


def _say(text: str) -> None:
    from treeanon.hierarchy.files import printable
    from treeanon.io.relational.urls import without_secrets

    # File names may contain control characters that would steer the terminal, and a mistyped URL of a database a
    # password.
    click.echo(f"treeanon: {without_secrets(printable(text))}", err=True)
