"""A release as one HTML page that stands for itself: for those who hold the data, or for the public."""
