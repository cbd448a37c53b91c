"""`python -m clearpipe` is the command `clearpipe`."""

from clearpipe.cli import main

if __name__ == "__main__":
    main()
