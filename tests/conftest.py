"""How properties are run: always the same examples by default, random ones in the slow sweeps (`-m slow`).

`--hypothesis-profile=thorough` runs the quick tests of properties with random examples, too. A failure then prints a
`@reproduce_failure` that repeats it.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The first call of a kernel compiles it, and a machine may be busy: no example has to end by a deadline.
settings.register_profile(
    "default", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("default"), derandomize=False)
settings.load_profile("default")
