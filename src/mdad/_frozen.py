"""Fitted estimators turned into plain numbers, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mdad._specs import (
    DifferenceSpec,
    EstimatorSpec,
    IrtSpec,
    KernelSpec,
    LinearSpec,
    MeanSpec,
    Rows,
)
from mdad.errors import MethodError
from mdad.estimators.aipw import FittedAipw, fitted_aipw
from mdad.estimators.anchor_mean import FittedAnchorMean
from mdad.estimators.conditional import FittedLinear
from mdad.estimators.irt_prediction import FittedIrtPrediction
from mdad.estimators.mean import FittedMean
from mdad.estimators.regression import FittedKernelRidge, FittedRidge
from mdad.estimators.total import FittedTotal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from mdad._method import Built
    from mdad.estimators import FittedEstimator

    FloatArray = npt.NDArray[np.float64]

__all__ = ["freeze", "thaw", "weights_of"]


def freeze(built: Built, method: str) -> EstimatorSpec:
    """The estimator as plain numbers that read scores alone.

    A mean of probabilities becomes the mean of the scores with the same weights: a run of a harness
    has scores on the chosen items, and what is estimated is the mean of scores. The calibration is
    made with what is frozen, so it speaks of that.

    Parameters
    ----------
    built : items and fitted estimator
    method : its name, for messages

    Raises
    ------
    MethodError
        when the estimator needs more than scores.
    """
    fitted = built.estimator
    if isinstance(fitted, FittedMean | FittedAnchorMean):
        return MeanSpec()
    if isinstance(fitted, FittedLinear) and not fitted.needs_probabilities:
        line = fitted.linear
        return LinearSpec(line.constant, _numbers(line.direct + line.slope))
    if isinstance(fitted, FittedRidge):
        return LinearSpec(fitted.constant, _numbers(fitted.coefficients))
    if isinstance(fitted, FittedTotal):
        return LinearSpec(0.0, _numbers(fitted.weights))
    for kind, frozen in _FORMS:
        if isinstance(fitted, kind):
            return frozen(fitted)
    raise MethodError(
        f"the method {method!r} cannot be frozen in a file: its estimate needs more of a model "
        "than its scores on the chosen items. Choose another method; `mdad methods` lists them."
    )


def weights_of(built: Built) -> FloatArray | None:
    """Weights of a weighted mean of the chosen items; None of any other estimator."""
    fitted = built.estimator
    return fitted.weights if isinstance(fitted, FittedMean | FittedAnchorMean) else None


def thaw(spec: EstimatorSpec, weights: Sequence[float] | None, size: int) -> FittedEstimator:
    """The estimator again.

    Parameters
    ----------
    spec : of :func:`freeze`
    weights : of the chosen items in a mean; None = all the same
    size : number of chosen items
    """
    if isinstance(spec, MeanSpec):
        return FittedMean(np.full(size, 1 / size) if weights is None else np.array(weights), None)
    if isinstance(spec, LinearSpec):
        return FittedRidge(spec.constant, np.array(spec.coefficients), np.nan)
    if isinstance(spec, KernelSpec):
        return FittedKernelRidge(
            direct=np.array(spec.direct),
            sources=_array(spec.sources),
            width=spec.width,
            dual=np.array(spec.dual),
            constant=spec.constant,
            standard_error=np.nan,
        )
    if isinstance(spec, DifferenceSpec):
        return _thawed_difference(spec)
    return _thawed_irt(spec)


def _kernel(fitted: FittedKernelRidge) -> KernelSpec:
    return KernelSpec(
        constant=fitted.constant,
        direct=_numbers(fitted.direct),
        width=fitted.width,
        dual=_numbers(fitted.dual),
        sources=_rows(fitted.sources),
    )


def _difference(fitted: FittedAipw) -> DifferenceSpec:
    return DifferenceSpec(
        direct=_numbers(fitted.direct),
        rest=fitted.rest,
        n_rest=fitted.n_rest,
        variance=fitted.variance,
        trust=fitted.trust,
        corrected=len(fitted.held[0]) > 0,
        uniform=fitted.uniform,
        others=_numbers(fitted.others),
        sources=_rows(fitted.features),
    )


def _thawed_difference(spec: DifferenceSpec) -> FittedAipw:
    fitted = fitted_aipw(
        _array(spec.sources),
        np.array(spec.others),
        np.array(spec.direct),
        rest=spec.rest,
        n_rest=spec.n_rest,
        variance=spec.variance,
        corrected=spec.corrected,
        uniform=spec.uniform,
    )
    return replace(fitted, trust=spec.trust)


def _irt(fitted: FittedIrtPrediction) -> IrtSpec:
    position = {item: column for column, item in enumerate(fitted.fit.items)}
    return IrtSpec(
        discrimination=tuple(_numbers(row) for row in fitted.fit.discrimination),
        difficulty=_numbers(fitted.fit.difficulty),
        chosen=tuple(position[item] for item in fitted.items),
        pool_weights=_numbers(fitted.pool_weights),
        weights=_numbers(fitted.weights),
        mix=fitted.mix,
    )


def _thawed_irt(spec: IrtSpec) -> FittedIrtPrediction:
    from mdad.irt import IrtFit, Prior  # noqa: PLC0415  # needed here only

    items = tuple(map(str, range(len(spec.difficulty))))
    discrimination = np.array(spec.discrimination)
    fit = IrtFit(
        models=(),
        items=items,
        discrimination=discrimination,
        difficulty=np.array(spec.difficulty),
        ability=np.empty((0, discrimination.shape[1])),
        log_likelihood=np.nan,
        objective=np.nan,
        n_scored=0,
        prior=Prior(np.ones(discrimination.shape[1]), 0.0, 1.0),
    )
    return FittedIrtPrediction(
        fit,
        tuple(items[k] for k in spec.chosen),
        np.array(spec.pool_weights),
        np.array(spec.weights),
        spec.mix,
    )


def _numbers(array: FloatArray) -> tuple[float, ...]:
    return tuple(array.tolist())


def _rows(array: FloatArray) -> Rows:
    if np.isin(array, (0, 1)).all():
        return tuple("".join("1" if x else "0" for x in row) for row in array.tolist())
    return tuple(_numbers(row) for row in array)


def _array(rows: Rows) -> FloatArray:
    return np.array([[float(x) for x in row] for row in rows])


_FORMS: tuple[tuple[type, Callable[[Any], EstimatorSpec]], ...] = (
    (FittedKernelRidge, _kernel),
    (FittedAipw, _difference),
    (FittedIrtPrediction, _irt),
)
