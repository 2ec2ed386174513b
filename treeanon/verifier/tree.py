"""An independent check of k^(m,n)-anonymity: its own counting, from published trees alone.

The guarantee is that of O. Gkountouna and M. Terrovitis, "Anonymizing collections of tree-structured data" (IEEE TKDE
2015), Section II-C, with l-diversity (Section III-F) and negative knowledge (Section III-G).

The part of the check that looks at groups one by one: the joint attacker, diversity, and which patterns fail.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product

import numpy as np

from treeanon.arrays import Ints, Longs
from treeanon.errors import UsageError
from treeanon.forest import Forest
from treeanon.forest.classes import STAR
from treeanon.forest.planting import merged
from treeanon.kernels.verify.counting import KEYS, NOBODY
from treeanon.kernels.verify.groups import group_failures
from treeanon.kernels.verify.knowledge import holders_of, nodes_of_items
from treeanon.kernels.verify.supports import count_pairs, least_support
from treeanon.privacy.guarantee import TREE_DIVERSITY, Attacker, Diversity, Guarantee, Roles, roles_of
from treeanon.progress import Progress
from treeanon.verifier.tree_knowledge import ABSENT, Rows, are_few_pairs, readings, rows_of
from treeanon.verifier.verdict import Diverse, Failure, Verdict, in_parts

_MOST_BITS = 31
"""So many relations of a set of labels can be told apart."""

_Pattern = tuple[tuple[str, ...], tuple[tuple[str, ...], ...], str]


class Groups:
    """All groups of persons that an attacker of a guarantee can form."""

    def __init__(
        self,
        rows: Rows,
        forest: Forest,
        requested: Guarantee,
        roles: Roles,
        jobs: int,
        progress: Progress | None,
        *,
        joint: bool,
    ) -> None:
        self.rows, self.forest, self.requested, self.roles = rows, forest, requested, roles
        self.jobs, self.progress, self.joint = jobs, progress, joint

    def failing(self, *, every: bool) -> tuple[int | None, tuple[Diverse, ...], tuple[Failure, ...]]:
        """Return the least persons of a group, the diversity of the groups, and the patterns that fail.

        Without `every` only the largest combinations of each person are looked at: enough to decide, except for the
        frequency of values.
        """
        rows, requested, forest = self.rows, self.requested, self.forest
        begin, holder, place, work = holders_of(rows.start, rows.item, rows.items, requested.m)
        types = forest.classes.types
        if self.joint:
            node_begin, nodes = nodes_of_items(
                forest.offsets, forest.label, rows.code, rows.labels, rows.start, rows.item, rows.known, rows.record
            )
        else:
            node_begin, nodes = np.zeros(1, np.int64), np.zeros(0, np.int32)
        classes = self.roles.sensitive if requested.l > 1 else ()

        def count_failing(firsts: Ints) -> tuple[int, np.ndarray, Longs]:
            diverse = np.full(len(classes), NOBODY, np.int64)
            least, table = group_failures(
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
                rows.side,
                rows.deniable,
                firsts,
                requested.m,
                requested.n,
                requested.k,
                self.joint,
                requested.l,
                requested.diversity == "frequency",
                every,
                diverse,
                forest.label,
                types,
                rows.kinds,
            )
            return least, table[table[:, KEYS] > 0], diverse

        found = in_parts(count_failing, work, self.jobs, self.progress)
        least = min((part[0] for part in found), default=NOBODY)
        return (
            None if least == NOBODY else least,
            self._diversity([part[2] for part in found]),
            self._failures([part[1] for part in found]),
        )

    def _diversity(self, parts: list[Longs]) -> tuple[Diverse, ...]:
        out = []
        for number, sensitive in enumerate(self.roles.sensitive if self.requested.l > 1 else ()):
            least = min((int(part[number]) for part in parts), default=NOBODY)
            known = None if least == NOBODY else max(least, 1)
            out.append(Diverse(self.forest.classes.names[sensitive], known is None or known >= self.requested.l, known))
        return tuple(out)

    def _failures(self, tables: list[np.ndarray]) -> tuple[Failure, ...]:
        counts: Counter[_Pattern] = Counter()
        least: dict[_Pattern, int] = {}
        for table in tables:
            for a, b, c, d, combinations, persons in table.tolist():
                pattern = self._pattern(a, b, c, d)
                counts[pattern] += combinations
                least[pattern] = min(least.get(pattern, persons), persons)
        order = sorted(counts, key=lambda p: (bool(p[2]), len(p[0]), len(p[1]), least[p], -counts[p], p))
        return tuple(Failure(p[0], p[1], counts[p], least[p], p[2]) for p in order)

    def _pattern(self, a: int, b: int, c: int, d: int) -> _Pattern:
        """Return the classes, class relations and sensitive class of a line of the kernel's table.

        A relation that is known not to be there has "not" before its lower class.
        """
        depth, kinds = (c >> 32) & 15, self.rows.kinds
        groups = [(a >> 16 * i if i < 4 else b >> 16 * (i - 4)) & 0xFFFF for i in range(depth)]
        related = []
        for j in range(depth):
            for kind, i in product(range(kinds), range(j)):
                bit = kinds * (j * (j - 1) // 2) + kind * j + i
                if ((c | d) >> bit) & 1:
                    # Classes are numbered from the top of their tree down.
                    upper, lower = sorted((groups[i], groups[j]))
                    denied = ABSENT if (d >> bit) & 1 else 0
                    related.append((self._name(upper), self._name(lower | denied), *self._type(upper, kind)))
        kind = c >> 36
        sensitive = self.forest.classes.names[self.roles.sensitive[kind - 1]] if kind else ""
        return tuple(self._name(group) for group in sorted(groups)), tuple(sorted(related)), sensitive

    def _type(self, group: int, kind: int) -> tuple[str, ...]:
        """Return the type of the objects that a relation of a kind speaks of, where objects stay whole."""
        classes = self.forest.classes
        return (classes.names[classes.type_of(group - 1, kind)],) if classes.types else ()

    def _name(self, group: int) -> str:
        index = group & (ABSENT - 1)
        name = self.forest.classes.names[index - 1] if index else STAR
        return f"not {name}" if group & ABSENT else name


def verify(
    forest: Forest,
    guarantee: Guarantee | None = None,
    *,
    k: int | None = None,
    m: int = 2,
    n: int = 1,
    attacker: Attacker = "independent",
    l: int = 1,  # noqa: E741 - its name in the literature
    diversity: Diversity = TREE_DIVERSITY,
    negative: str | Sequence[str] = (),
    as_published: bool = False,
    patterns: bool = True,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Check whether trees satisfy a guarantee, given whole or by its parts, and find the largest k that holds.

    Counts every combination of labels and relations that somebody holds, exactly and without the searches' structures.
    Traces of moved nodes count as relations, so that what is known of the original is hidden, too; `as_published` asks
    for TREE's own definition, without them. The verdict says the largest k of both.
    `patterns=False` leaves out what fails in detail. `jobs` is the number of threads (default: all cores).

    >>> import treeanon as ta
    >>> schema = ta.Schema.loads('''
    ... version = 1
    ... [input]
    ... format = "trees"
    ... [[class]]
    ... name = "disease"
    ... ''')
    >>> flu, asthma = ["disease", "Flu", []], ["disease", "Asthma", []]
    >>> verdict = verify(ta.Forest.from_records(schema, [[flu], [flu], [flu, asthma]]), k=2)
    >>> verdict.holds, verdict.largest_k
    (False, 1)
    """
    requested = _requested(guarantee, k, m, n, attacker, l, diversity, negative, as_published)
    jobs = jobs or os.cpu_count() or 1
    forest = as_counted(forest, requested)
    refuse_too_many_kinds(forest, requested)
    traced = readings(forest)
    # Traces are counted by putting them into the trees, as relations.
    if requested.as_published or not traced:
        found = _verdict(forest, requested, patterns, jobs, progress)
        others = [_verdict(other, requested, False, jobs, None) for other in traced]
        original = min(others, key=_least).largest_k if traced else found.largest_k
        return replace(found, published_k=found.largest_k, original_k=original)
    published = _verdict(forest, requested, False, jobs, None)
    found = min((_verdict(other, requested, patterns, jobs, progress) for other in traced), key=_strength)
    return replace(found, published_k=published.largest_k, original_k=found.largest_k)


def _strength(verdict: Verdict) -> tuple[bool, float]:
    """Return what orders verdicts, the worst first."""
    return verdict.holds, _least(verdict)


def _least(verdict: Verdict) -> float:
    return math.inf if verdict.largest_k is None else verdict.largest_k


def as_counted(forest: Forest, guarantee: Guarantee) -> Forest:
    """Return the trees in which a guarantee is counted: merged ones where releases that keep it are made of these."""
    if guarantee.of_merged_trees and forest.schema.input.objects_open and forest.classes.types:
        return merged(forest)
    return forest


def _verdict(forest: Forest, requested: Guarantee, patterns: bool, jobs: int, progress: Progress | None) -> Verdict:
    """Return the verdict on trees by the relations that they hold."""
    begun = time.perf_counter()
    roles = roles_of(forest, requested)
    joint = has_joint_groups(requested)
    rows = rows_of(forest, requested, roles, apart=joint)
    least, sets = _least_support(rows, requested.m, requested.n, jobs, progress)
    found: tuple[Diverse, ...] = ()
    if joint or requested.l > 1:
        groups = Groups(rows, forest, requested, roles, jobs, progress, joint=joint)
        every = requested.diversity == "frequency" and requested.l > 1
        below, found, _ = groups.failing(every=every)
        least = min(least, below) if least is not None and below is not None else least
    holds = (least is None or least >= requested.k) and all(result.holds for result in found)
    failures: tuple[Failure, ...] = ()
    if patterns and not holds:
        failures = Groups(rows, forest, requested, roles, jobs, progress, joint=joint).failing(every=True)[2]
    return Verdict(requested, holds, least, len(forest), sets, failures, found, time.perf_counter() - begun)


def has_joint_groups(guarantee: Guarantee) -> bool:
    """Return whether the same nodes can witness less than any nodes do.

    That takes two relations of three labels, or one that is known not to be there: below one of two nodes.
    """
    enough = guarantee.m > 2 and guarantee.n > 1
    if guarantee.negative:
        enough = guarantee.m > 1 and guarantee.n > 0
    return guarantee.attacker == "joint" and enough


def refuse_too_many_kinds(forest: Forest, guarantee: Guarantee) -> None:
    """Raise UsageError for what whole objects are not checked for."""
    if forest.classes.types and guarantee.of_merged_trees:
        raise UsageError(f'{guarantee.of_merged_trees}; use objects = "merged" in [input]')
    kinds, pairs = forest.classes.kinds, guarantee.m * (guarantee.m - 1) // 2
    if kinds * pairs > _MOST_BITS:
        raise UsageError(
            f"m = {guarantee.m} is more than can be checked of objects in objects, {kinds} deep;"
            f" the largest is {max(m for m in range(2, 9) if kinds * (m * (m - 1) // 2) <= _MOST_BITS)}"
        )


def _requested(
    guarantee: Guarantee | None,
    k: int | None,
    m: int,
    n: int,
    attacker: Attacker,
    l: int,  # noqa: E741
    diversity: Diversity,
    negative: str | Sequence[str],
    as_published: bool,
) -> Guarantee:
    if guarantee is not None:
        if k is not None:
            raise UsageError("give a guarantee or its parts, not both")
        return guarantee
    if k is None:
        raise UsageError("k is required: the least number of persons behind every combination")
    classes = (negative,) if isinstance(negative, str) else tuple(negative)
    return Guarantee(k, m, n, attacker, l, diversity, classes, as_published)


_FEW_ROWS = 10_000


def _least_pair(rows: Rows, m: int, n: int, jobs: int, progress: Progress | None) -> tuple[int | None, int]:
    """Return the same of up to two labels that are known, and up to one relation."""
    jobs = max(min(jobs, len(rows) // _FEW_ROWS), 1)
    bounds = [len(rows) * part // jobs for part in range(jobs + 1)]

    def counted(first: int, stop: int) -> np.ndarray:
        content = rows.start, rows.item, rows.rel_start, rows.rel, rows.weight
        return count_pairs(*content, rows.items, rows.kinds, first, stop)

    table = np.zeros((rows.items, rows.items, 1 + rows.kinds), np.int32)
    with ThreadPoolExecutor(jobs) as pool:
        for done, part in enumerate(pool.map(counted, bounds[:-1], bounds[1:]), 1):
            table += part
            if progress is not None:
                progress(done, jobs)
    held, alone = table.diagonal()[:2].astype(np.int64)
    shared = np.triu(table[:, :, 0], 1)
    related = np.triu(table[:, :, 1:].transpose(2, 0, 1), 1) if n else shared
    found = [held, shared, related] if m == 2 else [held]
    least = min((int(counts.min(where=counts > 0, initial=NOBODY)) for counts in found), default=NOBODY)
    sets = np.count_nonzero(alone) + np.count_nonzero(shared) if m == 2 else np.count_nonzero(held)
    return (None if least == NOBODY else least), int(sets)


def _least_support(rows: Rows, m: int, n: int, jobs: int, progress: Progress | None) -> tuple[int | None, int]:
    """Return the least persons behind a combination that anybody holds, and the label sets examined."""
    # Absences are items beyond the labels.
    positive = rows.items == rows.labels and not rows.deniable.any()
    if positive and are_few_pairs(rows.items, rows.kinds, m, n):
        return _least_pair(rows, m, n, jobs, progress)
    begin, holder, place, work = holders_of(rows.start, rows.item, rows.items, m)
    shared = np.array([NOBODY], np.int64)

    def counted(firsts: Ints) -> tuple[int, int]:
        return least_support(
            rows.start,
            rows.item,
            rows.known,
            rows.rel_start,
            rows.rel,
            rows.weight,
            begin,
            holder,
            place,
            firsts,
            rows.side,
            rows.deniable,
            m,
            n,
            shared,
            rows.kinds,
        )

    found = in_parts(counted, work, jobs, progress)
    best = min((least for least, _ in found), default=NOBODY)
    return (None if best == NOBODY else best), sum(sets for _, sets in found)
