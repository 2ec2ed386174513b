"""Answers to counting queries from a release alone: an estimate, and bounds that hold for whatever was published so."""
