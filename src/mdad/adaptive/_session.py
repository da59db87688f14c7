"""Session: ask for items, tell the answers, stop when it is decided."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mdad._checks import counted, listed
from mdad._content import contents_of
from mdad.adaptive import _state
from mdad.adaptive._plan import Look, learned_look, random_look
from mdad.adaptive._state import by_item
from mdad.errors import FormatError, ScoresError
from mdad.scores import ScoreMatrix

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from mdad.adaptive._state import Answers, Setup

Status = Literal["open", "decided", "equal", "undecided"]


@dataclass(frozen=True)
class Decision:
    """How a session stands.

    Parameters
    ----------
    status : "open": more items are wanted; "decided": one is better; "equal": all items of the pool
        were scored, and the full scores are the same; "undecided": the budget is used up
    better : the better model; None when there is none, or one model is below its reference
    sign : 1 when the first model (the model) is better (above its reference), -1 when it is worse
    gap, low, high : estimated full score of the first less that of the second (of the reference),
        and its interval, in the unit of the scores; None before the first look. The intervals of
        all looks hold the gap together with probability 1 - alpha
    size : items the decision, or the latest look, rests on
    n_answered : items answered for every model
    notes : what a reader should know
    """

    status: Status
    better: str | None
    sign: int
    gap: float | None
    low: float | None
    high: float | None
    size: int
    n_answered: int
    notes: tuple[str, ...] = ()

    @property
    def open(self) -> bool:
        """Whether more items are wanted."""
        return self.status == "open"


class Session:
    """Compare two models, or one with a reference, with no more items than it takes.

    Everything that bears on the error rate - the order of the items, when is looked, how far the
    models must be apart - is fixed when the session is made. What is asked next follows from the
    answers alone, so a session that was killed goes on where it was.

    Made by :meth:`new`, or :meth:`load` from its file. See ``docs/adaptive.md``.

    Parameters
    ----------
    setup : settings and plan
    answers : item -> model -> score
    path : file of the state, or None to keep it in memory alone

    Examples
    --------
    >>> session = Session.new(["a", "b"], items=[f"q{i}" for i in range(400)], budget=200)
    >>> while session.decision.open:
    ...     _ = session.tell({item: {"a": 1, "b": int(item < "q2")} for item in session.ask()})
    >>> session.decision.better, session.decision.size
    ('a', 20)
    """

    def __init__(
        self, setup: Setup, answers: Answers | None = None, path: Path | None = None
    ) -> None:
        self.setup = setup
        self.path = path
        self._answers: Answers = answers if answers is not None else {}

    @classmethod
    def new(
        cls, models: Sequence[str], *, path: str | os.PathLike[str] | None = None, **options: Any
    ) -> Session:
        """Start a session; options are those of :func:`mdad.adaptive.make_setup`.

        Parameters
        ----------
        models : ids of two models, or of one to compare with ``against``
        path : file that will hold the state; it must not exist

        Raises
        ------
        MdadError
            when a setting has a value it cannot have, or the file exists.
        """
        from mdad.adaptive._start import make_setup  # noqa: PLC0415  # learns from sources

        target = None if path is None else Path(path)
        if target is not None and target.exists():
            raise FormatError(
                f"{target} exists. Resume it (`mdad next {target}`, Session.load), or give another "
                "name."
            )
        session = cls(make_setup(models, **options), path=target)
        session.save()
        return session

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Session:
        """Resume a session from its file.

        Raises
        ------
        FormatError
            when it is no session, was edited, or was written by a newer version.
        """
        setup, answers = _state.read(Path(path))
        return cls(setup, answers, Path(path))

    def save(self) -> None:
        """Write the state, if it has a file; answers that another process wrote are kept.

        Raises
        ------
        FormatError
            when the file cannot be written, or holds another session by now.
        """
        if self.path is None:
            return
        if self.path.exists():
            setup, there = _state.read(self.path)
            if setup.fingerprint != self.setup.fingerprint:
                raise FormatError(f"{self.path} holds another session by now; nothing was written.")
            _state.merge(self.setup, self._answers, there)
        _state.write(self.path, self.setup, self._answers)

    @property
    def answers(self) -> Answers:
        """Item -> model -> score; a copy."""
        return {item: dict(scores) for item, scores in self._answers.items()}

    def ask(self) -> list[str]:
        """The next items, at most a batch; the same until they are told, and [] when it is over."""
        return list(self.wanted())

    def wanted(self) -> dict[str, tuple[str, ...]]:
        """The next items, and for each the models that have no score on it yet."""
        if not self.decision.open:
            return {}
        models, start = self.setup.models, self._n_answered()
        # The next look is not always a batch away: told early, or looks thinned out.
        end = min(start + self.setup.batch, self.setup.budget)
        lacking = {
            item: tuple(m for m in models if m not in self._answers.get(item, {}))
            for item in self.setup.plan.order[start:end]
        }
        return {item: who for item, who in lacking.items() if who}

    def tell(self, told: Mapping[str, Mapping[str, Any]] | ScoreMatrix) -> int:
        """Add answers and write the file; all or none are taken.

        Parameters
        ----------
        told : item -> model -> score, or a score matrix; telling an answer again changes nothing.
            Answers to later items of the plan are kept until their look: looks are taken in their
            order, and the first that decides counts, however much was told at once

        Returns
        -------
        how many answers are new

        Raises
        ------
        ScoresError
            when an item or a model is not of this session, a score is missing or outside its
            range, or an answer that is known is told differently.
        FormatError
            when the content of an item has changed, or the file cannot be written.
        """
        if isinstance(told, ScoreMatrix):
            self.check_contents(told)
            told = by_item(told)
        after = self.answers
        count = _state.merge(self.setup, after, told)
        before, self._answers = self._answers, after
        try:
            self.save()
        except Exception:
            self._answers = before
            raise
        return count

    @property
    def decision(self) -> Decision:
        """How the session stands; a decision, once made, stays whatever is told later."""
        plan, answered, found = self.setup.plan, self._n_answered(), self.looks()
        last = found[-1] if found else None
        if last is not None and last.sign:
            return self._decision("decided", last, answered)
        if len(found) < len(plan.looks):
            return self._decision("open", last, answered)
        complete = plan.looks[-1] == self.setup.pool.n_items
        return self._decision("equal" if complete else "undecided", last, answered)

    def looks(self) -> list[Look]:
        """What every look so far said, the deciding one last."""
        found: list[Look] = []
        values = self._values(self._n_answered())
        for place, size in enumerate(self.setup.plan.looks):
            if size > values.shape[1] or (found and found[-1].sign):
                break
            found.append(self._look(place, values[:, :size]))
        return found

    def run(self, evaluate: Callable[[str, list[str]], Mapping[str, float]]) -> Decision:
        """Ask, evaluate and tell until it is over.

        Parameters
        ----------
        evaluate : called with a model and items; returns the score of each of these items. Answers
            are written after every call

        Raises
        ------
        ScoresError
            when a call returns other items than it was asked for.
        """
        while wanted := self.wanted():
            model = next(iter(wanted.values()))[0]
            items = [item for item, who in wanted.items() if model in who]
            scores = evaluate(model, items)
            if set(scores) != set(items):
                raise ScoresError(
                    f"{counted(len(items), 'item')} of {model!r} were to be evaluated; "
                    f"{len(set(items) - set(scores))} are missing from what came back, and "
                    f"{len(set(scores) - set(items))} were not asked for."
                )
            self.tell({item: {model: scores[item]} for item in items})
        return self.decision

    def run_inspect(self, task: Any, models: Mapping[str, Any], **options: Any) -> Decision:
        """Run the session with Inspect AI, a batch of samples of one model at a time.

        Parameters
        ----------
        task : what ``inspect_ai.eval`` takes as one task; its sample ids are the items, with or
            without ``task/`` before them
        models : model of the session -> what ``inspect_ai.eval`` takes as a model
        options : ``scorer`` and ``metric`` say which score to read; all others, such as
            ``log_dir``, are those of ``inspect_ai.eval``

        Raises
        ------
        SettingError, ScoresError
            when Inspect is not installed, a run does not end well, or a sample has no score.
        """
        from mdad.adaptive._inspect import inspect_evaluator  # noqa: PLC0415

        return self.run(inspect_evaluator(task, models, **options))

    def check_items(self, items: Sequence[str], fingerprint: str) -> None:
        """Refuse a benchmark that is not the one of the session.

        Parameters
        ----------
        items : ids of the whole benchmark
        fingerprint : of these items

        Raises
        ------
        FormatError
            with both fingerprints.
        """
        mine = self.setup.pool.items_fingerprint
        if fingerprint != mine:
            there = len(set(items) & set(self.setup.plan.order))
            raise FormatError(
                f"the session was made for another benchmark: its items have the fingerprint "
                f"{mine}, these {fingerprint}. {there} of its {self.setup.budget} items are among "
                "these."
            )

    def check_contents(self, scores: ScoreMatrix) -> None:
        """Refuse scores on items whose content is not what it was when the session was made.

        Raises
        ------
        FormatError
            naming them.
        """
        known = self.setup.contents
        changed = [
            item
            for item, content in contents_of(scores).items()
            if item in known and known[item] != content
        ]
        if changed:
            raise FormatError(
                f"the content of {counted(len(changed), 'item')} has changed since the session was "
                f"made: {listed(changed)}. No answer was taken. Run on the old data set, or start "
                "another session."
            )

    def _n_answered(self) -> int:
        """Items at the beginning of the order that are answered for every model."""
        wanted = len(self.setup.models)
        for place, item in enumerate(self.setup.plan.order):
            if len(self._answers.get(item, {})) < wanted:
                return place
        return len(self.setup.plan.order)

    def _values(self, size: int) -> npt.NDArray[np.float64]:
        items, models = self.setup.plan.order[:size], self.setup.models
        return np.array([[self._answers[item][model] for item in items] for model in models])

    def _look(self, place: int, values: npt.NDArray[np.float64]) -> Look:
        setup, plan = self.setup, self.setup.plan
        size, bound = plan.looks[place], plan.bounds[place]
        low, high = setup.pool.score_range
        reference = setup.reference
        if plan.predictors:
            each = plan.predictors[place]
            scores = each.constant + values @ np.array(each.coefficients)
            gap = scores[0] - (scores[1] if reference is None else reference)
            return learned_look(float(gap), bound, size)
        if reference is None:
            width = high - low
            return random_look(
                values[0] - values[1], bound, setup.pool.n_items, (-width, width), None
            )
        binary = (low, high) == (0.0, 1.0) and bool(np.isin(values, (0, 1)).all())
        spread = reference * (1 - reference) if binary else None
        extremes = (low - reference, high - reference)
        return random_look(values[0] - reference, bound, setup.pool.n_items, extremes, spread)

    def _decision(self, status: Status, look: Look | None, answered: int) -> Decision:
        models = self.setup.models
        if look is None:
            return Decision(status, None, 0, None, None, None, 0, answered)
        better = None
        if look.sign > 0:
            better = models[0]
        elif look.sign < 0 and len(models) > 1:
            better = models[1]
        return Decision(
            status,
            better,
            look.sign,
            look.gap,
            look.low,
            look.high,
            look.size,
            answered,
            self._notes(look),
        )

    def _notes(self, look: Look) -> tuple[str, ...]:
        """Warnings about what a learned design cannot promise."""
        setup = self.setup
        notes = []
        if setup.pool.simulated:
            notes.append("The scores behind this session are simulated.")
        if setup.sources is not None and setup.plan.predictors:
            place = setup.plan.looks.index(look.size)
            each = setup.plan.predictors[place]
            scores = each.constant + self._values(look.size) @ np.array(each.coefficients)
            outside = [
                model
                for model, score in zip(setup.models, scores.tolist(), strict=True)
                if not setup.sources.lowest <= score <= setup.sources.highest
            ]
            if outside:
                notes.append(
                    f"{', '.join(outside)}: outside the range of the source models, where this "
                    "design promises nothing. The design 'random' holds there."
                )
        return tuple(notes)
