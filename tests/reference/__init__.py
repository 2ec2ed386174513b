"""Slow twins: the same results by the most obvious code, which shares nothing with the package that it checks."""
