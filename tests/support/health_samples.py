"""The generator of invented health records in `samples/`, for tests: `Health(persons=60).write_bundles(folder)`."""

from __future__ import annotations

import sys

from tests.support.paths import ROOT

# its modules find each other by their names, as they do when the script runs
sys.path.append(str(ROOT / "samples"))
from make_health import Health  # type: ignore[import-not-found,unused-ignore]

__all__ = ["Health"]
