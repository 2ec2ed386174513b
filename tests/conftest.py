"""Properties: always the same examples by default, random ones in the slow sweeps (`-m slow`).

`--hypothesis-profile=thorough` runs the quick tests of properties with random examples, too. A failure then prints a
`@reproduce_failure` that repeats it.
"""

from __future__ import annotations

from tests.support import profiles as profiles
