"""The published searches: ACS, GCS and OCS with their checks and their repair, and MiRaCle."""
