"""Flat tables: read, searched, written and checked over all partitions."""
