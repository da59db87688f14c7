"""Random numbers by name: a cell's stream depends on what it is for, not on when it is drawn."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Stream:
    """A named place from which random generators are made.

    Streams with different names are independent; the same name gives the same numbers whatever
    else was drawn, in whatever order and by however many workers.

    >>> runs = Stream(7).child("split")
    >>> a, b = runs.child(0).rng().random(), runs.child(1).rng().random()
    >>> a == Stream(7).child("split", 0).rng().random(), a == b
    (True, False)
    """

    seed: int
    name: tuple[str | int, ...] = ()

    def child(self, *name: str | int) -> Stream:
        """The stream of this name below this one."""
        return Stream(self.seed, self.name + name)

    def rng(self) -> np.random.Generator:
        """A new generator at the start of this stream."""
        # repr keeps 1 and "1" apart, and where one part of a name ends.
        digest = hashlib.blake2b(repr(self.name).encode(), digest_size=16).digest()
        words = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=words))
