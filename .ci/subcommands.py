"""Print the name of every subcommand of mdad, one a line."""

import sys

import typer

from mdad.cli import app

for name in typer.main.get_command(app).commands:
    sys.stdout.write(f"{name}\n")
