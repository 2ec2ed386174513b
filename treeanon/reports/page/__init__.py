"""A release as one self-contained HTML page, internal (for those who hold the data) or public."""
