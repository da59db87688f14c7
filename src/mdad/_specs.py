"""Fitted estimators and their calibration as plain numbers: what a micro-benchmark's file holds."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Positive = Annotated[float, msgspec.Meta(gt=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]

Rows = tuple[str | tuple[float, ...], ...]
"""A row for each source model, or for each direction in which they differ: a string of 0 and 1, or
numbers."""


class Spec(msgspec.Struct, frozen=True, tag_field="type", forbid_unknown_fields=True):
    """A fitted estimator; its ``type`` says which."""


class MeanSpec(Spec, frozen=True, tag="mean"):
    """The mean of the chosen items' scores, by the weights of the micro-benchmark.

    Parameters
    ----------
    uniform : the items are a uniform random subset of the pool, so the finite-population formulas
        of a random sample hold
    """

    uniform: bool = False


class LinearSpec(Spec, frozen=True, tag="linear"):
    """constant + scores @ coefficients.

    Parameters
    ----------
    constant : what it says where all scores are 0
    coefficients : one per chosen item
    """

    constant: float
    coefficients: tuple[float, ...]


class KernelSpec(Spec, frozen=True, tag="kernel"):
    """scores @ direct + Gaussian kernel(scores, sources) @ dual + constant.

    Parameters
    ----------
    see :class:`mdad.estimators.FittedKernelRidge`
    """

    constant: float
    direct: tuple[float, ...]
    width: float
    dual: tuple[float, ...]
    sources: Rows


class DifferenceSpec(Spec, frozen=True, tag="difference"):
    """The other items imputed for each model, corrected by the error on held-out chosen ones.

    Parameters
    ----------
    see :class:`mdad.estimators.FittedAipw`
    """

    direct: tuple[float, ...]
    rest: float
    n_rest: int
    variance: float
    trust: float
    corrected: bool
    uniform: bool
    others: tuple[float, ...]
    sources: Rows


class IrtSpec(Spec, frozen=True, tag="irt"):
    """The other items predicted from the ability that the chosen ones show.

    Parameters
    ----------
    discrimination : one row per item of the pool, one number per dimension
    difficulty : one per item of the pool
    chosen : positions of the chosen items among those of the pool
    pool_weights : weight of each item of the pool in a full score
    weights : of the chosen items in the weighted mean; they sum to 1
    mix : weight of the weighted mean in the estimate
    """

    discrimination: tuple[tuple[float, ...], ...]
    difficulty: tuple[float, ...]
    chosen: tuple[int, ...]
    pool_weights: tuple[float, ...]
    weights: tuple[float, ...]
    mix: float


EstimatorSpec = MeanSpec | LinearSpec | KernelSpec | DifferenceSpec | IrtSpec


class Spread(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A symmetric distribution: Student's t, scaled.

    Parameters
    ----------
    scale : in the unit of the scores; in standard errors where errors are studentised
    freedom : degrees of freedom
    centre : its middle
    """

    scale: NotNegative
    freedom: Positive
    centre: float = 0.0


class GapLaw(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the gap of two models' full scores is distributed, given their estimated gap e.

    Student's t around slope e with the scale sqrt(noise^2 + (share e)^2). The interval of a gap and
    the probability that a model is ahead are read from this one law.

    Parameters
    ----------
    slope : what is left of an estimated gap on average
    noise : in the unit of the scores
    share : of the estimated gap
    freedom : degrees of freedom
    """

    slope: NotNegative
    noise: Positive
    share: NotNegative
    freedom: Positive


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model like the sources scores on each chosen item, and how far models stray from it.

    Parameters
    ----------
    constants, slopes : one per chosen item; the score expected of a model with the full score y is
        constant + slope y, cut to the range of the scores
    variance : of the source models' scores around that, summed over the chosen items
    limit : misfit that one source model in a hundred exceeds; misfit is a model's sum of squares
        around its profile over ``variance``
    """

    constants: tuple[float, ...]
    slopes: tuple[float, ...]
    variance: Positive
    limit: Positive


class Calibration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far estimates were off for source models that had no part in choosing the items.

    Parameters
    ----------
    split, groups : how held-out models differed from the others; see :mod:`mdad.splits`
    n_models, n_pairs, folds : held-out models, pairs of them, and how often all was done anew
    score : error of a model's estimated full score
    studentised : the error is in units of the estimate's own standard error
    gap : gap over the pool, given the estimated one
    gap_unseen : gap over as many unseen items of the kind
    profile : what such models score on the chosen items
    """

    split: Literal["random", "grouped", "frontier"]
    groups: str
    n_models: Count
    n_pairs: Count
    folds: Count
    score: Spread
    studentised: bool
    gap: GapLaw
    gap_unseen: GapLaw
    profile: Profile


def mismatch(spec: EstimatorSpec, calibration: Calibration | None, size: int) -> str:
    """What does not fit together for so many chosen items; "" when all does."""
    profile = None if calibration is None else calibration.profile
    for owner in (spec, profile):
        for name in ("coefficients", "direct", "weights", "chosen", "constants", "slopes"):
            part = getattr(owner, name, None)
            if part is not None and len(part) != size:
                return f"{name} must have one entry per item, {size}; got {len(part)}."
    if not isinstance(spec, MeanSpec) and calibration is None:
        return "an estimator that was learned needs its calibration."
    if isinstance(spec, KernelSpec | DifferenceSpec):
        return _rows_mismatch(spec, size)
    return _pool_mismatch(spec, size) if isinstance(spec, IrtSpec) else ""


def _rows_mismatch(spec: KernelSpec | DifferenceSpec, size: int) -> str:
    beside = spec.dual if isinstance(spec, KernelSpec) else spec.others
    if len(beside) != len(spec.sources) or any(len(row) != size for row in spec.sources):
        return "sources must be one row per model, or per direction, with one number per item."
    if any(isinstance(row, str) and set(row) - {"0", "1"} for row in spec.sources):
        return "a row of scores that is a text must be made of 0 and 1."
    return ""


def _pool_mismatch(spec: IrtSpec, size: int) -> str:
    pool = len(spec.difficulty)
    if not len(spec.discrimination) == len(spec.pool_weights) == pool:
        return "discrimination, difficulty and pool_weights must be one per item of the pool."
    if len({len(row) for row in spec.discrimination}) != 1:
        return "every item of the pool must have as many discriminations as the others."
    if len(set(spec.chosen)) != size or not set(spec.chosen) <= set(range(pool)):
        return "chosen must be different positions of the pool."
    return ""
