"""A local page on which settings are moved and a release of a sample follows: data in, nothing out of the machine."""
