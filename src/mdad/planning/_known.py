"""What the caller knows about the two models, turned into a source and said in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import numpy.typing as npt

from mdad._checks import check_choice, check_int, check_real, counted
from mdad.errors import ScoresError, SettingError
from mdad.planning._matrix import MeasuredPairs, pooled_source, source_of
from mdad.planning._sources import AssumedDiscordance, AssumedSpread, Source
from mdad.scores import ScoreMatrix

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_DISCORDANCE = 0.3
"""Share of items on which two models of near-equal accuracy differ when nothing is known: the
median was 0.20 to 0.35 on GPQA, MuSR, IFEval, FaRel and MMLU-Pro leaderboards (models of many
kinds), and 0.07 where all models score near the top."""

DEFAULT_SHARE = 2 / 3
"""Discordance as a share of what independent answers would give (same data: 0.57 to 0.86)."""

LARGEST_POOL = 10**6
"""Items of the largest pool; no benchmark has as many, and None stands for more."""


class Known(TypedDict, total=False):
    """What may be known of the models; see :func:`mdad.planning.plan` for each key."""

    scores: ScoreMatrix | None
    models: Sequence[str] | None
    a: npt.ArrayLike | None
    b: npt.ArrayLike | None
    accuracies: tuple[float, float] | None
    discordance: float | None
    sd: float | None
    score_range: tuple[float, float] | None
    n_items: int | None
    aggregate: str


@dataclass(frozen=True)
class Basis:
    """A source, the unit of its scores, and sentences that say where it comes from.

    Parameters
    ----------
    gap : gap that the caller's scores or accuracies imply, in the unit of the scores
    """

    source: Source
    width: float
    sentences: tuple[str, ...]
    gap: float | None = None

    @property
    def point(self) -> float:
        """One point in the unit of the scores."""
        return self.width / 100

    @property
    def graded(self) -> bool:
        """Whether the scores are graded, so that the Normal form is used."""
        if isinstance(self.source, MeasuredPairs):
            return self.source.wins is None
        return isinstance(self.source, AssumedSpread)

    @property
    def ties_count(self) -> bool:
        """Whether ties on a subset have weight: 0/1 scores, and graded ones in steps."""
        source = self.source
        return not isinstance(source, AssumedSpread | MeasuredPairs) or (
            not self.graded or source.step > 0
        )

    def check_ties(self, ties: Any) -> None:
        """Refuse a tie rule where no ties are reckoned with.

        Raises
        ------
        SettingError
            when the scores are graded without steps, and ties is given.
        """
        if ties is not None and not self.ties_count:
            raise SettingError(
                "ties has no effect on graded scores without steps: they do not tie."
            )

    def check_gap(self, gap: Any) -> float:
        """``gap`` as a float in (0, width]; a negative gap is the same pair listed the other way.

        Raises
        ------
        SettingError
            when it is 0, outside the range, or needs more discordance than was assumed.
        """
        size = abs(check_real("gap", gap, -self.width, self.width))
        if size == 0:
            raise SettingError("gap must not be 0: two equal models have no right order.")
        source = self.source
        if isinstance(source, AssumedDiscordance) and size * (source.n_items or np.inf) < 1 - 1e-9:
            raise SettingError(
                f"gap is {size:g}, less than one of {source.n_items:,} items: no two models differ "
                f"by that. The smallest gap is {1 / (source.n_items or 1):.3g}."
            )
        if isinstance(source, AssumedDiscordance) and size > source.discordance + 1e-12:
            raise SettingError(
                f"a gap of {size:g} needs two models to differ on at least {size:.1%} of the "
                f"items; discordance is {source.discordance:.1%}. Raise discordance or lower gap."
            )
        return size

    def check_size(self, size: Any) -> int:
        """``size`` as an int from 1 to the size of the pool."""
        return check_int("size", size, 1, self.source.n_items)


def known_basis(gap: float | None = None, **known: Any) -> Basis:
    """The source that the given keys of :class:`Known` describe.

    Raises
    ------
    SettingError
        when keys exclude each other, have no effect, or contradict each other.
    ScoresError
        when scores are missing or too few.
    """
    given = {key for key, value in known.items() if value is not None}
    unknown = given - set(Known.__annotations__)
    if unknown:
        raise SettingError(f"unknown setting {min(unknown)!r}.")
    _check_aggregate(known.get("aggregate"))
    _check_company(given - {"aggregate"})
    if "scores" in given:
        return _from_scores(known["scores"], known.get("models"))
    n_items = known.get("n_items")
    if n_items is not None:
        n_items = check_int("n_items", n_items, 1, LARGEST_POOL)
    if "a" in given:
        return _from_vectors(known["a"], known["b"], known.get("score_range"), n_items)
    if "sd" in given:
        return _from_sd(known["sd"], known.get("score_range"), n_items)
    return _from_shares(gap, known.get("accuracies"), known.get("discordance"), n_items)


def _check_aggregate(aggregate: str | None) -> None:
    if aggregate is None:
        return
    check_choice("aggregate", aggregate, ("micro", "macro"))
    if aggregate == "macro":
        raise SettingError(
            "planning knows aggregate='micro' only: the mean of a uniform random subset does not "
            "estimate a macro mean. Plan each subtask by itself with its own n_items, or plan the "
            "micro mean."
        )


COMPANY = {
    "scores": {"models"},
    "a": {"b", "n_items", "score_range"},
    "sd": {"score_range", "n_items"},
    "accuracies": {"discordance", "n_items"},
    "discordance": {"accuracies", "n_items"},
}
"""Each starting point, and what may be given with it."""


def _check_company(given: set[str]) -> None:
    if ("a" in given) != ("b" in given):
        raise SettingError("a and b are the scores of two models: give both or neither.")
    lead = next((key for key in COMPANY if key in given), None)
    allowed = {"n_items"} if lead is None else {lead} | COMPANY[lead]
    extra = sorted(given - allowed)
    if not extra:
        return
    if lead is None:
        raise SettingError(f"{extra[0]} has no effect without scores, a and b, or sd.")
    raise SettingError(
        f"{extra[0]} has no effect beside {lead}, which already says how models differ; "
        f"with {lead} give only {', '.join(sorted(COMPANY[lead]))}."
    )


def _from_scores(scores: Any, models: Sequence[str] | None) -> Basis:
    if not isinstance(scores, ScoreMatrix):
        raise SettingError(f"scores must be a ScoreMatrix; got {type(scores).__name__}.")
    if models is not None:
        scores = scores.restrict(models=models)
    scores.check_complete()
    if scores.n_models < 2:  # noqa: PLR2004 - a pair
        raise ScoresError("planning from scores needs at least two models; got one.")
    source, n_apart = source_of(scores)
    whose = f"{counted(scores.n_models, 'model')} on {counted(scores.n_items, 'item')}"
    name = f" of {scores.name}" if scores.name else ""
    simulated = " The scores are simulated." if scores.simulated else ""
    gap = None
    if scores.n_models == 2:  # noqa: PLR2004 - a pair
        first, second = scores.full_scores().tolist()
        gap = abs(first - second) or None
    if isinstance(source, MeasuredPairs):
        how = (
            f"How far models differ is taken from {counted(n_apart, 'pair')} of {whose}{name}; "
            f"the chance at a gap is the mean over pairs with about that gap.{simulated}"
        )
    else:
        how = (
            f"{whose}{name} make {counted(n_apart, 'pair')} with a gap, too few for a curve: "
            f"their mean is taken for every gap. {_spread_words(source)}{simulated}"
        )
    low, high = scores.score_range
    return Basis(source, high - low, (how,), gap)


def _spread_words(source: Source) -> str:
    if isinstance(source, AssumedDiscordance):
        return f"Two models differ on {source.discordance:.1%} of the items."
    return f"The item-wise differences have a standard deviation of {source.sd(0.0):.3g}."


def _from_vectors(
    a: Any, b: Any, score_range: tuple[float, float] | None, n_items: int | None
) -> Basis:
    pair = np.array([_vector("a", a), _vector("b", b)]) if np.size(a) == np.size(b) else None
    if pair is None:
        raise ScoresError(
            f"a and b must be scores on the same items in the same order; got {np.size(a):,} and "
            f"{np.size(b):,} scores."
        )
    items = [str(i) for i in range(pair.shape[1])]
    scores = ScoreMatrix(pair, ["a", "b"], items, score_range=score_range or (0.0, 1.0))
    scores.check_complete()
    n_pool = scores.n_items if n_items is None else n_items
    if n_pool < scores.n_items:
        raise SettingError(
            f"n_items is {n_pool:,}, fewer than the {scores.n_items:,} scores given."
        )
    source = pooled_source(scores)
    low, high = scores.score_range
    if isinstance(source, AssumedDiscordance):
        source = AssumedDiscordance(source.discordance, n_pool)
    elif isinstance(source, AssumedSpread):
        source = AssumedSpread(source.sd(0.0), high - low, n_pool, source.step)
    gap = abs(float(np.diff(scores.full_scores())[0]))
    how = (
        f"How far the two models differ is taken from their scores on "
        f"{counted(scores.n_items, 'item')}. {_spread_words(source)}"
    )
    return Basis(source, high - low, (how,), gap or None)


def _vector(name: str, values: Any) -> npt.NDArray[np.float64]:
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ScoresError(f"{name} must be a sequence of numbers, one score per item.") from None
    if vector.ndim != 1 or not vector.size:
        raise ScoresError(f"{name} must be one score per item; got shape {vector.shape}.")
    return vector


def _from_sd(sd: Any, score_range: tuple[float, float] | None, n_items: int | None) -> Basis:
    if score_range is None:
        raise SettingError("sd is in the unit of the scores: give score_range=(low, high) with it.")
    try:
        low, high = (float(bound) for bound in score_range)
    except (TypeError, ValueError):
        raise SettingError("score_range must be two numbers (low, high).") from None
    if not low < high or not np.isfinite([low, high]).all():
        raise SettingError(f"score_range must have low < high; got ({low:g}, {high:g}).")
    width = high - low
    # Differences lie within the width either way, so none spreads wider than it.
    spread = check_real("sd", sd, 0, width)
    source = AssumedSpread(spread, width, n_items)
    return Basis(source, width, (f"Assumed: {_lower(_spread_words(source))}",))


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _from_shares(
    gap: float | None, accuracies: Any, discordance: Any, n_items: int | None
) -> Basis:
    """0/1 scores from assumed accuracies, an assumed discordance, both or neither."""
    apart = None
    low, high = 0.0, 1.0
    if accuracies is not None:
        first, second = _two(accuracies)
        apart = abs(first - second)
        low, high = apart, min(first + second, 2 - first - second)
    if discordance is not None:
        share = check_real("discordance", discordance, 0, 1)
        if not low - 1e-12 <= share <= high + 1e-12:
            raise SettingError(
                f"models of accuracy {first:g} and {second:g} differ on {low:.1%} to {high:.1%} of "
                f"the items; discordance is {share:.1%}."
            )
        words = f"Assumed: two models differ on {share:.1%} of the items."
    elif accuracies is not None:
        independent = first * (1 - second) + second * (1 - first)
        share = min(max(DEFAULT_SHARE * independent, low), high)
        words = (
            f"Assumed: models of accuracy {first:g} and {second:g} differ on {share:.1%} of the "
            f"items, two thirds of what independent answers would give (0.57 to 0.86 on five "
            "leaderboards)."
        )
    else:
        share = max(DEFAULT_DISCORDANCE, abs(gap) if isinstance(gap, int | float) else 0.0)
        words = (
            f"Nothing is known of the models, so two are taken to differ on {share:.0%} of the "
            "items (the median was 20 to 35 % on five leaderboards; less where models are alike "
            "or near the top). Measure it on a few items, or give discordance."
        )
    return Basis(AssumedDiscordance(share, n_items), 1.0, (words,), apart or None)


def _two(accuracies: Any) -> tuple[float, float]:
    try:
        first, second = accuracies
    except (TypeError, ValueError):
        raise SettingError("accuracies must be two shares, one per model.") from None
    return check_real("accuracies", first, 0, 1), check_real("accuracies", second, 0, 1)
