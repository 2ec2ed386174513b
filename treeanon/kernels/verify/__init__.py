"""Compiled loops of the checks; the searches call none of them."""
