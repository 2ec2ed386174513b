"""Releases of collections that outgrow one machine, counted and written by Apache Spark.

Records are read, counted and written where they lie. The driver holds the dictionaries of the classes, a sample of
records to search in, and what is rare. Tables tied by foreign keys are joined by Spark into the documents of persons;
all rows of a person must fit a worker.
"""
