"""The command `treeanon`: finds the subcommand, and turns errors into messages and exit codes."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType

import click

from treeanon import __version__

COMMANDS = {
    "anonymize": "Publish records so that nobody can be singled out; checked before they appear.",
    "apply": "Do to new data what a solution file says, if its guarantee holds for them too.",
    "bench": "Run published experiments again on invented tables, and write such tables.",
    "compare": "Measure what a release has lost against what it was made of.",
    "convert": "Convert records between XML, JSON, NDJSON, trees files and tables, keeping what a schema names.",
    "demo": "Write samples (documents and tables), their schemas and hierarchies to a folder.",
    "explore": "Move k, m, n and weights on a local page, and see what a release of a sample would be.",
    "flatten": "Make one table of records: a row for every person, a column for every class.",
    "hierarchy": "Build, show, check and convert generalization hierarchies.",
    "init": "Look at a sample of the input and write a commented schema for it.",
    "preview": "Show some records before and after a release, without making one.",
    "risk": "Tell how many persons can be singled out by how much knowledge.",
    "verify": "Check whether published trees keep a guarantee, and tell the largest k that holds.",
}
"""The commands and their short helps: listed here, so that `--help` loads none of them."""


class LazyGroup(click.Group):
    """A group whose commands are modules of treeanon.cli, loaded when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"treeanon.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name; an unknown one is answered with what there is."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(
                f"There is no command {args[0]!r}.{hint} There is: {', '.join(sorted(COMMANDS))}.", ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="treeanon")
def main() -> None:
    """Publish dumps of nested person records so that nobody can be singled out.

    Start with `treeanon demo`, or with `treeanon init YOUR-FILE`.

    Exit codes: 0 done; 1 the guarantee does not hold or cannot be reached; 2 wrong usage, schema or hierarchy;
    3 bad input data; 4 could not read or write.

    Shell completion: eval "$(_TREEANON_COMPLETE=bash_source treeanon)" (or zsh_source, fish_source).
    """


def exit_code(problem: BaseException) -> int:
    """The exit code for an error of the package."""
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
    """Runs the command line; the entry point of the installed command."""
    try:
        _run()
    except SystemExit as leaving:
        if isinstance(leaving.code, int) and leaving.code > 128:
            _leave(leaving.code)
        raise


def _leave(code: int) -> None:
    """Ends the process after a signal, if compiled code goes on in a thread that would have to be waited for.

    All that has to be cleaned up has been: that is done by those who waited for the thread.
    """
    from treeanon.progress import is_work_abandoned

    if is_work_abandoned():
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)


def _run() -> None:
    signal.signal(signal.SIGTERM, _interrupted)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, _interrupted)
    try:
        result = main.main(standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        sys.exit(result if isinstance(result, int) else 0)
    except click.exceptions.Abort:
        _say_interrupted()
        sys.exit(130)
    except click.ClickException as problem:
        from treeanon.io.relational.urls import without_secrets

        vars(problem)["message"] = without_secrets(problem.message)
        problem.show()
        sys.exit(problem.exit_code)
    except OSError as problem:
        # Files are told of by name where they are used; this is standard output.
        if problem.errno is None:
            sys.exit(report(problem))
        if not isinstance(problem, BrokenPipeError):
            _say(f"error: standard output: {problem.strerror}")
        with contextlib.suppress(OSError, AttributeError):
            # What is still in the buffer must not fail again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(4)
    except Exception as problem:
        sys.exit(report(problem))


def _signal_behind(problem: BaseException | None) -> int | None:
    """The exit code of a signal that led to an error: compiled code makes a SystemError of what it raised."""
    while problem is not None:
        if isinstance(problem, SystemExit) and isinstance(problem.code, int):
            return problem.code
        if isinstance(problem, KeyboardInterrupt):
            return 130
        problem = problem.__cause__ or problem.__context__
    return None


def report(problem: Exception) -> int:
    """Says what went wrong, and returns the exit code; unforeseen errors show their place but not their words."""
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
    # The message of an unforeseen error may hold a value of the data; its type and place do not.
    last = traceback.extract_tb(problem.__traceback__)[-1]
    _say(f"internal error: {type(problem).__name__} at {Path(last.filename).name}:{last.lineno}; please report it")
    return 70


def _say_interrupted() -> None:
    # Without any import: the signal may have come amid that of a package which cannot be begun a second time (numpy).
    click.echo("treeanon: interrupted", err=True)


def _say(text: str) -> None:
    from treeanon.hierarchy.show import printable
    from treeanon.io.relational.urls import without_secrets

    # Names of files may hold control characters that would steer the terminal; and what was meant as the URL of a
    # database, but is none, a password.
    click.echo(f"treeanon: {without_secrets(printable(text))}", err=True)
