"""What the page of Python functions shows otherwise than the source has it: an extension of its reader.

Doctests are shown as code and parameters as lists. Functions that take `**asked` are shown with all parameters, as
`help` shows them.
"""

from __future__ import annotations

import importlib
import inspect
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


def _as_shown(obj: griffe.Function) -> griffe.Parameters:
    """Return the parameters that a function shows when it runs."""
    found = getattr(importlib.import_module(obj.module.path), obj.name)
    written = {one.name: one for one in obj.parameters}
    return griffe.Parameters(
        *(
            written.get(one.name)
            or griffe.Parameter(one.name, kind=griffe.ParameterKind.keyword_only, default=repr(one.default))
            for one in inspect.signature(found).parameters.values()
        )
    )


class AsShown(griffe.Extension):
    """Docstrings as Markdown, and signatures in full."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change what was read of an object."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
        if isinstance(obj, griffe.Function) and any(str(one.value).startswith("shows") for one in obj.decorators):
            obj.parameters = _as_shown(obj)
