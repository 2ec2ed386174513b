"""How long the default search looks."""

from __future__ import annotations

from dataclasses import dataclass

from treeanon.errors import UsageError


@dataclass(frozen=True)
class Effort:
    """How long to look: so many times the usual number of walks, or for so many seconds (not repeatable)."""

    factor: float = 1.0
    seconds: float | None = None

    @classmethod
    def of(cls, text: str | float) -> Effort:
        """The effort that a number ("2") or a time ("30s") means.

        >>> Effort.of("2"), Effort.of("30s")
        (Effort(factor=2.0, seconds=None), Effort(factor=1.0, seconds=30.0))
        """
        try:
            if isinstance(text, str) and text.endswith("s"):
                effort = cls(seconds=float(text[:-1]))
            else:
                effort = cls(factor=float(text))
        except ValueError:
            effort = cls(factor=-1.0)
        if not (0 < effort.factor < 1e6 and (effort.seconds is None or 0 < effort.seconds < 1e6)):
            raise UsageError("effort must be a number above 0 (1 is usual) or a time such as 30s")
        return effort
