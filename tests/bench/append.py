"""How many persons of a batch an earlier solution publishes: the sample, a first release for several k, batches of
several sizes for one k, and what the coarser cut loses that is found for a batch.

    python tests/bench/append.py [whole|merged]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import treeanon as ta
from treeanon.errors import GuaranteeError
from treeanon.release import TooManyHeldError

ROOT = Path(__file__).parents[2]
FIRST, SIZES, K = 600, (100, 200, 400), 5


def main(objects: str) -> None:
    """Print the table."""
    schema = ta.Schema.load(ROOT / "schemas" / "hospital-xml.toml").with_objects(objects)  # type: ignore[arg-type]
    people = ta.read(ROOT / "samples" / "patients.xml", schema)
    order = np.random.default_rng(1).permutation(len(people))
    first = people.take(order[:FIRST])
    print(f"| k of the first {FIRST} | its value loss | " + " | ".join(f"of {size}" for size in SIZES) + " |")
    print("|---" * (2 + len(SIZES)) + "|")
    for k in (5, 10, 20, 40):
        release = ta.anonymize(first, k=k, seed=1)
        told = [_of_batch(release, people.take(order[FIRST : FIRST + size])) for size in SIZES]
        print(f"| {k} | {release.loss.value_loss:.3f} | " + " | ".join(told) + " |")


def _of_batch(release: ta.Release, batch: ta.Forest) -> str:
    done = ta.append(release.solution, batch, k=K, max_held="100%")
    told = str(done.counts["published"])
    try:
        ta.append(release.solution, batch, k=K)
    except TooManyHeldError as problem:
        if problem.coarser is not None:
            told += f" (anew {len(batch) - problem.coarser.held}, {problem.coarser.value_loss:.3f})"
    except GuaranteeError:
        told += " (no coarser cut)"
    return told


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "whole")
