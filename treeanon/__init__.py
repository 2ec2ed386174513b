"""Publish dumps of nested person records with a proven guarantee: trees in, anonymous trees out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treeanon.forest import Forest
    from treeanon.hierarchy import Hierarchy
    from treeanon.io import read, write
    from treeanon.schema import Schema

__version__ = "0.1.0"

__all__ = ["Forest", "Hierarchy", "Schema", "read", "write"]

_HOMES = {
    "Forest": "treeanon.forest",
    "Hierarchy": "treeanon.hierarchy",
    "Schema": "treeanon.schema",
    "read": "treeanon.io",
    "write": "treeanon.io",
}


def __getattr__(name: str) -> Any:
    """Loads a public name when it is first asked for, so that `treeanon --help` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'treeanon' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
