"""GCS(g), greedy cut search: from {*} down, the g cheapest cuts of each step are specialized further.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section
III-D.
"""

from __future__ import annotations

from treeanon.algorithms.tree.published.candidates import Candidates, Closed, Closing
from treeanon.algorithms.tree.solution import Result
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.metrics.values import Scope
from treeanon.privacy import Guarantee
from treeanon.progress import Progress


def search(
    forest: Forest,
    guarantee: Guarantee,
    *,
    g: int = 2,
    closed: Closed = "values",
    scope: Scope = "class",
    progress: Progress | None = None,
) -> Result:
    """Return the cut with the least RPDa of those that GCS(g) comes to, with the disassociations of FixStructure for
    it.

    All cuts that pass at a step are one pool, whichever parent they come from; of equally cheap ones the first stay.
    A step's best may cost more than its parent (disassociations can raise RPDa), so the best cut need not be a last.
    """
    candidates = Candidates(forest, guarantee, scope, progress=progress)
    walk(candidates, g, closed)
    return candidates.found("gcs", g=g, closed=closed)


def walk(candidates: Candidates, g: int, closed: Closed) -> None:
    """Go down with a beam of g cuts until none of them can be specialized; `candidates.best` is what was found."""
    if g < 1:
        raise UsageError("g must be at least 1")
    closing = Closing(candidates, closed)
    beam = [candidates.root]
    while beam:
        pool = [child for children in closing.expand(beam) for child in children]
        beam = sorted(pool, key=lambda candidate: candidate.cost)[:g]
