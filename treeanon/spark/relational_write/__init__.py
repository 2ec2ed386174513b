"""Releases by Spark that are written as relational tables."""
