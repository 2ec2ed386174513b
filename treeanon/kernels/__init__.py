"""Compiled loops on flat arrays; they know nothing of schemas or files."""
