"""Privacy criteria: what a release must guarantee, and checks that it does."""

from treeanon.privacy.guarantee import Guarantee
from treeanon.privacy.verdict import Verdict
from treeanon.privacy.verify import verify

__all__ = ["Guarantee", "Verdict", "verify"]
