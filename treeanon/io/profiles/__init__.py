"""Output profiles: one file for each standard, and where readers and writers meet them."""
