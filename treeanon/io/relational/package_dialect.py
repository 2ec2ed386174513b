"""The dialect of a resource in a datapackage.json: what the reader can follow, and a refusal of all else by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from treeanon.io.columns.csv_dialect import Dialect

_HANDLED = {"delimiter", "quoteChar", "doubleQuote", "escapeChar", "header", "headerRows", "lineTerminator"}
_WITHOUT_EFFECT = {
    "$schema",
    "caseSensitiveHeader",
    "csvddfVersion",
    "description",
    "headerJoin",
    "name",
    "title",
    "type",
}
_OFF: tuple[Any, ...] = (None, False, "", [])
_LINE_ENDS = (None, "\n", "\r\n", "\r")


def read_dialect(given: Any, delimiter: str, wrong: Callable[[str, str], None]) -> Dialect:
    """The dialect that a resource gives; `wrong` is told the place and message of each problem."""
    if given is None:
        return Dialect(delimiter)
    if not isinstance(given, dict):
        wrong("dialect", "an object is expected; a dialect in another file is not read")
        return Dialect(delimiter)
    for name, value in given.items():
        if name not in _HANDLED | _WITHOUT_EFFECT and value not in _OFF:
            wrong(f"dialect.{name}", "is not supported, and would change how the file is read")
    if given.get("lineTerminator") not in _LINE_ENDS:
        wrong("dialect.lineTerminator", "must be a line end")
    if given.get("headerRows") not in (None, [1]):
        wrong("dialect.headerRows", "must be [1]")
    escape = _mark(given, "escapeChar", "", wrong)
    # With an escape alone, nothing is quoted.
    quote = _mark(given, "quoteChar", "" if escape else '"', wrong)
    delimiter = _mark(given, "delimiter", delimiter, wrong)
    if not delimiter or delimiter in (quote, escape) or (quote and quote == escape):
        wrong("dialect", "delimiter, quote and escape must be different characters")
    return Dialect(delimiter, quote, _flag(given, "doubleQuote", wrong), escape, _flag(given, "header", wrong))


def _mark(given: dict[str, Any], name: str, default: str, wrong: Callable[[str, str], None]) -> str:
    """One character, or none."""
    if name not in given:
        return default
    value = given[name] if given[name] is not None else ""
    if not isinstance(value, str) or len(value) > 1 or not value.isascii() or value in ("\n", "\r", "\0"):
        wrong(f"dialect.{name}", "must be one ASCII character")
        return default
    return value


def _flag(given: dict[str, Any], name: str, wrong: Callable[[str, str], None]) -> bool:
    value = given.get(name)
    if value is not None and not isinstance(value, bool):
        wrong(f"dialect.{name}", "must be true or false")
    return value is not False
