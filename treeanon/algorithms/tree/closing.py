"""What a search does not specialise again: cuts it has seen, or values that a cheaper sibling has specialised.

TREE closes cuts in its text, and values in its implementation note (and in Examples 6 and 8). Closing values makes the
search a set enumeration: below a cut, nothing is specialised that one of its cheaper siblings specialised. Its second
best branch so never gets what the best one has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

from treeanon.algorithms.tree.candidates import Candidate, Candidates
from treeanon.algorithms.tree.cuts import Cut
from treeanon.errors import UsageError

Closed = Literal["values", "cuts"]


class Closing:
    """Specialises cuts, each cut once."""

    def __init__(self, candidates: Candidates, closed: Closed) -> None:
        if closed not in get_args(Closed):
            raise UsageError(f"what is closed must be one of {', '.join(get_args(Closed))}")
        self._candidates = candidates
        self._values = closed == "values"
        self._seen: set[Cut] = set()

    def _open(self, parent: Candidate) -> list[int]:
        """The nodes of a cut that are to be specialised."""
        space = self._candidates.space
        nodes = [node for node in parent.cut if node not in parent.closed and space.kids(node)]
        if self._values:
            return nodes
        chosen = []
        for node in nodes:
            cut = space.specialised(parent.cut, node)
            if cut not in self._seen:
                self._seen.add(cut)
                chosen.append(node)
        return chosen

    def expand(self, parents: Sequence[Candidate]) -> list[list[Candidate]]:
        """The specialisations of each parent that pass, cheapest first.

        A node whose specialisation fails is closed below all of them: it would fail there too.
        """
        wanted = [(parent, self._open(parent)) for parent in parents]
        out = []
        for (_, nodes), found in zip(wanted, self._candidates.expand(wanted), strict=True):
            dead = frozenset(node for node, child in zip(nodes, found, strict=True) if child is None)
            children = sorted((child for child in found if child is not None), key=lambda child: child.cost)
            for i, child in enumerate(children):
                cheaper = {sibling.node for sibling in children[:i]} if self._values else set()
                children[i] = replace(child, closed=child.closed | dead | cheaper)
            out.append(children)
        return out
