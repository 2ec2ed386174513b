"""Docstrings as Markdown: an extension of the reader of docstrings, for examples and lists of parameters."""

from __future__ import annotations

import re
from typing import Any

import griffe


def as_markdown(text: str) -> str:
    """Return a docstring with its doctests as blocks of code, and its parameters as lists.

    >>> as_markdown("Add.\\n\\n>>> 1 + 1\\n2\\n\\nMore.").splitlines()
    ['Add.', '', '```pycon', '>>> 1 + 1', '2', '```', '', 'More.']
    >>> as_markdown("Parameters\\n    k: how many\\n        persons.\\n    m: how much.").splitlines()
    ['**Parameters**', '', '- `k`: how many persons.', '- `m`: how much.']
    """
    text = re.sub(r"^>>> .*(?:\n.+)*", lambda found: f"```pycon\n{found[0]}\n```", text, flags=re.MULTILINE)
    return re.sub(r"^(Parameters[^\n]*)\n((?: {4}.*(?:\n|$))+)", _listed, text, flags=re.MULTILINE)


def _listed(found: re.Match[str]) -> str:
    items = re.sub(r"\n {8,}", " ", found[2])
    items = re.sub(r"^ {4}([*\w, ]+):", r"- `\1`:", items, flags=re.MULTILINE)
    return f"**{found[1].rstrip(':')}**\n\n{items}"


class Docstrings(griffe.Extension):
    """Shows doctests as code and parameters as lists, wherever in a docstring they stand."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
