"""The command line: one file per command, thin; only here is anything printed and exit codes decided."""
