"""A local page that shows the release of a sample while settings are changed; no data leaves the machine."""
