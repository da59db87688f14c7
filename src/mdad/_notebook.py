"""What objects look like in a notebook: a heading, a few facts, a small table; all text escaped."""

from __future__ import annotations

import unicodedata
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["legible", "shown"]

REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")

MAX_ROWS = 12
"""Rows of a table; of more, the rest is counted."""

MAX_LENGTH = 320
"""Characters of one text; a longer one is cut."""


def legible(text: str) -> str:
    r"""Spell out control characters, lone surrogates and marks that override the direction.

    Letters of any script, emoji and the plain right-to-left mark stay.

    >>> legible("a\u202eb\x00")
    'a[U+202E]b[U+0000]'
    """
    return "".join(
        f"[U+{ord(char):04X}]"
        if char in REORDERING or unicodedata.category(char) in {"Cc", "Cs"}
        else char
        for char in text
    )


def shown(
    title: str, facts: Sequence[str], head: Sequence[str], rows: Sequence[Sequence[str]]
) -> str:
    """HTML for a notebook, static and small; the first column of the table holds names.

    >>> shown("<b>", ["1 < 2"], [], [])
    '<div><p><strong>&lt;b&gt;</strong></p><p>1 &lt; 2</p></div>'
    """
    parts = [f"<p><strong>{_text(title)}</strong></p>"]
    parts += [f"<p>{_text(fact)}</p>" for fact in facts]
    if rows:
        names = "".join(f'<th scope="col">{_text(name)}</th>' for name in head)
        body = "".join(
            f'<tr><th scope="row"><bdi>{_text(first)}</bdi></th>'
            f"{''.join(f'<td>{_text(cell)}</td>' for cell in cells)}</tr>"
            for first, *cells in rows[:MAX_ROWS]
        )
        parts.append(f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>")
    if len(rows) > MAX_ROWS:
        parts.append(f"<p>and {len(rows) - MAX_ROWS:,} more rows</p>")
    return f"<div>{''.join(parts)}</div>"


def _text(text: str) -> str:
    text = legible(text)
    return escape(text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}…")
