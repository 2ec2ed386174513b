"""Tables tied by foreign keys, joined by Spark into the texts of records."""
