"""The state of an explorer: the results so far, and the settings being evaluated.

For each setting: the release of the sample, some records before and after, the loss, the risk, and the curve of loss
against k. The tasks run in the process of a `Worker`, which caches the last releases.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from treeanon.errors import UsageError
from treeanon.explore.settings import LARGEST_K, LARGEST_M, LARGEST_N, MOST_PINS, ExploredData, Pin, Settings
from treeanon.explore.worker import Check, Failed, Superseded, Task, Worker
from treeanon.forest import Forest
from treeanon.metrics import Losses
from treeanon.metrics.table import FlatLosses
from treeanon.previews.preview import Preview, in_terms_of, preview_of
from treeanon.release import PermutedRelease, Release, TableRelease, fulfill, fulfill_table
from treeanon.risks import Risk
from treeanon.risks.tables import risk_of_table
from treeanon.risks.trees import risk_of_trees
from treeanon.table import Table
from treeanon.verifier.freeform import FreeformVerdict

KS = (2, 3, 5, 8, 12, 20, 35, 60, 100)


@dataclass(frozen=True)
class Point:
    """The loss at a k: the loss of values from 0 to 1, and for trees the share of relations lost.

    `loss` is None if there is no release.
    """

    k: int
    loss: float | None
    relations: float | None = None

    @classmethod
    def of(cls, k: int, losses: Losses | FlatLosses) -> Point:
        """Return the point for the losses at a k."""
        if isinstance(losses, Losses):
            return cls(k, losses.value_loss, 1 - losses.relations_kept)
        return cls(k, losses.gcp_taxonomy)


def ks_around(k: int, persons: int) -> list[int]:
    """Return the values of k on the curve: that of the settings first, then the nearest ones.

    >>> ks_around(5, 30)
    [5, 8, 3, 12, 2, 20]
    """
    known = [one for one in {*KS, k} if one <= min(persons, LARGEST_K) or one == k]
    return sorted(known, key=lambda one: (abs(math.log(one / k)), one))


Choice = Literal["typical", "worst"] | tuple[int, ...]
"""The records of the sample to show: chosen by the release, or by number."""

RISK_SECONDS = 0.2
"""For the input and for the release each, so that both together take less than a second."""

_MAX_RELEASES = 40


@dataclass
class ReleaseCache:
    """The state of the worker: the explored data, and a cache of the last releases."""

    explored: ExploredData
    releases: OrderedDict[Settings, tuple[Release | TableRelease, float]] = field(default_factory=OrderedDict)

    def release(self, settings: Settings, check: Check) -> tuple[Release | TableRelease, float]:
        """Return the release for settings, from the cache or computed, and the seconds that it took."""
        if settings in self.releases:
            self.releases.move_to_end(settings)
            return self.releases[settings]
        data, begun = self.explored.data, time.perf_counter()
        if isinstance(data, Forest):
            made: Release | TableRelease = fulfill(settings.request(), data, check)
        else:
            made = fulfill_table(settings.table_request(), data)
        self.releases[settings] = made, time.perf_counter() - begun
        if len(self.releases) > _MAX_RELEASES:
            self.releases.popitem(last=False)
        return self.releases[settings]


def explore_other(cache: ReleaseCache, check: Check, explored: ExploredData) -> None:
    """Explore other data from now on."""
    cache.explored = explored
    cache.releases.clear()


@dataclass(frozen=True)
class Outcome:
    """The result of settings on the sample; `numbers` are the sample's numbers of the records shown.

    `seconds` is the time of the search and the check.
    """

    settings: Settings
    preview: Preview
    numbers: tuple[int, ...]
    seconds: float


def outcome(cache: ReleaseCache, check: Check, settings: Settings, choice: Choice) -> Outcome:
    """Return the outcome of settings, with the chosen records, numbered as in the input."""
    release, seconds = cache.release(settings, check)
    check()
    explored = cache.explored
    wanted = choice if isinstance(choice, tuple) else ()
    found = preview_of(explored.data, release, worst=choice == "worst", numbers=wanted)
    numbers = tuple(change.number for change in found.changes)
    preview = found if explored.of is None else in_terms_of(found, explored.records, explored.of)
    return Outcome(settings, preview, numbers, seconds)


def risk_before(cache: ReleaseCache, check: Check, k: int) -> Risk:
    """Return the risk of the sample."""
    return _risk(cache.explored.data, k, check)


def risk_after(cache: ReleaseCache, check: Check, settings: Settings) -> Risk | None:
    """Return the risk of the sample's release; None for freeform releases, whose rows need not be alike."""
    release, _ = cache.release(settings, check)
    if isinstance(release.verdict, FreeformVerdict):
        return None
    return _risk(release.forest if isinstance(release, Release) else release.table, settings.k, check)


def _risk(data: Forest | Table, k: int, check: Check) -> Risk:
    if isinstance(data, Forest):
        return risk_of_trees(data, k=k, m=LARGEST_M, n=LARGEST_N, seconds=RISK_SECONDS, progress=check)
    return risk_of_table(data, k=k, m=LARGEST_M, seconds=RISK_SECONDS, progress=check)


def point(cache: ReleaseCache, check: Check, settings: Settings) -> Point:
    """Return the point of the curve at the k of the settings."""
    return Point.of(settings.k, cache.release(settings, check)[0].loss)


_MAX_RESULTS = 400


@dataclass(frozen=True)
class OutcomeReady:
    """The release for the settings is ready."""

    outcome: Outcome


@dataclass(frozen=True)
class RiskReady:
    """The risks of the sample and of its release (None: not defined for it)."""

    before: Risk
    after: Risk | None


@dataclass(frozen=True)
class CurveReady:
    """The points of the curve so far, in the order of k; `left` points are missing."""

    k: int
    points: tuple[Point, ...]
    left: int


@dataclass(frozen=True)
class Problem:
    """The settings, or one part of the results, failed; the message holds no value of the data."""

    message: str
    part: Literal["all", "risk"] = "all"


@dataclass(frozen=True)
class Finished:
    """The evaluation has ended: it is complete, or a newer one has replaced it."""

    complete: bool


Event = OutcomeReady | RiskReady | CurveReady | Problem | Finished


class Session:
    """Evaluates settings, one at a time: a newer evaluation cancels the older one. Results are cached.

    `look` returns at once; events are passed to `notify` from another thread.
    """

    def __init__(self, explored: ExploredData) -> None:
        self.explored = explored
        self.worker = Worker(ReleaseCache, explored)
        self.worked = 0
        self._turn = 0
        self._aim: Hashable = None
        self._lock = threading.Lock()
        self._found: OrderedDict[Hashable, Any] = OrderedDict()
        self._typical: tuple[int, ...] | None = None
        self._generation = 0
        self._pins: list[Pin] = []
        self._generations: dict[str, int] = {}
        self.last: Settings | None = None

    def explore(self, explored: ExploredData) -> None:
        """Explore other data from now on: the same persons, read by another schema."""
        with self._lock:
            self._aim = None
            self._turn += 1
            # What is found of the data before has keys of its own.
            self._generation += 1
            self._found.clear()
            same = self.explored.records == explored.records and len(self.explored.data) == len(explored.data)
            self._typical = self._typical if same else None
            self.explored = explored
        self.worker.renew(explore_other, explored)

    def pin(self, settings: Settings, schema: str) -> None:
        """Pin the result of settings, which must be there; UsageError if it is not."""
        with self._lock:
            loss = self._found.get((self._generation, ("loss", settings)))
            if loss is None:
                raise UsageError("Wait for the result before you pin it.")
            if len(self._pins) == MOST_PINS:
                raise UsageError(f"No more than {MOST_PINS} results are pinned; take one off first.")
            if not any((pin.settings, pin.schema) == (settings, schema) for pin in self._pins):
                self._pins.append(Pin(settings, schema, loss))
                self._generations[schema] = self._generation

    def unpin(self, number: int) -> None:
        """Take a pinned result off."""
        with self._lock:
            del self._pins[number : number + 1]

    @property
    def pins(self) -> list[Pin]:
        """The pinned results, with the risks that are known by now."""
        with self._lock:
            for at, pin in enumerate(self._pins):
                key = (self._generations[pin.schema], ("risk", pin.settings))
                risk = self._found.get(key)
                if pin.risk is None and isinstance(risk, Risk):
                    self._pins[at] = replace(pin, risk=risk)
            return list(self._pins)

    def look(self, settings: Settings, choice: Choice, notify: Callable[[Event], None]) -> Callable[[], None]:
        """Start an evaluation, which cancels the previous one unless it is the same; return a function that cancels
        this one.
        """
        turn, wanted = self._begin((settings, choice))

        def end() -> None:
            with self._lock:
                if self._turn == turn:
                    self._aim = None

        threading.Thread(target=self._look, args=(settings, choice, notify, wanted), daemon=True).start()
        return end

    @property
    def busy(self) -> bool:
        """Whether an evaluation is awaited."""
        return self._aim is not None

    def prepare(self, settings: Settings) -> None:
        """Start the first evaluation before it is requested."""
        _, wanted = self._begin((settings, "typical"))

        def work() -> None:
            with contextlib.suppress(Failed, Superseded):
                self._outcome(settings, "typical", wanted)

        threading.Thread(target=work, daemon=True).start()

    def _begin(self, aim: Hashable) -> tuple[int, Callable[[], bool]]:
        """Return the number of a new evaluation, and a function that says whether it is still wanted."""
        with self._lock:
            self._turn += 1
            self._aim = aim
            return self._turn, lambda: self._aim == aim

    def close(self) -> None:
        """Cancel everything and end the worker."""
        with self._lock:
            self._aim = None
        self.worker.close()

    def _look(
        self, settings: Settings, choice: Choice, notify: Callable[[Event], None], wanted: Callable[[], bool]
    ) -> None:
        complete = False
        try:
            notify(OutcomeReady(self._outcome(settings, choice, wanted)))
            self._curve(settings, notify, wanted, missing=False)
            self._risk(settings, notify, wanted)
            self._curve(settings, notify, wanted, missing=True)
            complete = True
        except Failed as problem:
            notify(Problem(str(problem)))
            complete = True
        except Superseded:
            pass
        notify(Finished(complete))

    def _outcome(self, settings: Settings, choice: Choice, wanted: Callable[[], bool]) -> Outcome:
        # Typical records stay the same, to show the effect of settings on them.
        if choice == "typical" and self._typical is not None:
            choice = self._typical
        generation = self._generation
        found: Outcome = self._kept((settings, choice), wanted, outcome, settings, choice)
        release = found.preview.release
        assert not isinstance(release, PermutedRelease)
        with self._lock:
            self._found[generation, ("loss", settings)] = release.loss
            if choice == "typical":
                self._typical = found.numbers
                # It is found again by the numbers that typical records have from now on.
                self._found[generation, (settings, found.numbers)] = found
        return found

    def _risk(self, settings: Settings, notify: Callable[[Event], None], wanted: Callable[[], bool]) -> None:
        try:
            before = self._kept(("risk", settings.k), wanted, risk_before, settings.k)
            notify(RiskReady(before, self._kept(("risk", settings), wanted, risk_after, settings)))
        except Failed as problem:
            notify(Problem(str(problem), "risk"))

    def _curve(
        self, settings: Settings, notify: Callable[[Event], None], wanted: Callable[[], bool], *, missing: bool
    ) -> None:
        """Report the points of the curve that are known, or compute the missing ones, one by one."""
        ks = ks_around(settings.k, self.explored.persons)
        with self._lock:
            known = [k for k in ks if (self._generation, (settings.at(k), "point")) in self._found]
        points = {k: self._point(settings.at(k), wanted) for k in known}
        for k in [k for k in ks if k not in points] if missing else [settings.k]:
            points[k] = self._point(settings.at(k), wanted)
            notify(CurveReady(settings.k, tuple(points[k] for k in sorted(points)), len(ks) - len(points)))

    def _point(self, settings: Settings, wanted: Callable[[], bool]) -> Point:
        try:
            found: Point = self._kept((settings, "point"), wanted, point, settings)
        except Failed:
            return Point(settings.k, None)
        return found

    def _kept(self, key: Hashable, wanted: Callable[[], bool], task: Task, *arguments: Any) -> Any:
        """Return the result of a task, computed once; failures are cached as well."""
        with self._lock:
            key = (self._generation, key)
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
