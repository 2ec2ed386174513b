"""Freeform generalization: every published tuple covers k originals, and every original is in k published tuples."""
