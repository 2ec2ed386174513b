"""The errors of the package. Messages name the place and what is expected, never a value of the data."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_BREAKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def one_line(name: str) -> str:
    """Return a name of a file in one line: members of archives may have any, such as one that reads like a message.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    return _BREAKS.sub(lambda found: found[0].encode("unicode_escape").decode(), name)


class TreeanonError(Exception):
    """Base class of the errors that the package raises."""


class UsageError(TreeanonError):
    """Invalid arguments of a call or a command."""


@dataclass(frozen=True)
class Problem:
    """One problem in a file that the user wrote: its place, and what is expected there.

    `path` leads to the key from the top of the document, where it is known.

    >>> str(Problem("schema.toml, line 3, class 1: role", "must be one of quasi, keep"))
    'schema.toml, line 3, class 1: role: must be one of quasi, keep'
    """

    place: str
    message: str
    path: tuple[str | int, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class SchemaError(TreeanonError):
    """An invalid schema; `problems` lists everything that is wrong with it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class HierarchyError(TreeanonError):
    """A generalization hierarchy that is not a tree, or that lacks values of the data."""


class DataError(TreeanonError):
    """Invalid input data: file, line or record number, and path, but never the value.

    >>> str(DataError("a scalar is expected", source="p.ndjson", place="line 7", path="visits[].date"))
    'p.ndjson, line 7, visits[].date: a scalar is expected'
    """

    def __init__(self, message: str, *, source: str = "", place: str = "", path: str = "") -> None:
        self.message, self.source, self.place, self.path = message, source, place, path
        where = ", ".join(one_line(part) for part in (source, place, path) if part)
        super().__init__(f"{where}: {message}" if where else message)


class GuaranteeError(TreeanonError):
    """The requested guarantee does not hold or cannot be reached."""


class FileError(TreeanonError):
    """A file cannot be read or written."""
