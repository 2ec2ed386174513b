"""Relational inputs and outputs: tables tied by foreign keys, read as one tree a person and written again."""
