"""From a forest or a table to a checked release: search, verify, measure, write."""

from treeanon.release.append_batch import Appended, TooManyHeldError, append
from treeanon.release.append_history import History
from treeanon.release.permuted import PermutedRelease, fulfill_permuted
from treeanon.release.solution_file import SolutionFile
from treeanon.release.table import anonymize_table, fulfill_table
from treeanon.release.table_documents import DocumentsRelease, documents_of
from treeanon.release.table_reapply import TableSolution, apply_table
from treeanon.release.table_release import TableRelease
from treeanon.release.table_request import TableRequest
from treeanon.release.tree import anonymize, fulfill
from treeanon.release.tree_reapply import apply
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
