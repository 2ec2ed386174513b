"""Hierarchies as a drawing for the terminal."""

from __future__ import annotations

from treeanon.hierarchy.model import Hierarchy


def render(hierarchy: Hierarchy, *, max_depth: int | None = None, max_children: int | None = None) -> str:
    """Return the tree as lines of text, one per node, with the number of those that the limits leave out.

    >>> print(render(Hierarchy.flat(["a", "b", "c"]), max_children=2))
    *
    ├── a
    ├── b
    └── ... and 1 more
    >>> print(render(Hierarchy.from_paths([["flu", "lung", "*"], ["acne", "*"]]), max_depth=1))
    *
    ├── lung (... and 1 more)
    └── acne
    """
    lines = []
    stack: list[tuple[str, str, int | str]] = [("", "", 0)]
    while stack:
        lead, indent, node = stack.pop()
        if isinstance(node, str):
            lines.append(lead + node)
            continue
        hidden = max_depth is not None and hierarchy.depth[node] >= max_depth
        below = int(hierarchy.end[node]) - node - 1
        more = f" (... and {below} more)" if hidden and below else ""
        lines.append(lead + printable(hierarchy.texts[node]) + more)
        rows = [] if hidden else _rows(hierarchy, node, max_children)
        for at, row in reversed(list(enumerate(rows, start=1))):
            branch, trunk = ("└── ", "    ") if at == len(rows) else ("├── ", "│   ")
            stack.append((indent + branch, indent + trunk, row))
    return "\n".join(lines)


def printable(text: str) -> str:
    """Return the text with everything escaped that could steer a terminal or hide in it.

    >>> printable("café \\x1b[31m")
    'café \\\\x1b[31m'
    """
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def _rows(hierarchy: Hierarchy, node: int, most: int | None) -> list[int | str]:
    children = hierarchy.children(node)
    if most is None or len(children) <= most:
        return [*children]
    return [*children[:most], f"... and {len(children) - most} more"]
