"""SWE-bench reports: one JSON file per model with lists of instance ids.

Three forms are read. A run report (``submitted_ids``, ``resolved_ids`` or ``resolved``,
``unresolved_ids``, ...) and a submission of the leaderboard (``generated``, ``no_generation``,
``resolved``, ...) name every instance they are about. A list of resolved instances alone does
not: it is read together with the benchmark's list of ids.

Resolved is 1. Unresolved, an empty patch, no patch and a patch that does not apply are 0, since
the model made them. What failed in the harness (errors, time-outs of tests, failed installs) and
what was never submitted is missing; ``errors="wrong"`` counts it as not resolved, as the public
leaderboard does.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mdad._checks import counted, listed, shorten
from mdad.errors import FormatError
from mdad.loaders._log_files import json_document
from mdad.loaders._log_shapes import (
    begins,
    error_score,
    fitting,
    model_of,
    shape_of,
    some_files,
)
from mdad.loaders._logs import Findings, Record, collect
from mdad.loaders._names import Source
from mdad.loaders._text import lines

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded
    from mdad.loaders._logs import Setup

GENERIC = ("results", "report", "final_report", "logs", "evaluation")
HARNESS = ("install_fail", "reset_failed", "test_errored", "test_timeout", "no_logs")

_FORMS = (
    {"submitted_ids", "unresolved_ids"},
    {"generated", "resolved"},
    {"no_generation", "resolved"},
    {"resolved", "resolved_per_project"},
)
_COUNTS = (
    ("submitted_instances", "submitted_ids"),
    ("resolved_instances", "resolved_ids"),
    ("unresolved_instances", "unresolved_ids"),
    ("empty_patch_instances", "empty_patch_ids"),
    ("error_instances", "error_ids"),
)
_DECODER = msgspec.json.Decoder(dict[str, Any])


class Outcomes(NamedTuple):
    """Instances by what became of them."""

    right: list[str]
    wrong: list[str]
    failed: list[str]
    absent: list[str]


def _is_report(head: bytes) -> bool:
    kind, names = shape_of(head)
    if kind != "{":
        return False
    return any(form <= names for form in _FORMS) or _is_by_instance(head)


def _is_by_instance(head: bytes) -> bool:
    """Whether a file says for each instance who resolved it."""
    return b'"resolved_submissions"' in head[:4096] and b'"no_of_submissions"' in head


def detect(tree: Tree) -> bool:
    """Whether there is a report of SWE-bench."""
    return begins(tree, [".json"], _is_report)


def load(
    tree: Tree,
    setup: Setup,
    *,
    errors: str = "missing",
    ids: str | os.PathLike[str] | None = None,
) -> Loaded:
    """Read the reports below a folder, one model each.

    Parameters
    ----------
    errors : what an instance counts as that failed in the harness or was not submitted:
        "missing" or "wrong"
    ids : a file with the ids of all instances of the benchmark, one a line; needed for reports
        that list resolved instances only
    """
    error_score(errors)
    known = None if ids is None else _ids(Path(ids))
    files = some_files(tree, fitting(tree, [".json"], _is_report), "report of SWE-bench")
    names = {path: model_of(tree, path, GENERIC, ".results", ".report") for path in files}
    read = partial(_read, models=names, errors=errors, known=known)
    return collect(tree, files, read, setup, format="swebench", metric="resolved", unit="entry")


def _ids(path: Path) -> tuple[str, ...]:
    if not path.is_file():
        raise FormatError(f"{path.name}: there is no such file of instance ids.")
    source = Source(path.name)
    found = tuple(line.strip() for line in lines(path, source) if line.strip())
    if len(set(found)) < len(found) or not found:
        raise source.error("it must list every instance id once, one a line.")
    return found


def _read(
    path: Path,
    findings: Findings,
    *,
    models: dict[Path, str],
    errors: str,
    known: tuple[str, ...] | None,
) -> Iterator[Record]:
    found = _outcomes(path, findings.source, known)
    for what, names in (
        ("failed in the harness", found.failed),
        ("was not submitted", found.absent),
    ):
        for _ in names:
            findings.drop(f"instance that {what}: {errors}")
    scores = (1.0, 0.0, error_score(errors), error_score(errors))
    entry = 0
    for names, score in zip(found, scores, strict=True):
        for name in names:
            entry += 1
            yield Record(models[path], name, score, subtask=name.rpartition("-")[0], line=entry)


def _outcomes(path: Path, source: Source, known: tuple[str, ...] | None) -> Outcomes:
    document = json_document(path, source, _DECODER)
    names = set(document)
    if names >= _FORMS[0]:
        found = _run_report(document, source)
    elif "generated" in names:
        found = _submission(document, source)
    elif "resolved" in names:
        found = _resolved_only(document, source, known)
    else:
        raise source.error(
            "it says for each instance who resolved it and how many submissions there were, not "
            "who they were: a model that is not named may have failed or not have been there. "
            "Load the reports of the submissions themselves."
        )
    _check(source, found)
    return found


def _list(document: dict[str, Any], source: Source, *names: str) -> list[str]:
    """A list of ids under the first of the names that is there."""
    for name in names:
        if name in document:
            try:
                return msgspec.convert(document[name], list[str])
            except msgspec.ValidationError:
                raise source.error(f"{name!r} must be a list of instance ids.") from None
    return []


def _run_report(document: dict[str, Any], source: Source) -> Outcomes:
    resolved = _list(document, source, "resolved_ids", "resolved")
    unresolved = _list(document, source, "unresolved_ids")
    empty = _list(document, source, "empty_patch_ids")
    failed = _list(document, source, "error_ids") + _list(document, source, "infra_failure_ids")
    absent = _list(document, source, "incomplete_ids")
    submitted = _list(document, source, "submitted_ids")
    for count, name in _COUNTS:
        given = _list(document, source, name, name.removesuffix("_ids"))
        if count in document and document[count] != len(given):
            raise source.error(
                f"{count} is {shorten(document[count])} but {len(given):,} ids are listed in "
                f"{name}. The report is damaged or edited."
            )
    listed_ids = {*resolved, *unresolved, *empty, *failed}
    lost = sorted(set(submitted) - listed_ids - set(absent))
    unknown = sorted(listed_ids - set(submitted))
    if unknown:
        raise source.error(
            f"{counted(len(unknown), 'instance')} with an outcome but not submitted: "
            f"{listed(unknown)}. The report is damaged or edited."
        )
    # Submitted, but not among the completed: the container stopped before a verdict.
    return Outcomes(resolved, unresolved + empty, failed + lost, absent)


def _submission(document: dict[str, Any], source: Source) -> Outcomes:
    generated = _list(document, source, "generated")
    nothing = _list(document, source, "no_generation")
    resolved = _list(document, source, "resolved")
    unknown = sorted(set(resolved) - set(generated))
    if unknown:
        raise source.error(
            f"{counted(len(unknown), 'instance')} resolved but not generated: {listed(unknown)}. "
            "The report is damaged or edited."
        )
    failed = {name for part in HARNESS for name in _list(document, source, part)}
    if "with_logs" in document:
        failed |= set(generated) - set(_list(document, source, "with_logs"))
    failed -= {*resolved, *_list(document, source, "no_apply"), *nothing}
    right = set(resolved)
    wrong = [name for name in generated if name not in right and name not in failed]
    return Outcomes(resolved, wrong + nothing, sorted(failed), [])


def _resolved_only(
    document: dict[str, Any], source: Source, known: tuple[str, ...] | None
) -> Outcomes:
    if known is None:
        raise source.error(
            "it lists the resolved instances only, so that those that failed are not known. Give "
            "the ids of the whole benchmark, one a line: ids=FILE (--option ids=FILE); all others "
            "then count as not resolved."
        )
    resolved = _list(document, source, "resolved")
    unknown = sorted(set(resolved) - set(known))
    if unknown:
        raise source.error(
            f"{counted(len(unknown), 'resolved instance')} not in the list of ids: "
            f"{listed(unknown)}. Is it the list of another benchmark?"
        )
    right = set(resolved)
    return Outcomes(resolved, [name for name in known if name not in right], [], [])


def _check(source: Source, found: Outcomes) -> None:
    """Every instance has one outcome."""
    counts = Counter(name for names in found for name in names)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise source.error(
            f"{counted(len(twice), 'instance')} with more than one outcome: "
            f"{listed(sorted(twice))}. The report is damaged or edited."
        )
