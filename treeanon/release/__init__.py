"""From a forest to a checked release: search, verify, measure, write."""

from treeanon.release.anonymizing import anonymize, fulfil
from treeanon.release.reapply import apply
from treeanon.release.release import Release
from treeanon.release.request import Request
from treeanon.release.solution_file import SolutionFile

__all__ = ["Release", "Request", "SolutionFile", "anonymize", "apply", "fulfil"]
