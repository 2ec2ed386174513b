"""Searches for k^(m,n)-anonymous releases of trees, one file each."""
