"""Searches of tables over rows in a one-dimensional order."""
