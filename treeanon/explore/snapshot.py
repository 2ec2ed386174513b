"""What is looked at for one setting: the release of the sample, some records before and after, the loss, the risk.

The functions here run in the process of a `Worker`, which keeps the last releases.

Loss against k: where the curve is asked for, and in which order its points come.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Literal

from treeanon.explore.settings import LARGEST_K, LARGEST_M, LARGEST_N, ExploredData, Settings
from treeanon.explore.worker import Check
from treeanon.forest import Forest
from treeanon.metrics import Losses
from treeanon.metrics.table import FlatLosses
from treeanon.previews.preview import Preview, in_terms_of, preview_of
from treeanon.release import Release, TableRelease, fulfill, fulfill_table
from treeanon.risks import Risk
from treeanon.risks.tables import risk_of_table
from treeanon.risks.trees import risk_of_trees
from treeanon.table import Table
from treeanon.verifier.freeform import FreeformVerdict

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


Choice = Literal["typical", "worst"] | tuple[int, ...]
"""Which records of the sample are shown: chosen by the release, or those of these numbers."""

RISK_SECONDS = 0.5
_KEPT = 40


@dataclass
class ReleaseCache:
    """What the worker has before it: the ground, and the releases made of it last."""

    ground: ExploredData
    releases: OrderedDict[Settings, tuple[Release | TableRelease, float]] = field(default_factory=OrderedDict)

    def release(self, settings: Settings, check: Check) -> tuple[Release | TableRelease, float]:
        """The release that settings ask for, made if it was not kept, and the seconds that making it took."""
        if settings in self.releases:
            self.releases.move_to_end(settings)
            return self.releases[settings]
        data, begun = self.ground.data, time.perf_counter()
        if isinstance(data, Forest):
            made: Release | TableRelease = fulfill(settings.request(), data, check)
        else:
            made = fulfill_table(settings.table_request(), data)
        self.releases[settings] = made, time.perf_counter() - begun
        if len(self.releases) > _KEPT:
            self.releases.popitem(last=False)
        return self.releases[settings]


@dataclass(frozen=True)
class Outcome:
    """What settings come to on the sample; `numbers` are those of the records shown, in the sample.

    The search took so many `seconds`, its checks included.
    """

    settings: Settings
    preview: Preview
    numbers: tuple[int, ...]
    seconds: float


def outcome(desk: ReleaseCache, check: Check, settings: Settings, choice: Choice) -> Outcome:
    """The outcome of settings, with the records that the choice says, numbered as in the input."""
    release, seconds = desk.release(settings, check)
    check()
    ground = desk.ground
    wanted = choice if isinstance(choice, tuple) else ()
    found = preview_of(ground.data, release, worst=choice == "worst", numbers=wanted)
    numbers = tuple(change.number for change in found.changes)
    told = found if ground.of is None else in_terms_of(found, ground.records, ground.of)
    return Outcome(settings, told, numbers, seconds)


def risk_before(desk: ReleaseCache, check: Check, k: int) -> Risk:
    """Who can be singled out in the sample as it is."""
    return _risk(desk.ground.data, k, check)


def risk_after(desk: ReleaseCache, check: Check, settings: Settings) -> Risk | None:
    """Who can be singled out in the release of the sample; None where rows need not look alike for it to hold."""
    release, _ = desk.release(settings, check)
    if isinstance(release.verdict, FreeformVerdict):
        return None
    return _risk(release.forest if isinstance(release, Release) else release.table, settings.k, check)


def _risk(data: Forest | Table, k: int, check: Check) -> Risk:
    if isinstance(data, Forest):
        return risk_of_trees(data, k=k, m=LARGEST_M, n=LARGEST_N, seconds=RISK_SECONDS, progress=check)
    return risk_of_table(data, k=k, m=LARGEST_M, seconds=RISK_SECONDS, progress=check)


def point(desk: ReleaseCache, check: Check, settings: Settings) -> Point:
    """The point of the curve at the k of the settings."""
    return Point.of(settings.k, desk.release(settings, check)[0].loss)
