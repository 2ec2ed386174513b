"""What a release does to single records, as data: reporters draw it, and none of it is published."""
