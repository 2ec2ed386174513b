"""Searches for k^(m,n)-anonymous releases of trees: the published ones, and the default."""
