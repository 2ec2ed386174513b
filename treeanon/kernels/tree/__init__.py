"""Compiled loops over trees: building, projecting, searching, measuring."""
