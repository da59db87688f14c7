"""Logs of lm-evaluation-harness: ``samples_*.jsonl`` beside ``results_*.json``.

Old records (2024) have neither ``filter`` nor ``metrics``; some programs write the samples into
the results file. The model's name comes from the results of the same run, else from the folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from mdad._checks import check_choice, listed
from mdad.errors import FormatError, SettingError
from mdad.loaders._lm_eval_records import Plan, metric_of, metrics_in, records
from mdad.loaders._log_files import decode, document, json_batches, json_document, why_not
from mdad.loaders._logs import Batch, Findings, Record, Run, Setup, collect, newest_runs
from mdad.loaders._names import Source
from mdad.loaders._text import MAX_LINE, opened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mdad.loaders._log_files import Tree
    from mdad.loaders._log_report import Loaded

ModelNames = Literal["log", "folder"]

_STAMP = re.compile(r"_?(\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d(?:\.\d+)?)$")
_INSIDE = re.compile(rb'"results"\s*:\s*\{')
_METRIC_KEY = re.compile(rb'"[\w./-]+,[\w.-]+"\s*:')
_REMEDY = (
    ", or where they are models of their own, name them by their folders: "
    "model_names='folder' (--model-names folder)"
)
_MODEL_ARGS = re.compile(r"(?:^|,)(?:pretrained|model|model_name|path)=([^,]+)")


class _Config(msgspec.Struct):
    model: Any = None
    model_args: Any = None
    limit: Any = None


class _Results(msgspec.Struct):
    """What is needed of a results file."""

    model_name: str | None = None
    config: _Config | None = None
    date: Any = None
    higher_is_better: dict[str, Any] | None = None


class _Inside(_Results):
    samples: dict[str, list[msgspec.Raw]] = {}


class _Tasks(_Results):
    samples: dict[str, msgspec.Raw] = {}


_RESULTS = msgspec.json.Decoder(_Results)
_INSIDES = msgspec.json.Decoder(_Inside)
_TASKS = msgspec.json.Decoder(_Tasks)
_ANY = msgspec.json.Decoder()


def detect(tree: Tree) -> bool:
    """Whether there is a file of samples, or of results with samples inside."""
    return any(_is_samples(tree, path) for path in tree.ending(".jsonl")) or any(
        _has_samples_inside(tree, path) for path in tree.ending(".json")
    )


def _is_samples(tree: Tree, path: Path) -> bool:
    names = tree.first_record(path)
    return "doc_id" in names and bool({"filtered_resps", "resps", "doc_hash"} & set(names))


def _is_results(tree: Tree, path: Path) -> bool:
    head = tree.head(path).lstrip()
    return head.startswith(b"{") and bool(_INSIDE.search(head)) and bool(_METRIC_KEY.search(head))


def _has_samples_inside(tree: Tree, path: Path) -> bool:
    if not _is_results(tree, path):
        return False
    # The samples come behind results and configurations, beyond the head of the file.
    return path.stat().st_size > 0 and _mentions(path, b'"samples"')


def _mentions(path: Path, text: bytes) -> bool:
    kept = b""
    try:
        with opened(path, Source(path.name)) as stream:
            while piece := stream.read(1 << 20):
                if text in kept + piece:
                    return True
                kept = piece[-len(text) :]
    except FormatError:
        return False
    return False


def load(
    tree: Tree,
    setup: Setup,
    *,
    metric: str | None = None,
    filter: str | None = None,  # noqa: A002  # the harness's word
    item_key: str = "doc_id",
    reduce: str | None = None,
    model_names: ModelNames = "log",
) -> Loaded:
    """Read the samples of one or more models.

    Items are named ``task/doc_id``; tasks are subtasks. Groups of tasks are no more than their
    tasks here.

    Parameters
    ----------
    metric : the metric, where records have several: a name; "default" for the metric of the
        published leaderboards; or pairs "task=name,..." with ``*`` in tasks. No other metric
        is ever taken instead.
    filter : the filter, where tasks have several
    item_key : "doc_id", "doc_hash" or a field of ``doc``: what identifies an item in a task
    reduce : "mean" makes one score of a list of scores per item (IFEval's inst_level_*)
    model_names : "log" takes the name the harness wrote; "folder" the folder, for runs of one
        model with several settings

    Raises
    ------
    FormatError, SettingError
        see :mod:`mdad.loaders._logs`.
    """
    check_choice("model_names", model_names, get_args(ModelNames))
    if reduce is not None:
        check_choice("reduce", reduce, ("mean",))
    planner = _Planner(tree, by_folder=model_names == "folder")
    runs, chosen = newest_runs(tree, planner.runs(), _REMEDY)
    facts: dict[Path, _Fact] = {}
    for run in runs:
        fact = facts.setdefault(run.path, _Fact(run.key[0], [], planner.lower(run.path)))
        fact.tasks.append(run.key[1])
    plan = Plan(metric, filter, item_key, reduce)
    return collect(
        tree,
        list(facts),
        partial(_read, plan=plan),
        setup,
        format="lm-eval",
        chosen=chosen,
        suspicious=planner.notes(),
        facts=facts,
        keys=(item_key, "doc_id" if item_key == "doc_hash" else "doc_hash"),
        support=len(planner.results),
    )


@dataclass(frozen=True)
class _Fact:
    """What is known of a file before it is read: model, tasks to take, metrics to minimise."""

    model: str
    tasks: list[str]
    lower: dict[str, Any]


class _Planner:
    """Which run of which model each file holds."""

    def __init__(self, tree: Tree, *, by_folder: bool) -> None:
        self._tree, self._by_folder = tree, by_folder
        self._unnamed: set[str] = set()
        self._limited: set[str] = set()
        self._metas: dict[Path, _Results] = {}
        self.results: dict[tuple[Path, str], _Results] = {}
        self._inside: dict[Path, _Tasks] = {}
        for path in tree.ending(".json"):
            if not _is_results(tree, path):
                continue
            if _mentions(path, b'"samples"'):
                found = json_document(path, Source(tree.shown(path)), _TASKS)
                if found.samples:
                    self._inside[path] = found
                    continue
            self.results[path.parent, _split(path)[1]] = self._meta(path)

    def _meta(self, path: Path) -> _Results:
        return json_document(path, Source(self._tree.shown(path)), _RESULTS)

    def runs(self) -> Iterator[Run]:
        """Model, task and time of every file of samples."""
        for path in self._tree.ending(".jsonl"):
            if _is_samples(self._tree, path):
                task, stamp = _split(path)
                yield Run((self._model(path, self._beside(path, stamp)), task), stamp, path)
        for path, found in self._inside.items():
            self._metas[path] = found
            model = self._model(path, found)
            for task in found.samples:
                yield Run((model, task), str(found.date or ""), path)

    def lower(self, path: Path) -> dict[str, Any]:
        """Which metrics of which task are better when lower."""
        meta = self._metas.get(path)
        return {} if meta is None else meta.higher_is_better or {}

    def notes(self) -> list[str]:
        """What should be looked at."""
        found = []
        if self._unnamed:
            found.append(
                "named after their folders, since no results file of the same run lies beside "
                f"the samples: {listed(sorted(self._unnamed))}"
            )
        if self._limited:
            found.append(
                f"run with --limit, on the first items only: {listed(sorted(self._limited))}"
            )
        return found

    def _beside(self, path: Path, stamp: str) -> _Results | None:
        """The results of the same run."""
        meta = self.results.get((path.parent, stamp))
        if meta is None and path == self._tree.root and stamp:
            beside = path.with_name(f"results_{stamp}.json")
            meta = self._meta(beside) if beside.is_file() else None
        if meta is not None:
            self._metas[path] = meta
        return meta

    def _model(self, path: Path, meta: _Results | None) -> str:
        folder = path.parent
        if self._by_folder:
            name = self._tree.shown(folder) if folder != self._tree.root else ""
            return name if name not in {"", "."} else folder.resolve().name
        config = None if meta is None else meta.config
        name = _name_in(meta)
        if not name:
            # The harness writes the slash of a hub name as two underscores.
            name = folder.resolve().name.replace("__", "/", 1)
            self._unnamed.add(name)
        if config is not None and config.limit is not None:
            self._limited.add(name)
        return name


def _name_in(meta: _Results | None) -> str:
    if meta is None:
        return ""
    if meta.model_name and meta.model_name.strip():
        return meta.model_name.strip()
    args = None if meta.config is None else meta.config.model_args
    if isinstance(args, dict):
        args = ",".join(f"{name}={value}" for name, value in args.items())
    match = _MODEL_ARGS.search(args) if isinstance(args, str) else None
    return match[1].strip() if match else ""


def _split(path: Path) -> tuple[str, str]:
    """Task and time in the name of a file."""
    name = path.name
    for suffix in (".gz", ".jsonl", ".json"):
        name = name[: -len(suffix)] if name.lower().endswith(suffix) else name
    match = _STAMP.search(name)
    stamp = "" if match is None else match[1].replace(":", "-")
    task = name if match is None else name[: match.start()]
    return task.removeprefix("samples_").removeprefix("results_") or "samples", stamp


def _read(path: Path, findings: Findings, *, plan: Plan) -> Iterator[Record | Batch]:
    """The records of one file: lines of one task, or the samples inside results."""
    fact: _Fact = findings.fact
    if path.name.lower().removesuffix(".gz").endswith(".json"):
        inside = json_document(path, findings.source, _INSIDES).samples
        for task in fact.tasks:
            raws = inside.get(task, [])
            if raws:
                first = document(bytes(raws[0]), findings.source, _ANY)
                yield from _of_task(partial(_rows_inside, raws), first, findings, task, plan)
        return
    first = _first(path, findings)
    if first is not None:
        rows = partial(json_batches, path, findings.source)
        yield from _of_task(rows, first, findings, fact.tasks[0], plan)


def _of_task(
    rows: Any, first: Any, findings: Findings, task: str, plan: Plan
) -> list[Record | Batch]:
    fact: _Fact = findings.fact
    names = metrics_in(first) if isinstance(first, dict) else []
    metric = metric_of(findings.source, task, names, plan)
    better = fact.lower.get(task)
    if isinstance(better, dict) and better.get(metric) is False:
        raise SettingError(
            f"{findings.source.name}: lower is better for the metric {metric!r} of task {task!r}; "
            f"scores are read as higher is better. Choose another metric: {listed(names)}."
        )
    return records(rows, findings, model=fact.model, task=task, metric=metric, plan=plan)


def _rows_inside(
    raws: list[msgspec.Raw], decoder: msgspec.json.Decoder[Any]
) -> Iterator[tuple[Sequence[int], Sequence[Any]]]:
    rows: list[Any] = []
    for raw in raws:
        try:
            rows.append(decode(bytes(raw), decoder))
        except (ValueError, RecursionError) as error:
            rows.append(why_not(error))
    yield range(1, len(rows) + 1), rows


def _first(path: Path, findings: Findings) -> Any:
    """The first record of a file that is one, whole; None when there is none."""
    with opened(path, findings.source) as stream:
        for number, line in enumerate(iter(partial(stream.readline, MAX_LINE), b""), 1):
            if not line.strip():
                continue
            try:
                return decode(line.removeprefix(b"\xef\xbb\xbf"), _ANY)
            except (ValueError, RecursionError) as error:
                if findings.strict:
                    findings.bad(number, why_not(error))
    return None
