"""What it costs to hide what is known of the original: the sample, published in each way (see RESULTS.md).

python tests/bench/original.py
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import treeanon as ta
from treeanon.algorithms.tree.solution import Solution

ROOT = Path(__file__).resolve().parents[2]
WAYS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("as published, moved", {}),
    ("known of the original, left out", {"as_published": False}),
    ("known of the original, generalized only", {"as_published": False, "taking_apart": "none"}),
)


def main() -> None:
    """Print the table."""
    forest = ta.read(ROOT / "samples/patients.xml", ta.Schema.load(ROOT / "schemas/hospital-xml.toml"))
    print("| k | release | value loss | relations kept | moved or left out | largest k, original |")
    print("|---|---|---|---|---|---|")
    for k in (5, 10, 20):
        for name, parameters in WAYS:
            release = ta.anonymize(forest, k=k, seed=7, **parameters)
            known = ta.verify(release.forest, k=k, as_published=False)
            solution, loss = release.solution, release.loss
            print(
                f"| {k} | {name} | {loss.value_loss:.4f} | {loss.relations_kept:.2%}"
                f" | {touched(forest, solution):,} | {known.largest_k} |"
            )


def touched(forest: ta.Forest, solution: Solution) -> int:
    """Return how many nodes of the projected trees are moved or left out."""
    projected = replace(solution, disassociated=(), left_out=()).apply(forest)
    left = projected.leave_out(solution.left_out)
    ends = set(solution.disassociated)
    moved = 0
    for record in projected.records():
        stack = [((node[0], node[1]), node[2], ()) for node in record]
        while stack:
            label, below, above = stack.pop()
            moved += any((upper, label) in ends for upper in above)
            stack += [((node[0], node[1]), node[2], (*above, label)) for node in below]
    return moved + projected.nodes - left.nodes


if __name__ == "__main__":
    main()
