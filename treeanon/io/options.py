"""What the caller may ask of a reader or writer, the same for every format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

MAX_RECORD_BYTES = 256 << 20
"""The longest record that is read; longer ones are taken for an attack or a wrong format."""

BATCH_RECORDS = 20_000
"""Records that a reader hands over at once."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read: what to do with a broken record, and whether repeated JSON keys are errors."""

    on_error: Literal["error", "skip"] = "error"
    strict: bool = False
    show_values: bool = False
    jobs: int = 1
    advance: Callable[[int], None] | None = None
