"""Releases by Spark whose records are written as tables that refer to each other by keys."""
