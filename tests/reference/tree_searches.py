"""ACS, GCS and OCS in the most obvious way: nested lists, every cut projected and counted anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, permutations

from tests.reference import trees as slow
from tests.reference.guarantee import Denials, held_jointly, nodes_of, related
from tests.reference.trees import Label, Tree

STAR: Label = ("*", "*")
Pair = tuple[Label, Label]
Cut = frozenset[Label]


@dataclass(frozen=True)
class Problem:
    """Records, hierarchies and what is asked for. `nodes` are all nodes of all hierarchies, in order."""

    records: Sequence[Tree]
    parents: dict[str, dict[str, str]]
    nodes: Sequence[Label]
    known: frozenset[str]
    k: int
    m: int
    n: int
    joint: bool = False
    scope: str = "class"

    def kids(self, node: Label) -> list[Label]:
        if node == STAR:
            return [x for x in self.nodes if x[0] in self.known and x[1] not in self.parents[x[0]]]
        return [x for x in self.nodes if x[0] == node[0] and self.parents[x[0]].get(x[1]) == node[1]]

    def order(self, label: Label) -> int:
        return -1 if label == STAR else self.nodes.index(label)

    def depth(self, label: Label) -> int:
        steps, value = 0, label[1]
        while label != STAR and value in self.parents[label[0]]:
            steps, value = steps + 1, self.parents[label[0]][value]
        return steps

    def level(self, label: Label) -> int:
        """|C(u)|."""
        if label == STAR:
            return 1
        return sum(
            self.depth(x) == self.depth(label) and (self.scope == "hierarchy" or x[0] == label[0]) for x in self.nodes
        )

    def project(self, cut: Cut) -> list[Tree]:
        if STAR in cut:
            return [slow.projected_to_star(record) for record in self.records]
        chosen = {name: [x[1] for x in cut if x[0] == name] for name in self.known}
        return [slow.projected(record, self.parents, chosen) for record in self.records]


@dataclass(frozen=True)
class Facts:
    """What one record holds."""

    record: Tree
    labels: frozenset[Label]
    pairs: frozenset[Pair]


def facts_of(records: Iterable[Tree]) -> list[Facts]:
    found = []
    for record in records:
        nodes = nodes_of(record)
        pairs = frozenset((a.label, b.label) for a in nodes for b in nodes if related(a, b))
        found.append(Facts(record, frozenset(node.label for node in nodes), pairs))
    return found


def support(facts: Iterable[Facts], labels: Iterable[Label], pairs: Iterable[Pair]) -> int:
    wanted, related_pairs = set(labels), set(pairs)
    return sum(wanted <= fact.labels and related_pairs <= fact.pairs for fact in facts)


def labels_of(problem: Problem, facts: Iterable[Facts]) -> list[Label]:
    found = {label for fact in facts for label in fact.labels}
    return sorted((x for x in found if x == STAR or x[0] in problem.known), key=problem.order)


def value_check(problem: Problem, records: list[Tree]) -> bool:
    facts = facts_of(records)
    return all(
        not 0 < support(facts, chosen, []) < problem.k
        for size in range(1, problem.m + 1)
        for chosen in combinations(labels_of(problem, facts), size)
    )


def fails(problem: Problem, facts: list[Facts], labels: Sequence[Label], pairs: Sequence[Pair]) -> bool:
    if 0 < support(facts, labels, pairs) < problem.k:
        return True
    if not problem.joint:
        return False
    wanted = (frozenset(labels), frozenset(pairs))
    jointly = sum(
        wanted in held_jointly(fact.record, len(labels), len(pairs), problem.known, Denials.of((), (), None))
        for fact in facts
        if support([fact], labels, pairs)
    )
    return 0 < jointly < problem.k


def combinations_in_order(
    problem: Problem, labels: Sequence[Label]
) -> Iterator[tuple[tuple[Label, ...], tuple[Pair, ...]]]:
    for size in range(2, problem.m + 1):
        for chosen in combinations(labels, size):
            pairs = list(permutations(chosen, 2))
            for number in range(1, problem.n + 1):
                for some in combinations(pairs, number):
                    yield chosen, some


def fix_structure(
    problem: Problem, records: list[Tree], repair: bool = True, most_passes: int | None = None
) -> list[Pair] | None:
    """The disassociations, which are made in `records`; None if they were needed and must not be made."""
    made: list[Pair] = []
    facts = facts_of(records)
    labels = labels_of(problem, facts)
    passes = 0
    while True:
        before = len(made)
        for chosen, pairs in combinations_in_order(problem, labels):
            left = list(pairs)
            while left and fails(problem, facts, chosen, left):
                if not repair:
                    return None
                pair = min((p for p in left if support(facts, [], [p])), key=lambda p: support(facts, [], [p]))
                records[:] = [slow.disassociated(record, *pair) for record in records]
                facts = facts_of(records)
                made.append(pair)
                left.remove(pair)
        passes += 1
        if len(made) == before or passes == most_passes:
            return made


def rpda(problem: Problem, records: Sequence[Tree]) -> float:
    paths: dict[tuple[Label, ...], int] = {}
    for record in records:
        for path in set(slow.paths(slow.merged(record))):
            paths[path] = paths.get(path, 0) + 1
    leaves = [path for path in paths if not any(len(p) > len(path) and p[: len(path)] == path for p in paths)]
    total = Fraction(0)
    for leaf in leaves:
        product = 1
        for i, label in enumerate(leaf):
            product *= (i + 1) * problem.level(label)
        total += Fraction(sum(paths[leaf[: i + 1]] for i in range(len(leaf))), product)
    return float(f"{float(total / len(leaves) / len(paths)):.12g}") if leaves else 0.0


def rpd(problem: Problem, records: Sequence[Tree]) -> float:
    total = Fraction(0)
    for record in records:
        paths = set(slow.paths(slow.merged(record)))
        leaves = [path for path in paths if not any(len(p) > len(path) and p[: len(path)] == path for p in paths)]
        for leaf in leaves:
            product = 1
            for i, label in enumerate(leaf):
                product *= (i + 1) * problem.level(label)
            total += Fraction(1, product * len(leaves))
    return float(f"{float(total / len(records)):.12g}")


@dataclass
class State:
    cut: Cut
    cost: float
    worth: float
    moves: list[Pair] = field(default_factory=list)
    node: Label = STAR
    closed: frozenset[Label] = frozenset()


class Search:
    """One search; `best` is None if not even the cut {*} holds."""

    def __init__(self, problem: Problem, closed: str, repair: bool, choose: str) -> None:
        self.problem, self.closed, self.repair, self.choose = problem, closed, repair, choose
        self.seen: set[Cut] = set()
        self.best: State | None = None

    def evaluate(self, cut: Cut, node: Label, closed: frozenset[Label]) -> tuple[State | None, bool]:
        """The cut with its cost, if it passes; and whether its values pass."""
        records = self.problem.project(cut)
        if not value_check(self.problem, records):
            return None, False
        moves = fix_structure(self.problem, records, self.repair)
        if moves is None:
            return None, True
        cost = rpda(self.problem, records)
        # reports count the levels of a class, whatever scope has guided the search
        worth = cost if self.choose == "rpda" else rpd(replace(self.problem, scope="class"), records)
        state = State(cut, cost, worth, moves, node, closed)
        if self.best is None or state.worth < self.best.worth:
            self.best = state
        return state, True

    def expand(self, parent: State) -> list[State]:
        children = []
        rejected = set()
        for node in sorted(parent.cut, key=self.problem.order):
            kids = self.problem.kids(node)
            if not kids or node in parent.closed:
                continue
            cut = parent.cut - {node} | set(kids)
            if self.closed == "cuts" and cut in self.seen:
                continue
            self.seen.add(cut)
            child, values_pass = self.evaluate(cut, node, parent.closed)
            if child is not None:
                children.append(child)
            elif values_pass:
                rejected.add(node)
        children.sort(key=lambda child: child.cost)
        for i, child in enumerate(children):
            cheaper = {other.node for other in children[:i]} if self.closed == "values" else set()
            child.closed |= rejected | cheaper
        return children

    def all_cuts(self, state: State) -> None:
        for child in self.expand(state):
            self.all_cuts(child)

    def beam(self, root: State, g: int) -> None:
        states = [root]
        while states:
            pool = [child for state in states for child in self.expand(state)]
            states = sorted(pool, key=lambda state: state.cost)[:g]


def search(
    problem: Problem, algorithm: str, *, g: int = 2, closed: str = "values", choose: str = "rpda"
) -> State | None:
    """The best cut that the search comes to; None if not even {*} holds."""
    found = Search(problem, closed, algorithm != "ocs", choose)
    root, _ = found.evaluate(frozenset({STAR}), STAR, frozenset())
    if root is None:
        return None
    if algorithm == "acs":
        found.all_cuts(root)
    else:
        found.beam(root, g)
    return found.best
