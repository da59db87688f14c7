"""Records of lm-evaluation-harness: which metric, which filter, which id, which score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import msgspec

from mdad._checks import listed, shorten
from mdad.errors import SettingError
from mdad.loaders._lm_eval_batch import quick_columns
from mdad.loaders._lm_eval_gold import GOLD_RULES, Misfit, choice_scores, gold_probability, plain
from mdad.loaders._logs import Batch, Findings, Record, no_choice, not_there

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mdad.loaders._names import Source

    Rows = Callable[[msgspec.json.Decoder[Any]], Iterable[tuple[Sequence[int], Sequence[Any]]]]

OWN_FIELDS = frozenset(
    {
        "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics",
        "doc_hash", "prompt_hash", "target_hash",
    }
)  # fmt: skip
"""What a record has beside its metrics."""

DEFAULT_METRICS = (
    ("*ifeval*", "prompt_level_strict_acc"),
    ("*mmlu*", "acc"),
    ("*truthfulqa*mc*", "acc"),
    ("*winogrande*", "acc"),
    ("*boolq*", "acc"),
    ("*gsm8k*", "exact_match"),
    ("*math*", "exact_match"),
    ("*bbh*", "acc_norm"),
    ("*gpqa*", "acc_norm"),
    ("*musr*", "acc_norm"),
    ("*arc*", "acc_norm"),
    ("*hellaswag*", "acc_norm"),
    ("*openbookqa*", "acc_norm"),
    ("*piqa*", "acc_norm"),
)
"""Metric of the published leaderboards by task, for ``metric="default"``; the first that fits."""


@dataclass(frozen=True)
class Plan:
    """How records become scores.

    Parameters
    ----------
    metric : a name; "default" for :data:`DEFAULT_METRICS`; "task=name" pairs, comma-separated,
        with ``*`` in tasks; None takes the only one
    filter : name of the filter; None takes the only one
    item_key : doc_id, doc_hash or a field of doc
    reduce : "mean" makes one score of a list of them
    """

    metric: str | None = None
    filter: str | None = None
    item_key: str = "doc_id"
    reduce: str | None = None

    def asked(self, task: str) -> str | None:
        """The metric asked for in a task; None without one."""
        if self.metric is None:
            return None
        pairs = [part.strip() for part in self.metric.split(",") if part.strip()]
        for pair in pairs:
            pattern, equals, name = pair.partition("=")
            if equals and fnmatchcase(task, pattern.strip()):
                return name.strip()
        plain = [pair for pair in pairs if "=" not in pair]
        if len(plain) > 1:
            raise SettingError(
                f"metric names {listed(plain)} without tasks; one of them may stand alone, others "
                "belong to tasks, as in gsm8k=exact_match,arc*=acc_norm."
            )
        if plain == ["default"]:
            return next((name for task_, name in DEFAULT_METRICS if fnmatchcase(task, task_)), None)
        return plain[0] if plain else None


def metric_of(source: Source, task: str, names: Sequence[str], plan: Plan) -> str:
    """The metric of a task.

    Raises
    ------
    SettingError
        when there are several and none was chosen, or the chosen one is not there.
    """
    names = [name for name in names if name != "bypass"]
    if not names:
        raise SettingError(
            f"{source.name}: the records of task {task!r} have no metric: nothing was scored. "
            "Was it run with --predict_only?"
        )
    wanted = plan.asked(task)
    if wanted is not None:
        if wanted not in names:
            raise not_there(source, f"metric of task {task}", wanted, names)
        return wanted
    if len(names) > 1:
        known = next((name for name_, name in DEFAULT_METRICS if fnmatchcase(task, name_)), None)
        also = f"; or metric='default', here {known}" if known in names else ""
        raise no_choice(source, "metric", names, "metric", also)
    return names[0]


def metrics_in(record: Mapping[str, Any]) -> list[str]:
    """The metrics a record has: those it names, else the fields beside its own."""
    named = record.get("metrics")
    if isinstance(named, Sequence) and not isinstance(named, str):
        return [name for name in named if isinstance(name, str)]
    return [
        name
        for name, value in record.items()
        if name not in OWN_FIELDS and isinstance(value, int | float | list | None)
    ]


def row_decoder(metric: str, plan: Plan) -> msgspec.json.Decoder[Any]:
    """A decoder of the fields that are needed, and no others."""
    fields: list[tuple[str, Any, Any]] = [
        ("doc_id", int | str | None, None),
        ("score", Any, msgspec.UNSET),
        ("filter", str | None, None),
        ("doc_hash", str | None, None),
        ("target", Any, None),
        ("filtered_resps", msgspec.Raw, msgspec.Raw()),
        ("arguments", msgspec.Raw, msgspec.Raw()),
        ("metrics", list[Any] | None, None),
    ]
    if metric != "acc":
        fields.append(("acc", Any, None))
    if plan.item_key not in {"doc_id", "doc_hash"}:
        fields.append(("doc", Any, None))
    kind = msgspec.defstruct("Row", fields, rename={"score": metric}, gc=False)
    return msgspec.json.Decoder(kind)


def records(
    rows: Rows, findings: Findings, *, model: str, task: str, metric: str, plan: Plan
) -> list[Record | Batch]:
    """The records of one task of one model.

    The rules for the correct choice are tried on the whole file until one fits all of it.

    Raises
    ------
    FormatError
        at the first bad record, in strict mode.
    SettingError
        when there are several filters and none was chosen.
    """
    findings.same("metric", task, metric)
    for rule in (*GOLD_RULES, ""):
        trial = Findings(findings.source, findings.strict, findings.fact)
        maker = _Maker(trial, model, task, metric, plan, rule)
        try:
            found = list(maker.records(rows))
        except Misfit:
            continue
        findings.add(trial)
        if maker.n_choices and not maker.n_known:
            findings.choose(f"{task}: the correct choice is not known, so no probabilities")
        elif maker.n_known:
            findings.same("correct choice", task, _RULE_TEXTS[rule])
        return found
    raise AssertionError  # the last rule fits everything


_RULE_TEXTS = {
    "index": "the target's position",
    "text": "the target's text",
    "two": "told by acc, two choices",
    "": "not known",
}


def _are_numbers(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(part, int | float) for part in value)
    )


class _Maker:
    """Rows to records by one rule for the correct choice."""

    def __init__(
        self, findings: Findings, model: str, task: str, metric: str, plan: Plan, rule: str
    ) -> None:
        self._findings, self._model, self._task = findings, model, task
        self._metric, self._plan, self._rule = metric, plan, rule
        self._filters: set[str] = set()
        self._wanted = plan.filter
        self.n_choices = self.n_known = 0

    def records(self, rows: Rows) -> Iterator[Record | Batch]:
        """The records; misfits of the rule pass through."""
        for lines, found in rows(row_decoder(self._metric, self._plan)):
            batch = self._batch(lines, found)
            if batch is not None:
                yield batch
            else:
                yield from self._one_by_one(lines, found)
        self._check_filters()

    def _batch(self, lines: Sequence[int], rows: Sequence[Any]) -> Batch | None:
        """Sound rows of one filter at once; None where there is anything else."""
        if not rows or any(isinstance(row, str) for row in rows):
            return None
        names = {row.filter for row in rows}
        name = names.pop()
        if names or (name is not None and self._wanted is not None and name != self._wanted):
            return None
        acc = "score" if self._metric == "acc" else "acc"
        columns = quick_columns(rows, self._plan.item_key, self._rule, acc)
        if columns is None:
            return None
        if name is not None:
            self._filters.add(name)
            self._wanted = name
        self.n_choices += columns.n_choices
        self.n_known += columns.n_known
        start = f"{self._task}/"
        return Batch(
            self._model,
            self._task,
            [start + item for item in columns.items],
            columns.scores,
            columns.probabilities,
            columns.hashes,
            columns.alternates,
            lines,
        )

    def _one_by_one(self, lines: Sequence[int], rows: Sequence[Any]) -> Iterator[Record]:
        for line, row in zip(lines, rows, strict=True):
            if isinstance(row, str):
                self._findings.bad(line, row)
                continue
            if row.filter is not None:
                self._filters.add(row.filter)
                if self._wanted is None:
                    self._wanted = row.filter
                if row.filter != self._wanted:
                    continue
            record = self._record(line, row)
            if record is not None:
                self.n_known += not math.isnan(record.probability)
                yield record

    def _check_filters(self) -> None:
        plan, source = self._plan, self._findings.source
        if plan.filter is None and len(self._filters) > 1:
            raise no_choice(source, "filter", self._filters, "filter")
        if plan.filter is not None and self._filters and plan.filter not in self._filters:
            raise not_there(source, f"filter of task {self._task}", plan.filter, self._filters)
        for name in self._filters if plan.filter is None else {plan.filter} & self._filters:
            self._findings.same("filter", self._task, name)

    def _record(self, line: int, row: Any) -> Record | None:
        score = self._score(row.score)
        if isinstance(score, str):
            self._findings.bad(line, score)
            return None
        item = self._item(row)
        if item is None:
            self._findings.bad(line, f"has no {self._plan.item_key} that could be an item's id.")
            return None
        content = row.doc_hash or ""
        other = content if self._plan.item_key != "doc_hash" else str(row.doc_id)
        return Record(
            self._model,
            f"{self._task}/{item}",
            score,
            self._probability(row),
            self._task,
            content,
            other,
            "",
            line,
        )

    def _score(self, value: Any) -> float | str:
        """A number, NaN for null; a text says what is wrong."""
        if isinstance(value, int | float):  # also True and False
            return float(value)
        name = self._metric
        if value is None:
            self._findings.drop(f"{self._task}: {name} is null: not scored")
            return math.nan
        if value is msgspec.UNSET:
            return f"has no metric {name!r}. All records must have the one that was chosen."
        if self._plan.reduce == "mean" and _are_numbers(value):
            return float(sum(value)) / len(value)
        shown = f"has for the metric {name!r} the {type(value).__name__} {shorten(value)}"
        if isinstance(value, list):
            return (
                f"{shown}, not a number. Choose another metric, or make one score of a list of "
                "numbers: reduce='mean' (--reduce mean)."
            )
        return f"{shown}, not a number. Choose another metric."

    def _item(self, row: Any) -> str | None:
        key = self._plan.item_key
        if key == "doc_id":
            found = row.doc_id
        elif key == "doc_hash":
            found = row.doc_hash
        else:
            found = row.doc.get(key) if isinstance(row.doc, Mapping) else None
        if isinstance(found, bool) or not isinstance(found, int | str):
            return None
        return str(found).strip() or None

    def _probability(self, row: Any) -> float:
        scores = choice_scores(plain(row.filtered_resps))
        self.n_choices += scores is not None
        if scores is None or not self._rule:
            return math.nan
        acc = row.score if self._metric == "acc" else row.acc
        return gold_probability(row, scores, self._rule, acc=acc)
