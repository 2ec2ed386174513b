"""Checks of releases, which share nothing with the searches that found them."""
