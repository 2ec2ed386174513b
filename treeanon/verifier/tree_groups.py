"""The part of the check that looks at groups one by one: the joint attacker, diversity, and which patterns fail."""

from __future__ import annotations

from collections import Counter

import numpy as np

from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.kernels.tree.forest import Ints, Longs
from treeanon.kernels.verify import groups as kernels
from treeanon.kernels.verify.counting import NOBODY
from treeanon.kernels.verify.knowledge import holders_of, nodes_of_items
from treeanon.privacy.guarantee import Guarantee, Roles
from treeanon.progress import Progress
from treeanon.verifier.tree_knowledge import ABSENT, Rows
from treeanon.verifier.verdict import Diverse, Failure
from treeanon.verifier.work import in_parts

_Pattern = tuple[tuple[str, ...], tuple[tuple[str, str], ...], str]


class Groups:
    """All groups of persons that an attacker of a guarantee can form."""

    def __init__(
        self,
        rows: Rows,
        forest: Forest,
        asked: Guarantee,
        roles: Roles,
        jobs: int,
        progress: Progress | None,
        *,
        joint: bool,
    ) -> None:
        self.rows, self.forest, self.asked, self.roles = rows, forest, asked, roles
        self.jobs, self.progress, self.joint = jobs, progress, joint

    def failing(self, *, every: bool) -> tuple[int | None, tuple[Diverse, ...], tuple[Failure, ...]]:
        """The least number of persons of a group, the diversity of the groups, and the patterns that fail.

        Without `every` only the largest combinations of each person are looked at: enough to decide, except for the
        frequency of values.
        """
        rows, asked, forest = self.rows, self.asked, self.forest
        begin, holder, place, work = holders_of(rows.start, rows.item, rows.items, asked.m)
        if self.joint:
            node_begin, nodes = nodes_of_items(
                forest.offsets, forest.label, rows.code, rows.labels, rows.start, rows.item, rows.known, rows.record
            )
        else:
            node_begin, nodes = np.zeros(1, np.int64), np.zeros(0, np.int32)
        classes = self.roles.sensitive if asked.l > 1 else ()

        def looked_at(firsts: Ints) -> tuple[int, np.ndarray, Longs]:
            diverse = np.full(len(classes), NOBODY, np.int64)
            least, table = kernels.group_failures(
                rows.start,
                rows.item,
                rows.known,
                rows.rel_start,
                rows.rel,
                rows.weight,
                begin,
                holder,
                place,
                rows.several,
                rows.record,
                node_begin,
                nodes,
                rows.held_start,
                rows.held,
                rows.held_class,
                forest.offsets,
                forest.parent,
                rows.group,
                firsts,
                asked.m,
                asked.n,
                asked.k,
                self.joint,
                asked.l,
                asked.diversity == "frequency",
                every,
                diverse,
            )
            return least, table[table[:, kernels.KEYS] > 0], diverse

        found = in_parts(looked_at, work, self.jobs, self.progress)
        least = min((part[0] for part in found), default=NOBODY)
        return (
            None if least == NOBODY else least,
            self._diversity([part[2] for part in found]),
            self._failures([part[1] for part in found]),
        )

    def _diversity(self, parts: list[Longs]) -> tuple[Diverse, ...]:
        out = []
        for number, sensitive in enumerate(self.roles.sensitive if self.asked.l > 1 else ()):
            least = min((int(part[number]) for part in parts), default=NOBODY)
            known = None if least == NOBODY else least
            out.append(Diverse(self.forest.classes.names[sensitive], known is None or known >= self.asked.l, known))
        return tuple(out)

    def _failures(self, tables: list[np.ndarray]) -> tuple[Failure, ...]:
        counts: Counter[_Pattern] = Counter()
        least: dict[_Pattern, int] = {}
        for table in tables:
            for a, b, c, combinations, persons in table.tolist():
                pattern = self._pattern(a, b, c)
                counts[pattern] += combinations
                least[pattern] = min(least.get(pattern, persons), persons)
        order = sorted(counts, key=lambda p: (bool(p[2]), len(p[0]), len(p[1]), least[p], -counts[p], p))
        return tuple(Failure(p[0], p[1], counts[p], least[p], p[2]) for p in order)

    def _pattern(self, a: int, b: int, c: int) -> _Pattern:
        """The class names, class relations and sensitive class that a line of the kernel's table speaks of."""
        depth = (c >> 28) & 15
        groups = [(a >> 16 * i if i < 4 else b >> 16 * (i - 4)) & 0xFFFF for i in range(depth)]
        related = []
        for j in range(depth):
            for i in range(j):
                if (c >> (j * (j - 1) // 2 + i)) & 1:
                    # Classes are numbered from the top of their tree down.
                    upper, lower = sorted((groups[i], groups[j]))
                    related.append((self._name(upper), self._name(lower)))
        kind = c >> 32
        sensitive = self.forest.classes.names[self.roles.sensitive[kind - 1]] if kind else ""
        return tuple(self._name(group) for group in sorted(groups)), tuple(sorted(related)), sensitive

    def _name(self, group: int) -> str:
        index = group & (ABSENT - 1)
        name = self.forest.classes.names[index - 1] if index else STAR
        return f"not {name}" if group & ABSENT else name
