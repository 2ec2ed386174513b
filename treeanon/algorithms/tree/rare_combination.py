"""Rare combinations: why something cannot be published, and which relations are to blame."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from treeanon.kernels.tree.rare_sets import Table


@dataclass
class Rare:
    """Why a label cannot be let out: slots of labels that too few records hold together, and their relations.

    The label itself has slot -1 once it was refused.
    """

    labels: tuple[int, ...]
    relations: tuple[tuple[int, int], ...] = ()


def blamed(related: Table, combinations: list[tuple[tuple[int, int], ...]]) -> list[tuple[int, int]] | None:
    """Relations of slots that together end all rare combinations; None if one has no relation.

    The relation that ends most of them per record that holds it comes first.
    """
    waiting = [[(min(pair), max(pair)) for pair in combination] for combination in combinations]
    if not all(waiting):
        return None
    chosen = []
    while waiting:
        hits = Counter(pair for combination in waiting for pair in combination)
        best = max(hits, key=lambda pair: (hits[pair] / int(related[pair]), pair))
        chosen.append(best)
        waiting = [combination for combination in waiting if best not in combination]
    return chosen
