"""Solution files (`*.solution.json`): what was done to some data and what came of it, to be read by other programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from treeanon.algorithms.tree.solution import PARTS, Solution
from treeanon.errors import FileError, UsageError
from treeanon.io.output import open_output

if TYPE_CHECKING:
    from typing import Protocol

    class DescribedRelease(Protocol):
        """A release, by whatever engine: its solution, and what there is to tell of it."""

        @property
        def solution(self) -> Solution:
            """The recipe."""

        def as_dict(self) -> dict[str, Any]:
            """What there is to tell, as plain data."""


VERSION = 1
FINDINGS = ("losses", "counts", "verification")
KEYS = ("version", "treeanon", *PARTS, *FINDINGS)


class PlainFile:
    """What is kept in a file as plain data."""

    def as_dict(self) -> dict[str, Any]:
        """Return the file as plain data."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, plain: object) -> Self:
        """What plain data say; UsageError says what is wrong with them."""
        raise NotImplementedError

    def write(self, target: str | Path, *, force: bool = False) -> None:
        """Write the file, whole or not at all; an existing one is replaced only with `force`."""
        write_plain(self.as_dict(), target, force=force)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """What a file says; UsageError says what is wrong with it, without a value of the data."""
        plain = read_plain(path)
        try:
            return cls.from_dict(plain)
        except UsageError as problem:
            raise UsageError(f"{path}: {problem}") from None


@dataclass(frozen=True)
class SolutionFile(PlainFile):
    """A solution and what was found out about it; losses, counts and verification are of the data it was made for."""

    solution: Solution
    treeanon: str = ""
    losses: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, Any] = field(default_factory=dict)
    verification: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, release: DescribedRelease) -> SolutionFile:
        """Return the solution file of a release."""
        findings = release.as_dict()
        return cls(release.solution, version(), findings["losses"], findings["counts"], findings["verification"])

    def as_dict(self) -> dict[str, Any]:
        """Return the file as plain data."""
        return {
            "version": VERSION,
            "treeanon": self.treeanon,
            **self.solution.as_dict(),
            "losses": dict(self.losses),
            "counts": dict(self.counts),
            "verification": dict(self.verification),
        }

    @classmethod
    def from_dict(cls, plain: object) -> Self:
        """Return the solution file of plain data; UsageError says what is wrong with it."""
        plain = checked_plain(plain, KEYS)
        made_by = plain.get("treeanon", "")
        findings = {name: plain.get(name, {}) for name in FINDINGS}
        return cls(Solution.from_dict(plain), made_by if isinstance(made_by, str) else "", **findings)


def write_plain(plain: Mapping[str, Any], target: str | Path, *, force: bool) -> None:
    """Write plain data as JSON, whole or not at all, for this user alone."""
    text = json.dumps(plain, indent=1, ensure_ascii=False)
    with open_output(target, force=force, private=True) as stream:
        # A lone surrogate, which no reader lets in, must not become an error that shows it.
        stream.write((text + "\n").encode(errors="backslashreplace"))


def read_plain(path: str | Path) -> object:
    """What a file of JSON holds; UsageError if it cannot be a solution file, without a value of it."""
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as problem:
        raise FileError(f"{path}: cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8, so it is no solution file") from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        raise UsageError(f"{path}, line {problem.lineno}: is not JSON, so it is no solution file") from None
    except (RecursionError, ValueError):
        # Python reads no whole number of thousands of digits.
        raise UsageError(f"{path}: is nested too deep, or has numbers too long, to be a solution file") from None


def checked_plain(plain: object, keys: Sequence[str]) -> dict[str, Any]:
    """Return the plain data of a solution file with these keys; UsageError says what is wrong with it."""
    if not isinstance(plain, dict) or "version" not in plain:
        raise UsageError("is no solution file: it must be an object with a version")
    if type(plain["version"]) is not int or plain["version"] != VERSION:
        raise UsageError(f"its version is not known; this treeanon reads version {VERSION}")
    if unknown := [key for key in plain if key not in keys]:
        raise UsageError(f"{len(unknown)} keys of it are unknown; choose from {', '.join(keys)}")
    for name in FINDINGS:
        if not isinstance(plain.get(name, {}), dict):
            raise UsageError(f"{name}: must be an object")
    return plain


def version() -> str:
    """Return the version of this package."""
    return str(sys.modules[__name__.partition(".")[0]].__version__)
