"""Compiled loops over rows: grouping, splitting, ordering, exchanging, measuring."""
