"""One explorer's state: what was worked out so far, and the one look that is being worked at."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal

from treeanon.explore.settings import ExploredData, Settings
from treeanon.explore.snapshot import (
    Choice,
    Outcome,
    Point,
    ReleaseCache,
    ks_around,
    outcome,
    point,
    risk_after,
    risk_before,
)
from treeanon.explore.worker import Failed, Superseded, Task, Worker
from treeanon.risks import Risk

_KEPT = 400


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
        """Begins a look, which ends the one before, unless that is for the same; returns what ends this one."""
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
        """Begins to work at the first look before anybody has asked for it."""
        _, wanted = self._begin((settings, "typical"))

        def work() -> None:
            with contextlib.suppress(Failed, Superseded):
                self._outcome(settings, "typical", wanted)

        threading.Thread(target=work, daemon=True).start()

    def _begin(self, aim: Hashable) -> tuple[int, Callable[[], bool]]:
        """The number of a new look, and what tells whether it is still wanted."""
        with self._lock:
            self._turn += 1
            self._aim = aim
            return self._turn, lambda: self._aim == aim

    def close(self) -> None:
        """Ends everything."""
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
        """Tells of the points of the curve that are known, or works out those that are missing, one by one."""
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
            if len(self._found) > _KEPT:
                self._found.popitem(last=False)
