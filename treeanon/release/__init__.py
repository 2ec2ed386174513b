"""From a forest or a table to a checked release: search, verify, measure, write."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treeanon.release.append_batch import Appended, TooManyHeldError, append
    from treeanon.release.append_history import History
    from treeanon.release.reapply import TableSolution, apply, apply_table
    from treeanon.release.solution_file import SolutionFile
    from treeanon.release.table import PermutedRelease, anonymize_table, fulfill_permuted, fulfill_table
    from treeanon.release.table_documents import DocumentsRelease, documents_of
    from treeanon.release.table_release import TableRelease
    from treeanon.release.table_request import TableRequest
    from treeanon.release.tree import anonymize, fulfill
    from treeanon.release.tree_release import Release
    from treeanon.release.tree_request import Request

__all__ = [
    "Appended",
    "DocumentsRelease",
    "History",
    "PermutedRelease",
    "Release",
    "Request",
    "SolutionFile",
    "TableRelease",
    "TableRequest",
    "TableSolution",
    "TooManyHeldError",
    "anonymize",
    "anonymize_table",
    "append",
    "apply",
    "apply_table",
    "documents_of",
    "fulfill",
    "fulfill_permuted",
    "fulfill_table",
]

_HOMES = {
    "append_batch": ("Appended", "TooManyHeldError", "append"),
    "append_history": ("History",),
    "reapply": ("TableSolution", "apply", "apply_table"),
    "solution_file": ("SolutionFile",),
    "table": ("PermutedRelease", "anonymize_table", "fulfill_permuted", "fulfill_table"),
    "table_documents": ("DocumentsRelease", "documents_of"),
    "table_release": ("TableRelease",),
    "table_request": ("TableRequest",),
    "tree": ("anonymize", "fulfill"),
    "tree_release": ("Release",),
    "tree_request": ("Request",),
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for: a release of trees needs nothing of tables."""
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
