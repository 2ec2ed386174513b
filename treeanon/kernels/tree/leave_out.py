"""Which nodes of a forest are left out: those below, or beside, a node that a rule names."""

from __future__ import annotations

import numpy as np

from treeanon.arrays import Flags, Ints, Longs
from treeanon.kernels.jit import njit


@njit
def left_out_nodes(offsets: Longs, parent: Ints, label: Ints, rules_of: Longs, triggers: Ints) -> Flags:
    """The nodes that are left out, each with all that lies below it.

    The triggers of the rules that leave out label x are triggers[rules_of[x]:rules_of[x + 1]]. A node is left out where
    one of them labels a node above it or a node with the same parent. Parents come before their children, as in any
    canonical forest.
    """
    out = np.zeros(len(label), np.bool_)
    for r in range(len(offsets) - 1):
        base = offsets[r]
        for i in range(base, offsets[r + 1]):
            up = parent[i]
            if up >= 0 and out[base + up]:
                out[i] = True
                continue
            for rule in range(rules_of[label[i]], rules_of[label[i] + 1]):
                trigger = triggers[rule]
                above = up
                while above >= 0 and label[base + above] != trigger:
                    above = parent[base + above]
                if above >= 0:
                    out[i] = True
                    break
                # Siblings: no trigger of these rules is left out itself, as all are of one class.
                for j in range(base, offsets[r + 1]):
                    if parent[j] == up and label[j] == trigger:
                        out[i] = True
                        break
                if out[i]:
                    break
    return out
