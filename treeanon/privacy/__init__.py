"""Privacy criteria: what a release must guarantee."""

from treeanon.privacy.guarantee import Guarantee

__all__ = ["Guarantee"]
