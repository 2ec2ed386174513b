"""ACS, all cuts search: every cut once, from {*} down, except below cuts that fail ValueCheck.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section
III-C, Algorithm 4.
"""

from __future__ import annotations

import threading

from treeanon.algorithms.tree.published.candidates import Candidate, Candidates, Choose, Closed, Closing
from treeanon.algorithms.tree.published.choosing import Asked, Scopes, searched
from treeanon.algorithms.tree.solution import Result
from treeanon.forest import Forest
from treeanon.privacy import Guarantee
from treeanon.progress import Progress


def search(
    forest: Forest,
    guarantee: Guarantee,
    *,
    closed: Closed = "values",
    scope: Scopes | None = None,
    choose: Choose | None = None,
    stricter: bool = False,
    budget: float | None = None,
    finish: threading.Event | None = None,
    progress: Progress | None = None,
) -> Result:
    """Return the best cut of all that pass (see `choosing`), with the disassociations that FixStructure makes for it.

    The number of cuts grows exponentially: for small hierarchies, or much data that is rare. At the end of `budget`
    seconds, or when `finish` is set, it is the best of those seen so far; {*}, the first, always holds. Both ways of
    closing visit the same cuts, in different orders: of equally cheap cuts the first wins.
    """

    def walk(candidates: Candidates) -> None:
        closing = Closing(candidates, closed)
        # Depth first: the last one in is the first one out.
        waiting: list[Candidate] = [candidates.root]
        while waiting and not candidates.limit.reached():
            [children] = closing.expand([waiting.pop()])
            waiting.extend(reversed(children))

    asked = Asked(scope, choose, stricter, budget, finish, progress)
    return searched("acs", forest, guarantee, asked, walk, closed=closed)
