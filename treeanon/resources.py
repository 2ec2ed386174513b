"""The files that come with the package: samples and schemas."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from treeanon.errors import FileError


def folder(name: str) -> Path:
    """The folder `samples` or `schemas`, in the installed package or beside it in a checkout."""
    installed = Path(str(resources.files("treeanon"))) / "data" / name
    checkout = Path(__file__).resolve().parent.parent / name
    for path in (installed, checkout):
        if path.is_dir():
            return path
    raise FileError(f"the package's folder {name!r} is missing; install treeanon again")
