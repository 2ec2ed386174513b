"""The one family of errors: each names a place and what would be right, never a value of the data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class TreeanonError(Exception):
    """Base of every error that the package raises on purpose."""


class UsageError(TreeanonError):
    """The call or the command line asks for something that cannot be."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a file the user wrote: where it is, and what would be right.

    >>> str(Problem("schema.toml, line 3, class 1: role", "must be one of quasi, keep"))
    'schema.toml, line 3, class 1: role: must be one of quasi, keep'
    """

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class SchemaError(TreeanonError):
    """A schema that cannot be used; `problems` holds everything that is wrong with it at once."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class HierarchyError(TreeanonError):
    """A generalization hierarchy that is not one tree, or that does not know values of the data."""


class DataError(TreeanonError):
    """Input data that cannot be read: file, line or record number, and path; never the value.

    >>> str(DataError("a scalar is expected", source="p.ndjson", place="line 7", path="visits[].date"))
    'p.ndjson, line 7, visits[].date: a scalar is expected'
    """

    def __init__(self, message: str, *, source: str = "", place: str = "", path: str = "") -> None:
        self.message, self.source, self.place, self.path = message, source, place, path
        where = ", ".join(part for part in (source, place, path) if part)
        super().__init__(f"{where}: {message}" if where else message)


class GuaranteeError(TreeanonError):
    """The guarantee asked for does not hold, or cannot be reached."""


class FileError(TreeanonError):
    """A file could not be read or written."""
