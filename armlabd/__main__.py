"""`python -m armlabd` is the command line."""

from armlabd.cli.main import entry

if __name__ == "__main__":
    entry()
