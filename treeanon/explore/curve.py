"""Loss against k: where the curve is asked for, and in which order its points come."""

from __future__ import annotations

import math
from dataclasses import dataclass

from treeanon.explore.settings import LARGEST_K
from treeanon.metrics import Losses
from treeanon.metrics.table import FlatLosses

KS = (2, 3, 5, 8, 12, 20, 35, 60, 100)


@dataclass(frozen=True)
class Point:
    """What is lost at a k: the loss of values from 0 to 1, and of trees the share of relations lost.

    `loss` is None where the guarantee cannot be reached.
    """

    k: int
    loss: float | None
    relations: float | None = None

    @classmethod
    def of(cls, k: int, losses: Losses | FlatLosses) -> Point:
        """The point that losses make at a k."""
        if isinstance(losses, Losses):
            return cls(k, losses.value_loss, 1 - losses.relations_kept)
        return cls(k, losses.gcp_taxonomy)


def ks_around(k: int, persons: int) -> list[int]:
    """The k for which the loss is worked out, that of the settings first and then the nearest ones.

    >>> ks_around(5, 30)
    [5, 8, 3, 12, 2, 20]
    """
    known = [one for one in {*KS, k} if one <= min(persons, LARGEST_K) or one == k]
    return sorted(known, key=lambda one: (abs(math.log(one / k)), one))
