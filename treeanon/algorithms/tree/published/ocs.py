"""OCS, OnlyCutSearch: GCS(g) in which a cut that fails StructureCheck is dead, so that no relation is disassociated.

After O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE 2015), Section IV,
where it is compared with. The specializations of a dead cut are dead with it. Without disassociation that loses nothing
for n ≤ 1; for n ≥ 2 a finer cut may hold where a coarser one does not (two nodes of one label can witness two
relations, and part).
"""

from __future__ import annotations

from treeanon.algorithms.tree.published.candidates import Candidates, Closed
from treeanon.algorithms.tree.published.gcs import walk
from treeanon.algorithms.tree.solution import Result
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
    """Return the cut with the least RPDa that a beam of g comes to and that needs no disassociation."""
    candidates = Candidates(forest, guarantee, scope, repair=False, progress=progress)
    walk(candidates, g, closed)
    return candidates.found("ocs", g=g, closed=closed)
