"""Reproducible experiments: synthetic tables, the figures of a paper as data, and their tables and plots."""
