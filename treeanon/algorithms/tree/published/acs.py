"""ACS, all cuts search: every cut once, from {*} down, except below cuts that fail ValueCheck.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section
III-C, Algorithm 4.
"""

from __future__ import annotations

from treeanon.algorithms.tree.published.candidates import Candidate, Candidates, Closed, Closing
from treeanon.algorithms.tree.solution import Result
from treeanon.forest import Forest
from treeanon.metrics.values import Scope
from treeanon.privacy import Guarantee
from treeanon.progress import Progress


def search(
    forest: Forest,
    guarantee: Guarantee,
    *,
    closed: Closed = "values",
    scope: Scope = "class",
    progress: Progress | None = None,
) -> Result:
    """Return the cut with the least RPDa of all that pass, with the disassociations that FixStructure makes for it.

    The number of cuts grows exponentially: for small hierarchies, or much data that is rare. Both ways of closing
    visit the same cuts, in different orders: of equally cheap cuts the first wins.
    """
    candidates = Candidates(forest, guarantee, scope, progress=progress)
    closing = Closing(candidates, closed)
    # Depth first: the last one in is the first one out.
    waiting: list[Candidate] = [candidates.root]
    while waiting:
        [children] = closing.expand([waiting.pop()])
        waiting.extend(reversed(children))
    return candidates.found("acs", closed=closed)
