"""What a release does to single records, as data for reports; none of it is published."""
