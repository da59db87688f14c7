"""How far a small benchmark can be trusted, and a better one.

Everything the command does is one call here::

    import mdad

    scores = mdad.load("results.csv")
    audit = mdad.audit(scores, sizes=[25, 50, 100])
    audit.mdad()
    audit.report("audit.html")

Scores and gaps are in the unit of the score matrix; points appear only in reports and on the
command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdad._version import __version__

if TYPE_CHECKING:
    from mdad import datasets
    from mdad.auditing import Audit, audit
    from mdad.errors import MdadError
    from mdad.intervals import Interval
    from mdad.loaders import load
    from mdad.planning import plan
    from mdad.results import Results
    from mdad.scores import ScoreMatrix

__all__ = [
    "Audit",
    "Interval",
    "MdadError",
    "Results",
    "ScoreMatrix",
    "__version__",
    "audit",
    "datasets",
    "load",
    "plan",
]

_WHERE = {
    "Audit": "mdad.auditing",
    "Interval": "mdad.intervals",
    "MdadError": "mdad.errors",
    "Results": "mdad.results",
    "ScoreMatrix": "mdad.scores",
    "audit": "mdad.auditing",
    "load": "mdad.loaders",
    "plan": "mdad.planning",
}
"""Public names are imported when first used: `mdad --help` must not wait for them."""


def __getattr__(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415  # only on first use of a name

    if name == "datasets":
        return import_module("mdad.datasets")
    if name not in _WHERE:
        raise AttributeError(f"module 'mdad' has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
