"""Names as SQL writes them, and as SQLite compares them."""

from __future__ import annotations


def quoted(name: str) -> str:
    """A name as SQL has it.

    >>> print(quoted('a "b" c'))
    "a ""b"" c"
    """
    return '"' + name.replace('"', '""') + '"'


def ascii_lower(name: str) -> str:
    """A name as SQLite compares names: only ASCII letters lose their case.

    >>> ascii_lower("Käse ÄRA")
    'käse Ära'
    """
    return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")
