"""The layers of docs and design: nothing imports from a line below its own."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mdad

# From the bottom of the package to its face. Modules of one line may import each other, but not
# in a circle; a module that is on no line fails the test.
LAYERS = [
    "errors _checks _files _notebook _rng _threads _cluster",
    "scores _score_parts",
    "storage",
    "hub",
    "loaders",
    "datasets",
    "exporters _specs microbenchmark",
    "irt",
    "_moments selectors",
    "estimators",
    # Splits are below methods, for auto splits the source models as an experiment splits all.
    "quality",
    "diagnostics",
    "_groups",
    "splits",
    "_method",
    "auto",
    "methods",
    "_frozen _spread _gap_law crossfit _wishes",
    "experiment presets _shards _backends _memory results runner _several",
    "intervals _pairs _reference _rules _tables measures planning _posterior paired",
    "_content _runs selecting _verdict _calibrated verdicts ageing",
    "adaptive",
    "plots report",
    "auditing",
    "reproducing",
    "cli",
    "__init__ __main__",
]
ANYWHERE = {"_version"}
LINE = {name: number for number, line in enumerate(LAYERS) for name in line.split()}
ROOT = Path(mdad.__file__).parent


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" and parts[:-1] else parts), path


MODULES = dict(modules())


def imports(path):
    """Imported modules of this package, and whether at run time (not for types alone)."""
    found = []

    def visit(node, *, running):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                visit(child, running=False)
            for child in node.orelse:
                visit(child, running=running)
            return
        if isinstance(node, ast.ImportFrom) and node.level:
            pytest.fail(f"{path.name} imports relatively; name the module in full")
        if isinstance(node, ast.Import):
            found.extend((alias.name, running) for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}".removeprefix("mdad.")
                found.append((f"mdad.{whole}" if whole in MODULES else node.module, running))
        for child in ast.iter_child_nodes(node):
            visit(child, running=running)

    visit(ast.parse(path.read_text(encoding="utf-8")), running=True)
    return {
        (name.removeprefix("mdad").removeprefix(".") or "__init__", running)
        for name, running in found
        if name.split(".")[0] == "mdad"
    }


IMPORTS = {name: imports(path) for name, path in MODULES.items()}


def top(name):
    return name.split(".")[0]


def test_every_module_is_on_a_line():
    unknown = {top(name) for name in MODULES} - set(LINE) - ANYWHERE
    assert not unknown, f"say in LAYERS where {sorted(unknown)} belong"


def test_nothing_imports_from_a_line_below():
    wrong = [
        f"{name} imports {other}"
        for name, others in IMPORTS.items()
        for other, _ in sorted(others)
        if not {top(name), top(other)} & ANYWHERE and LINE[top(other)] > LINE[top(name)]
    ]
    assert not wrong


def test_no_module_imports_itself_in_a_circle():
    graph = {
        name: {other for other, running in others if running and other != name}
        for name, others in IMPORTS.items()
    }
    left = dict(graph)
    # Take away modules that import nothing that is left; what remains is in a circle or needs one.
    while free := [name for name, others in left.items() if not others & set(left)]:
        for name in free:
            del left[name]
    assert not left, f"circular imports among {sorted(left)}"


def test_the_checks_see_what_they_check():
    # Of the imports of measures, one at run time and one for types.
    assert ("_pairs", True) in IMPORTS["measures"]
    assert ("results", False) in IMPORTS["measures"]
    assert len(MODULES) > 50
    assert LINE["errors"] < LINE["scores"] < LINE["measures"] < LINE["cli"]
