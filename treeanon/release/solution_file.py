"""Solution files (`*.solution.json`): what was done to some data and what came of it, to be read by other programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treeanon.algorithms.tree.solution import Solution
from treeanon.algorithms.tree.solution_form import PARTS
from treeanon.errors import FileError, UsageError
from treeanon.io.output import open_output

if TYPE_CHECKING:
    from treeanon.release.release import Release

VERSION = 1
KEYS = ("version", "treeanon", *PARTS, "losses", "counts", "verification")


@dataclass(frozen=True)
class SolutionFile:
    """A solution and what was found out about it; losses, counts and verification are of the data it was made for."""

    solution: Solution
    treeanon: str = ""
    losses: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, Any] = field(default_factory=dict)
    verification: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, release: Release) -> SolutionFile:
        """The solution file of a release."""
        told = release.as_dict()
        return cls(release.solution, _version(), told["losses"], told["counts"], told["verification"])

    def as_dict(self) -> dict[str, Any]:
        """The file as plain data."""
        return {
            "version": VERSION,
            "treeanon": self.treeanon,
            **self.solution.as_dict(),
            "losses": dict(self.losses),
            "counts": dict(self.counts),
            "verification": dict(self.verification),
        }

    def write(self, target: str | Path, *, force: bool = False) -> None:
        """Writes the file, whole or not at all; an existing one is replaced only with `force`."""
        text = json.dumps(self.as_dict(), indent=1, ensure_ascii=False)
        with open_output(target, force=force) as stream:
            # A lone surrogate, which no reader lets in, must not become an error that shows it.
            stream.write((text + "\n").encode(errors="backslashreplace"))

    @classmethod
    def load(cls, path: str | Path) -> SolutionFile:
        """The solution file at a path; UsageError says what is wrong with it, without a value of the data."""
        try:
            text = Path(path).read_bytes().decode("utf-8-sig")
        except OSError as problem:
            raise FileError(f"{path}: cannot be read: {problem.strerror}") from None
        except UnicodeDecodeError:
            raise UsageError(f"{path}: is not UTF-8, so it is no solution file") from None
        try:
            plain = json.loads(text)
        except json.JSONDecodeError as problem:
            raise UsageError(f"{path}, line {problem.lineno}: is not JSON, so it is no solution file") from None
        except RecursionError:
            raise UsageError(f"{path}: is nested too deep to be a solution file") from None
        try:
            return cls.from_dict(plain)
        except UsageError as problem:
            raise UsageError(f"{path}: {problem}") from None

    @classmethod
    def from_dict(cls, plain: object) -> SolutionFile:
        """The solution file of plain data; UsageError says what is wrong with it."""
        if not isinstance(plain, dict) or "version" not in plain:
            raise UsageError("is no solution file: it must be an object with a version")
        if type(plain["version"]) is not int or plain["version"] != VERSION:
            raise UsageError(f"its version is not known; this treeanon reads version {VERSION}")
        if unknown := [key for key in plain if key not in KEYS]:
            raise UsageError(f"{len(unknown)} keys of it are unknown; there is: {', '.join(KEYS)}")
        made_by = plain.get("treeanon", "")
        told = {name: plain.get(name, {}) for name in ("losses", "counts", "verification")}
        for name, value in told.items():
            if not isinstance(value, dict):
                raise UsageError(f"{name}: must be an object")
        return cls(Solution.from_dict(plain), made_by if isinstance(made_by, str) else "", **told)


def _version() -> str:
    """The version of this package."""
    return str(sys.modules[__name__.partition(".")[0]].__version__)
