"""Names made legible: what cannot be seen, or would reorder its neighbours, is spelled out."""

from __future__ import annotations

import unicodedata

__all__ = ["legible"]

REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")


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
