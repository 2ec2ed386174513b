"""Examples in docstrings are shown as code: an extension of the reader of docstrings."""

from __future__ import annotations

import re
from typing import Any

import griffe


def fenced(text: str) -> str:
    """Return a docstring with its doctests as blocks of code.

    >>> fenced("Add.\\n\\n>>> 1 + 1\\n2\\n\\nMore.").splitlines()
    ['Add.', '', '```pycon', '>>> 1 + 1', '2', '```', '', 'More.']
    """
    return re.sub(r"^>>> .*(?:\n.+)*", lambda found: f"```pycon\n{found[0]}\n```", text, flags=re.MULTILINE)


class Doctests(griffe.Extension):
    """Shows doctests as code, wherever in a docstring they stand."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
