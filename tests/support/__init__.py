"""What tests share: generators of data, fixtures, and ways to run the program."""
