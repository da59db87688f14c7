"""Item diagnostics: which items of a benchmark say little, say the wrong thing, or say it twice."""

from __future__ import annotations

from mdad.diagnostics._diagnose import diagnose_items
from mdad.diagnostics._duplicates import DuplicateGroup
from mdad.diagnostics._information import SubtaskInformation
from mdad.diagnostics._result import ItemDiagnostics

__all__ = ["DuplicateGroup", "ItemDiagnostics", "SubtaskInformation", "diagnose_items"]
