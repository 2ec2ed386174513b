"""Tables, a row a person: read, searched, written and checked over all partitions."""
