"""Tables of rows: CSV, Parquet and frames, read into columns and written from them."""
