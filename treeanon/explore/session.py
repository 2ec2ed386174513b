"""One explorer's state: what was worked out so far, and the one look that is being worked at.

What is looked at for one setting: the release of the sample, some records before and after, the loss, the risk.

The functions here run in the process of a `Worker`, which keeps the last releases.

Loss against k: where the curve is asked for, and in which order its points come.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Literal

from treeanon.explore.settings import LARGEST_K, LARGEST_M, LARGEST_N, ExploredData, Settings
from treeanon.explore.worker import Check, Failed, Superseded, Task, Worker
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
        """Return the point that losses make at a k."""
        if isinstance(losses, Losses):
            return cls(k, losses.value_loss, 1 - losses.relations_kept)
        return cls(k, losses.gcp_taxonomy)


def ks_around(k: int, persons: int) -> list[int]:
    """Return the k for which the loss is worked out, that of the settings first and then the nearest ones.

    >>> ks_around(5, 30)
    [5, 8, 3, 12, 2, 20]
    """
    known = [one for one in {*KS, k} if one <= min(persons, LARGEST_K) or one == k]
    return sorted(known, key=lambda one: (abs(math.log(one / k)), one))


Choice = Literal["typical", "worst"] | tuple[int, ...]
"""Which records of the sample are shown: chosen by the release, or those of these numbers."""

RISK_SECONDS = 0.5
_MAX_RELEASES = 40


@dataclass
class ReleaseCache:
    """What the worker has before it: the ground, and the releases made of it last."""

    ground: ExploredData
    releases: OrderedDict[Settings, tuple[Release | TableRelease, float]] = field(default_factory=OrderedDict)

    def release(self, settings: Settings, check: Check) -> tuple[Release | TableRelease, float]:
        """Return the release that settings ask for, made if it was not kept, and the seconds that making it took."""
        if settings in self.releases:
            self.releases.move_to_end(settings)
            return self.releases[settings]
        data, begun = self.ground.data, time.perf_counter()
        if isinstance(data, Forest):
            made: Release | TableRelease = fulfill(settings.request(), data, check)
        else:
            made = fulfill_table(settings.table_request(), data)
        self.releases[settings] = made, time.perf_counter() - begun
        if len(self.releases) > _MAX_RELEASES:
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
    """Return the outcome of settings, with the records that the choice says, numbered as in the input."""
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
    """Return the point of the curve at the k of the settings."""
    return Point.of(settings.k, desk.release(settings, check)[0].loss)


_MAX_RESULTS = 400


@dataclass(frozen=True)
class OutcomeReady:
    """The release of the settings is there."""

    outcome: Outcome


@dataclass(frozen=True)
class RiskReady:
    """Who can be singled out in the sample as it is, and in its release (None: of that nothing can be said so)."""

    before: Risk
    after: Risk | None


@dataclass(frozen=True)
class CurveReady:
    """Points of the curve so far, in the order of k; `left` are still to come."""

    k: int
    points: tuple[Point, ...]
    left: int


@dataclass(frozen=True)
class Problem:
    """The settings, or a part of what is looked at, come to nothing, and why; no message holds a value of the data."""

    message: str
    part: Literal["all", "risk"] = "all"


@dataclass(frozen=True)
class Finished:
    """No more will come of this look: it is complete, or a newer one has taken its place."""

    complete: bool


Event = OutcomeReady | RiskReady | CurveReady | Problem | Finished


class Session:
    """Looks at settings, one at a time: a newer look ends the older one. Results are kept.

    `look` returns at once; what is found is told to `tell`, from another thread.
    """

    def __init__(self, ground: ExploredData) -> None:
        self.ground = ground
        self.worker = Worker(ReleaseCache, ground)
        self.worked = 0
        self._turn = 0
        self._aim: Hashable = None
        self._lock = threading.Lock()
        self._found: OrderedDict[Hashable, Any] = OrderedDict()
        self._typical: tuple[int, ...] | None = None

    def look(self, settings: Settings, choice: Choice, tell: Callable[[Event], None]) -> Callable[[], None]:
        """Begin a look, which ends the one before, unless that is for the same; returns what ends this one."""
        turn, wanted = self._begin((settings, choice))

        def end() -> None:
            with self._lock:
                if self._turn == turn:
                    self._aim = None

        threading.Thread(target=self._look, args=(settings, choice, tell, wanted), daemon=True).start()
        return end

    @property
    def busy(self) -> bool:
        """Whether somebody waits for a look."""
        return self._aim is not None

    def prepare(self, settings: Settings) -> None:
        """Begin to work at the first look before anybody has asked for it."""
        _, wanted = self._begin((settings, "typical"))

        def work() -> None:
            with contextlib.suppress(Failed, Superseded):
                self._outcome(settings, "typical", wanted)

        threading.Thread(target=work, daemon=True).start()

    def _begin(self, aim: Hashable) -> tuple[int, Callable[[], bool]]:
        """Return the number of a new look, and what tells whether it is still wanted."""
        with self._lock:
            self._turn += 1
            self._aim = aim
            return self._turn, lambda: self._aim == aim

    def close(self) -> None:
        """End everything."""
        with self._lock:
            self._aim = None
        self.worker.close()

    def _look(
        self, settings: Settings, choice: Choice, tell: Callable[[Event], None], wanted: Callable[[], bool]
    ) -> None:
        complete = False
        try:
            tell(OutcomeReady(self._outcome(settings, choice, wanted)))
            self._curve(settings, tell, wanted, missing=False)
            self._risk(settings, tell, wanted)
            self._curve(settings, tell, wanted, missing=True)
            complete = True
        except Failed as problem:
            tell(Problem(str(problem)))
            complete = True
        except Superseded:
            pass
        tell(Finished(complete))

    def _outcome(self, settings: Settings, choice: Choice, wanted: Callable[[], bool]) -> Outcome:
        # Typical records stay the same ones, so that it can be seen what a setting does to them.
        if choice == "typical" and self._typical is not None:
            choice = self._typical
        found: Outcome = self._kept((settings, choice), wanted, outcome, settings, choice)
        if choice == "typical":
            self._typical = found.numbers
        return found

    def _risk(self, settings: Settings, tell: Callable[[Event], None], wanted: Callable[[], bool]) -> None:
        try:
            before = self._kept(("risk", settings.k), wanted, risk_before, settings.k)
            tell(RiskReady(before, self._kept(("risk", settings), wanted, risk_after, settings)))
        except Failed as problem:
            tell(Problem(str(problem), "risk"))

    def _curve(
        self, settings: Settings, tell: Callable[[Event], None], wanted: Callable[[], bool], *, missing: bool
    ) -> None:
        """Report of the points of the curve that are known, or works out those that are missing, one by one."""
        ks = ks_around(settings.k, self.ground.persons)
        with self._lock:
            known = [k for k in ks if (settings.at(k), "point") in self._found]
        points = {k: self._point(settings.at(k), wanted) for k in known}
        for k in [k for k in ks if k not in points] if missing else [settings.k]:
            points[k] = self._point(settings.at(k), wanted)
            tell(CurveReady(settings.k, tuple(points[k] for k in sorted(points)), len(ks) - len(points)))

    def _point(self, settings: Settings, wanted: Callable[[], bool]) -> Point:
        try:
            found: Point = self._kept((settings, "point"), wanted, point, settings)
        except Failed:
            return Point(settings.k, None)
        return found

    def _kept(self, key: Hashable, wanted: Callable[[], bool], task: Task, *arguments: Any) -> Any:
        """What a task comes to, worked out once; that it comes to nothing is kept as well."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                kept = self._found[key]
                if isinstance(kept, Failed):
                    raise Failed(*kept.args)
                return kept
        try:
            found = self.worker.run(task, *arguments, wanted=wanted)
        except Failed as problem:
            if problem.lasting:
                self._keep(key, problem)
            raise
        self._keep(key, found)
        return found

    def _keep(self, key: Hashable, found: Any) -> None:
        with self._lock:
            self.worked += 1
            self._found[key] = found
            if len(self._found) > _MAX_RESULTS:
                self._found.popitem(last=False)
