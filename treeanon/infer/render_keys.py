"""What a proposed schema says of foreign keys: those that its paths follow, and why it gives those that it gives."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from treeanon.infer.model import Findings, LeftOut, ProposedKeys

KEY = "a key; keys are made anew"
"""Why columns of keys are left out."""

LANGUAGE = """\
A path leads from the record table to others by foreign keys: down to the rows that refer to a row (they
repeat, as objects in an array do), or up to the row that it names. Its last step is a column. Where several
keys lead to a table, the step names the columns of the one that is meant: visit.doctor(attending_id).name."""


def key_comment(keys: ProposedKeys) -> str:
    """Which declared keys the paths follow, as the words of a comment."""
    if not keys.declared:
        return ""
    listed = "\n".join(f"  {key}" for key in keys.declared)
    return f"The input declares its keys itself. The paths below follow:\n{listed}\n"


def key_lines(keys: ProposedKeys) -> Iterator[tuple[str, str]]:
    """The lines of `key = […]`, each with the comment that goes before it."""
    for key, why in keys.found:
        yield f"FOUND, NOT DECLARED: {why}.", f"  {_quoted(str(key))},"


def told_warnings(findings: Findings) -> str:
    """What the user must know before all else."""
    return "".join(f"NOTE: {warning}.\n" for warning in findings.warnings)


def without_keys(left_out: Sequence[LeftOut]) -> tuple[list[LeftOut], list[str]]:
    """What was left out for other reasons, and the columns that are keys."""
    return [left for left in left_out if left.why != KEY], [left.path for left in left_out if left.why == KEY]


def _quoted(text: str) -> str:
    """The text as TOML has it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
