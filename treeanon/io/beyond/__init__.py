"""What a file of a release holds beyond what a check of it counts."""
