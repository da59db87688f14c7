"""``python -m mdad`` is the command."""

from mdad.cli import main

if __name__ == "__main__":
    main()
