"""Privacy criteria: what a release must guarantee, and checks that it does."""

from treeanon.privacy.guarantee import Guarantee

__all__ = ["Guarantee"]
