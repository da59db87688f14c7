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
    from mdad.adaptive import Session
    from mdad.ageing import age, refit
    from mdad.auditing import Audit, audit
    from mdad.diagnostics import ItemDiagnostics, diagnose_items
    from mdad.errors import MdadError
    from mdad.hub import fetch
    from mdad.intervals import Interval
    from mdad.loaders import load
    from mdad.microbenchmark import Microbenchmark
    from mdad.planning import plan
    from mdad.plots import figures
    from mdad.reproducing import reproduce
    from mdad.results import Results
    from mdad.scores import ScoreMatrix
    from mdad.selecting import select, select_forms
    from mdad.verdicts import compare, score

__all__ = [
    "Audit",
    "Interval",
    "ItemDiagnostics",
    "MdadError",
    "Microbenchmark",
    "Results",
    "ScoreMatrix",
    "Session",
    "__version__",
    "age",
    "audit",
    "compare",
    "datasets",
    "diagnose_items",
    "fetch",
    "figures",
    "load",
    "plan",
    "refit",
    "reproduce",
    "score",
    "select",
    "select_forms",
]

_WHERE = {
    "Audit": "mdad.auditing",
    "Interval": "mdad.intervals",
    "ItemDiagnostics": "mdad.diagnostics",
    "MdadError": "mdad.errors",
    "Microbenchmark": "mdad.microbenchmark",
    "Results": "mdad.results",
    "ScoreMatrix": "mdad.scores",
    "Session": "mdad.adaptive",
    "age": "mdad.ageing",
    "audit": "mdad.auditing",
    "compare": "mdad.verdicts",
    "fetch": "mdad.hub",
    "diagnose_items": "mdad.diagnostics",
    "figures": "mdad.plots",
    "load": "mdad.loaders",
    "plan": "mdad.planning",
    "refit": "mdad.ageing",
    "reproduce": "mdad.reproducing",
    "score": "mdad.verdicts",
    "select": "mdad.selecting",
    "select_forms": "mdad.selecting",
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
