"""Searches for releases."""
