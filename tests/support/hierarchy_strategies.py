"""Random hierarchies, values and cuts, and slow twins of what the model derives."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from treeanon.hierarchy import Hierarchy

# short texts out of what breaks files: delimiters, quotes, line ends, blanks, the root's own text
hostile = st.text(st.sampled_from('ab;,\t"\r\n \ufeff*…\u2028\x0b\x1c{}:\\é😀'), min_size=1, max_size=4)
plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)
texts = st.one_of(hostile, plain)


@st.composite
def hierarchies(draw, text=texts, max_size=20):
    names = draw(st.lists(text, min_size=1, max_size=max_size, unique=True))
    parents, path = [-1], [0]
    for code in range(1, len(names)):
        del path[draw(st.integers(1, len(path))) :]
        parents.append(path[-1])
        path.append(code)
    return Hierarchy(tuple(names), np.array(parents, dtype=np.int32))


@st.composite
def cuts(draw, hierarchy):
    """A set of nodes that covers each leaf once, as texts."""
    cut, stack = [], [0]
    while stack:
        node = stack.pop()
        children = hierarchy.children(node)
        if children and draw(st.booleans()):
            stack.extend(children)
        else:
            cut.append(node)
    return [hierarchy.texts[node] for node in cut]


def chain(hierarchy, text):
    return [hierarchy.texts[code] for code in hierarchy.ancestors(hierarchy.code(text))]


def slow_descendants(hierarchy, v):
    """v and all nodes whose walk up meets v."""
    found = []
    for node in range(len(hierarchy)):
        at = node
        while at not in (-1, v):
            at = int(hierarchy.parent[at])
        if at == v:
            found.append(node)
    return found
