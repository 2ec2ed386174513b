"""`python -m treeanon`."""

from treeanon.cli.main import run

if __name__ == "__main__":
    run()
