"""OCS, OnlyCutSearch: GCS(g) in which a cut that fails StructureCheck is dead, so that no relation is disassociated.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section IV,
where it is compared with. The specializations of a dead cut are dead with it. Without disassociation that loses nothing
for n ≤ 1; for n ≥ 2 a finer cut may hold where a coarser one does not (two nodes of one label can witness two
relations, and part).
"""

from __future__ import annotations

import threading
from functools import partial

from treeanon.algorithms.tree.published.acs import Closed
from treeanon.algorithms.tree.published.candidates import Choose
from treeanon.algorithms.tree.published.choosing import Asked, Scopes, searched
from treeanon.algorithms.tree.published.gcs import walk
from treeanon.algorithms.tree.solution import Result
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
    """Return the best cut (see `choosing`) that a beam of g comes to and that needs no disassociation."""
    asked = Asked(scope, choose, stricter, budget, finish, progress)
    steps = partial(walk, g=g, closed=closed)
    return searched("ocs", forest, guarantee, asked, steps, repairs=(False,), g=g, closed=closed)
