"""`python -m ebformer`: the command line."""

from ebformer.cli import main

if __name__ == "__main__":
    main()
