"""Temporary packages with entry points, as if they had been installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import invalidate_caches
from pathlib import Path

import pytest

from treeanon.plugins import plugins


def make_package(folder: Path, package: str, points: Mapping[str, Mapping[str, str]], files: Mapping[str, str]) -> Path:
    """Write a package as `pip install` leaves it: its modules, and a dist-info folder with its entry points.

    `points` holds the entry points of each group ({"treeanon.formats": {"kv": "kv_format:FORMAT"}}), `files` the
    text of each module ({"kv_format.py": "…"}). Give the returned folder to `installed`.
    """
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [
        line
        for group, named in points.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in named.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@contextmanager
def installed(*folders: Path) -> Iterator[None]:
    """Have the packages of these folders found by this process and by those that it starts; afterwards none is left."""
    with pytest.MonkeyPatch.context() as patch:
        for folder in folders:
            patch.syspath_prepend(str(folder))
            patch.setenv("PYTHONPATH", str(folder), prepend=":")
        _look_again()
        before = set(sys.modules)
        try:
            yield
        finally:
            for name in set(sys.modules) - before:
                path = getattr(sys.modules[name], "__file__", None)
                if path is not None and any(Path(path).is_relative_to(folder) for folder in folders):
                    del sys.modules[name]
    _look_again()


def _look_again() -> None:
    invalidate_caches()
    plugins.cache_clear()
