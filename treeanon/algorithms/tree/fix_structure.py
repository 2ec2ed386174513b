"""FixStructure (TREE, Algorithm 3): disassociates what StructureCheck finds until it finds nothing.

Where we differ. Algorithm 3 passes over the combinations once, although a disassociation can lower the support of
relations that were safe before; we repeat until a whole pass changes nothing. It checks only sets of m labels, we check
2, 3, …, m. Of the relations of a failing combination the one with the least support goes, as in the paper.
"""

from __future__ import annotations

from dataclasses import replace

from treeanon.algorithms.tree.structure_check import StructureCheck


def fix_structure(check: StructureCheck, lasting: int) -> int:
    """Disassociates until the tree of the check satisfies the guarantee; the number of passes that this took.

    The list of disassociations is `check.tree.moves`. Record sets numbered below `lasting` are not changed.
    """
    tree = check.tree
    passes = 0
    while True:
        start = len(tree.moves)
        passes += 1
        while failing := check.next():
            # Every relation goes once at most, so this ends; the tree without relations holds by ValueCheck.
            while failing.relations and check.fails(failing):
                rarest = min((r for r in failing.relations if check.support(r)), key=check.support)
                tree.disassociate(*rarest, check.space, lasting)
                failing = replace(failing, relations=tuple(r for r in failing.relations if r != rarest))
        if len(tree.moves) == start:
            return passes
        # What this pass counted before its last disassociation may have changed since.
        check.new_pass(start + 1)
