"""Publish dumps of nested person records with a proven guarantee: trees in, anonymous trees out."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treeanon.api import anonymize, append, apply, verify
    from treeanon.cli.run import JobResult, run
    from treeanon.errors import GuaranteeError, TreeanonError
    from treeanon.forest import Forest
    from treeanon.hierarchy import Hierarchy
    from treeanon.io import read, write
    from treeanon.io.columns.frames import table_of
    from treeanon.io.columns.permuted_files import read_permuted
    from treeanon.io.columns.read_table import read_table
    from treeanon.previews.preview import Preview, preview
    from treeanon.privacy import Guarantee
    from treeanon.progress import Bar
    from treeanon.release import Appended, History, PermutedRelease, Release, TableRelease
    from treeanon.release.query import Answer, query
    from treeanon.release.recommend import Recommendation, recommend
    from treeanon.reports.page.page import write_page
    from treeanon.reports.signed.check import check_report
    from treeanon.reports.signed.report import Report, report
    from treeanon.risks import Risk, risk
    from treeanon.schema import Schema
    from treeanon.table import Table
    from treeanon.verifier.table import TableVerdict
    from treeanon.verifier.verdict import Verdict

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Appended",
    "Bar",
    "Forest",
    "Guarantee",
    "GuaranteeError",
    "Hierarchy",
    "History",
    "JobResult",
    "PermutedRelease",
    "Preview",
    "Recommendation",
    "Release",
    "Report",
    "Risk",
    "Schema",
    "Table",
    "TableRelease",
    "TableVerdict",
    "TreeanonError",
    "Verdict",
    "anonymize",
    "append",
    "apply",
    "check_report",
    "preview",
    "query",
    "read",
    "read_permuted",
    "read_table",
    "recommend",
    "report",
    "risk",
    "run",
    "table_of",
    "verify",
    "write",
    "write_page",
]

_HOMES = {
    "Answer": "treeanon.release.query",
    "Appended": "treeanon.release",
    "Bar": "treeanon.progress",
    "Forest": "treeanon.forest",
    "Guarantee": "treeanon.privacy",
    "GuaranteeError": "treeanon.errors",
    "Hierarchy": "treeanon.hierarchy",
    "History": "treeanon.release",
    "JobResult": "treeanon.cli.run",
    "PermutedRelease": "treeanon.release",
    "Preview": "treeanon.previews.preview",
    "Recommendation": "treeanon.release.recommend",
    "Release": "treeanon.release",
    "Report": "treeanon.reports.signed.report",
    "Risk": "treeanon.risks",
    "Schema": "treeanon.schema",
    "Table": "treeanon.table",
    "TableRelease": "treeanon.release",
    "TableVerdict": "treeanon.verifier.table",
    "TreeanonError": "treeanon.errors",
    "Verdict": "treeanon.verifier.verdict",
    "anonymize": "treeanon.api",
    "append": "treeanon.api",
    "apply": "treeanon.api",
    "check_report": "treeanon.reports.signed.check",
    "preview": "treeanon.previews.preview",
    "query": "treeanon.release.query",
    "read": "treeanon.io",
    "read_permuted": "treeanon.io.columns.permuted_files",
    "read_table": "treeanon.io.columns.read_table",
    "recommend": "treeanon.release.recommend",
    "report": "treeanon.reports.signed.report",
    "risk": "treeanon.risks",
    "run": "treeanon.cli.run",
    "table_of": "treeanon.io.columns.frames",
    "verify": "treeanon.api",
    "write": "treeanon.io",
    "write_page": "treeanon.reports.page.page",
}


def __getattr__(name: str) -> Any:
    """Loads a public name when it is first asked for, so that `treeanon --help` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'treeanon' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
