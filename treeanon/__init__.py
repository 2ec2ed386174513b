"""Publish dumps of nested person records with a proven guarantee: trees in, anonymous trees out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treeanon.errors import GuaranteeError, TreeanonError
    from treeanon.forest import Forest
    from treeanon.front import anonymize, apply, verify
    from treeanon.hierarchy import Hierarchy
    from treeanon.io import read, write
    from treeanon.previews.preview import Preview, preview
    from treeanon.privacy import Guarantee, Verdict
    from treeanon.privacy.table_verdict import TableVerdict
    from treeanon.release import PermutedRelease, Release, TableRelease
    from treeanon.report.page.page import write_page
    from treeanon.risks import Risk, risk
    from treeanon.schema import Schema
    from treeanon.table import Table
    from treeanon.table.build import read_table
    from treeanon.table.frames import table_of
    from treeanon.table.permuted_files import read_permuted

__version__ = "0.1.0"

__all__ = [
    "Forest",
    "Guarantee",
    "GuaranteeError",
    "Hierarchy",
    "PermutedRelease",
    "Preview",
    "Release",
    "Risk",
    "Schema",
    "Table",
    "TableRelease",
    "TableVerdict",
    "TreeanonError",
    "Verdict",
    "anonymize",
    "apply",
    "preview",
    "read",
    "read_permuted",
    "read_table",
    "risk",
    "table_of",
    "verify",
    "write",
    "write_page",
]

_HOMES = {
    "Forest": "treeanon.forest",
    "Guarantee": "treeanon.privacy",
    "GuaranteeError": "treeanon.errors",
    "Hierarchy": "treeanon.hierarchy",
    "PermutedRelease": "treeanon.release",
    "Preview": "treeanon.previews.preview",
    "Release": "treeanon.release",
    "Risk": "treeanon.risks",
    "Schema": "treeanon.schema",
    "Table": "treeanon.table",
    "TableRelease": "treeanon.release",
    "TableVerdict": "treeanon.privacy.table_verdict",
    "TreeanonError": "treeanon.errors",
    "Verdict": "treeanon.privacy",
    "anonymize": "treeanon.front",
    "apply": "treeanon.front",
    "preview": "treeanon.previews.preview",
    "read": "treeanon.io",
    "read_permuted": "treeanon.table.permuted_files",
    "read_table": "treeanon.table.build",
    "risk": "treeanon.risks",
    "table_of": "treeanon.table.frames",
    "verify": "treeanon.front",
    "write": "treeanon.io",
    "write_page": "treeanon.report.page.page",
}


def __getattr__(name: str) -> Any:
    """Loads a public name when it is first asked for, so that `treeanon --help` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'treeanon' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
