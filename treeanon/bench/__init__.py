"""Experiments that can be run again: invented tables, the figures of a paper as data, and their tables and plots."""
