"""Searches for releases of flat tables, one file each."""
