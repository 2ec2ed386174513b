"""Relational tables, joined by Spark into the texts of records."""
