"""The command ``mdad``: a thin shell around the library.

Exit codes: 0 done, 1 a negative verdict where one was asked for, 2 bad input.
"""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer.core import TyperGroup

from mdad.cli import (
    adaptive,
    audit,
    compare,
    data,
    demo,
    fetch,
    figures,
    items,
    load,
    plan,
    report,
    reproduce,
    select,
    show,
)
from mdad.cli._common import fail
from mdad.errors import MdadError

__all__ = ["app", "main"]

HELP = """How far can a small benchmark be trusted?

Start with `mdad demo`, then `mdad audit YOUR_TABLE`.
"""


class _Commands(TyperGroup):
    """The commands; Ctrl-C in any of them is told in one line (typer would end without a word)."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stopped:
            fail(str(stopped) or "stopped.", code=130)


app = typer.Typer(
    name="mdad",
    cls=_Commands,
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for module in (
    demo,
    fetch,
    load,
    audit,
    report,
    plan,
    select,
    show,
    compare,
    adaptive,
    items,
    figures,
    reproduce,
    data,
):
    module.register(app)


def _version(value: bool) -> None:
    if value:
        from mdad._version import __version__  # noqa: PLC0415  # only asked for here

        typer.echo(f"mdad {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    del version


def main() -> None:
    """Run the command; errors raised on purpose become one paragraph and exit code 2."""
    try:
        app()
    except MdadError as error:
        fail(str(error))
    except BrokenPipeError:
        # The reader (head, less) has seen enough; nothing more can be written, not even this.
        sys.stderr.close()
        sys.exit(0)
