"""GCS(g), greedy cut search: from {*} down, the g cheapest cuts of each step are specialized further.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section
III-D.
"""

from __future__ import annotations

import threading
from functools import partial

from treeanon.algorithms.tree.published.acs import Closed, Closing
from treeanon.algorithms.tree.published.candidates import Candidates, Choose
from treeanon.algorithms.tree.published.choosing import Asked, Scopes, searched
from treeanon.algorithms.tree.solution import Result
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.privacy import Guarantee
from treeanon.progress import Progress


def search(
    forest: Forest,
    guarantee: Guarantee,
    *,
    g: int = 2,
    closed: Closed = "values",
    scope: Scopes | None = None,
    choose: Choose | None = None,
    stricter: bool = False,
    budget: float | None = None,
    finish: threading.Event | None = None,
    progress: Progress | None = None,
) -> Result:
    """Return the best cut of those that GCS(g) comes to (see `choosing`), with the disassociations of FixStructure.

    All cuts that pass at a step are one pool, whichever parent they come from; of equally cheap ones the first stay.
    A step's best may cost more than its parent (disassociations can raise RPDa), so the best cut need not be a last.
    """
    asked = Asked(scope, choose, stricter, budget, finish, progress)
    steps = partial(walk, g=g, closed=closed)
    return searched("gcs", forest, guarantee, asked, steps, repairs=(True, False), g=g, closed=closed)


def walk(candidates: Candidates, g: int, closed: Closed) -> None:
    """Go down with a beam of g cuts until none of them can be specialized; `candidates.leading` are what was found."""
    if g < 1:
        raise UsageError("g must be at least 1")
    closing = Closing(candidates, closed)
    beam = [candidates.root]
    while beam and not candidates.limit.reached():
        pool = [child for children in closing.expand(beam) for child in children]
        beam = sorted(pool, key=lambda candidate: candidate.cost)[:g]
