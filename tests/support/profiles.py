"""How properties are run: always the same examples, or random ones in the slow sweeps."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The first call of a kernel compiles it, and a machine may be busy: no example has to end by a deadline.
settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=50,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("default"), derandomize=False, max_examples=100)
settings.load_profile("default")


def few(number: int, many: int) -> settings:
    """Settings for so many examples, of which there are by default 50, and for many in the thorough profile."""
    return settings(max_examples=number if settings.default.derandomize else many)
