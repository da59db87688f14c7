"""Methods: named pairs of a selector and an estimator. What command, docs and tests read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mdad._checks import suggestion
from mdad._method import Built, Method
from mdad.auto import Auto
from mdad.errors import MethodError
from mdad.estimators import (
    Aipw,
    AnchorMean,
    AnchorPredictor,
    BestLinear,
    IrtPrediction,
    KernelRidge,
    Ridge,
    WeightedMean,
    WeightedTotal,
)
from mdad.selectors import (
    AnchorPoints,
    COptimal,
    Covariance,
    Diversity,
    EqualSubtasks,
    IrtClusters,
    IrtInformation,
    LassoPath,
    Mrmr,
    OptionAnchors,
    PaperDiversity,
    PaperStratifiedConfidence,
    ProportionalSubtasks,
    StratifiedConfidence,
    Uniform,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mdad.scores import ScoreMatrix

__all__ = ["METHODS", "Built", "Form", "Method", "MethodInfo", "default_methods", "make_method"]

Form = Literal["default", "paper"]
"""Whose form of a method: ours, or the one the paper's code runs where that differs."""

ENTRY_POINTS = "mdad.methods"


@dataclass(frozen=True)
class MethodInfo:
    """A registered method.

    Parameters
    ----------
    factory : form -> method
    help : one line on what it does
    reads : what it needs beside item ids
    paper_form : how the paper's code differs, "" when it does not
    """

    factory: Callable[[Form], Method]
    help: str
    reads: str
    paper_form: str = ""


def _random(_form: Form) -> Method:
    return Method("random", Uniform(), WeightedMean(uniform=True))


def _equal(form: Form) -> Method:
    selector = EqualSubtasks(weighted=form == "default")
    return Method("random-subtasks-equal", selector, WeightedMean())


def _proportional(form: Form) -> Method:
    selector = ProportionalSubtasks(equal_shares=form == "paper")
    return Method("random-subtasks-proportional", selector, WeightedMean())


def _confidence(form: Form) -> Method:
    if form == "paper":
        return Method("stratified-confidence", PaperStratifiedConfidence(), WeightedTotal())
    return Method("stratified-confidence", StratifiedConfidence(), WeightedMean())


def _diversity(form: Form) -> Method:
    selector = PaperDiversity() if form == "paper" else Diversity()
    return Method("diversity", selector, WeightedMean())


def _anchor_points(_form: Form) -> Method:
    return Method("anchor-points", AnchorPoints(), AnchorMean())


def _anchor_predictor(form: Form) -> Method:
    name = "anchor-points-predictor"
    if form == "paper":
        return Method(name, OptionAnchors("sum"), AnchorPredictor("sum", observed=False))
    return Method(name, OptionAnchors(), AnchorPredictor())


def _tinybenchmarks(_form: Form) -> Method:
    return Method("tinybenchmarks", IrtClusters(), WeightedMean())


def _pirt(_form: Form) -> Method:
    return Method("tinybenchmarks-pirt", IrtClusters(), IrtPrediction())


def _gpirt(_form: Form) -> Method:
    return Method("tinybenchmarks-gpirt", IrtClusters(), IrtPrediction(mixed=True))


def _c_optimal(_form: Form) -> Method:
    return Method("c-optimal", COptimal(), BestLinear())


def _c_optimal_factor(_form: Form) -> Method:
    covariance = Covariance(form="factor")
    return Method("c-optimal-factor", COptimal(covariance), BestLinear(covariance))


def _random_ridge(_form: Form) -> Method:
    return Method("random-ridge", Uniform(), Ridge())


def _random_aipw(_form: Form) -> Method:
    return Method("random-aipw", Uniform(), Aipw(uniform=True))


def _anchor_ridge(_form: Form) -> Method:
    return Method("anchor-ridge", AnchorPoints(), Ridge())


def _mrmr_ridge(_form: Form) -> Method:
    return Method("mrmr-ridge", Mrmr(), Ridge())


def _mrmr_kernel_ridge(_form: Form) -> Method:
    return Method("mrmr-kernel-ridge", Mrmr(), KernelRidge())


def _lasso(_form: Form) -> Method:
    return Method("lasso", LassoPath(), Ridge())


def _irt_information(_form: Form) -> Method:
    return Method("irt-information", IrtInformation(), IrtPrediction())


def _auto(_form: Form) -> Method:
    return Auto()


def _auto_ability(_form: Form) -> Method:
    return Auto("auto-ability", aim="ability")


METHODS: dict[str, MethodInfo] = {
    "random": MethodInfo(
        _random, "uniform random items without replacement; plain mean", reads="nothing"
    ),
    "random-subtasks-equal": MethodInfo(
        _equal,
        "the same number of random items from each subtask; mean weighted by subtask size",
        reads="subtasks",
        paper_form="unweighted mean, biased towards small subtasks",
    ),
    "random-subtasks-proportional": MethodInfo(
        _proportional,
        "random items from each subtask in proportion to its size; plain mean",
        reads="subtasks",
        paper_form="the same expected number from each subtask, unweighted",
    ),
    "stratified-confidence": MethodInfo(
        _confidence,
        "random items from each stratum of similar mean probability, in proportion to its size",
        reads="probabilities, else values",
        paper_form="weights that are not the inverse chances and do not sum to 1",
    ),
    "diversity": MethodInfo(
        _diversity,
        "items that differ from each other, drawn by a determinantal process; weighted mean",
        reads="probabilities, else values",
        paper_form="plain mean, without the items in the tails of the four components",
    ),
    "anchor-points": MethodInfo(
        _anchor_points,
        "items that stand for clusters of correlated items; mean probability weighted by share",
        reads="probabilities, else values",
    ),
    "anchor-points-predictor": MethodInfo(
        _anchor_predictor,
        "every item predicted right or wrong from the logits of the chosen one most like it",
        reads="probabilities of every option",
        paper_form="without the observed items, clusters from the summed correlations of options",
    ),
    "tinybenchmarks": MethodInfo(
        _tinybenchmarks,
        "items that stand for clusters of item response parameters; mean weighted by cluster",
        reads="0/1 values",
    ),
    "tinybenchmarks-pirt": MethodInfo(
        _pirt,
        "the same items; all others predicted from the ability a model shows on them",
        reads="0/1 values",
    ),
    "tinybenchmarks-gpirt": MethodInfo(
        _gpirt,
        "the same items; weighted mean and prediction mixed, weight fitted on source models",
        reads="0/1 values",
    ),
    "c-optimal": MethodInfo(
        _c_optimal,
        "items that leave least unknown of the full score; best linear predictor",
        reads="values",
    ),
    "c-optimal-factor": MethodInfo(
        _c_optimal_factor,
        "the same by what items share in 10 factors alone; generalises better to unseen items",
        reads="values",
    ),
    "auto": MethodInfo(
        _auto,
        "the best of several methods for this size, by an experiment among the source models",
        reads="values",
    ),
    "auto-ability": MethodInfo(
        _auto_ability,
        "the same, judged on items that could not be chosen: the ability behind the pool",
        reads="values",
    ),
    "random-ridge": MethodInfo(
        _random_ridge,
        "uniform random items; the others predicted by ridge regression over source models",
        reads="values",
    ),
    "random-aipw": MethodInfo(
        _random_aipw,
        "uniform random items; the others imputed for each model, corrected by held-out residuals",
        reads="values",
    ),
    "anchor-ridge": MethodInfo(
        _anchor_ridge,
        "anchor points; the other items predicted by ridge regression over source models",
        reads="probabilities, else values",
    ),
    "mrmr-ridge": MethodInfo(
        _mrmr_ridge,
        "items relevant to the full score, not redundant with each other; ridge regression",
        reads="values",
    ),
    "mrmr-kernel-ridge": MethodInfo(
        _mrmr_kernel_ridge,
        "the same items; ridge regression with a Gaussian kernel",
        reads="values",
    ),
    "lasso": MethodInfo(
        _lasso,
        "items in the order in which they enter the lasso path; ridge regression",
        reads="values",
    ),
    "irt-information": MethodInfo(
        _irt_information,
        "items of most Fisher information on the full score; others predicted from the ability",
        reads="0/1 values",
    ),
}


def make_method(name: str, form: Form = "default") -> Method:
    """The method of this name.

    Third-party packages add methods by the entry point group ``mdad.methods``: a name and a
    :class:`MethodInfo`.

    Raises
    ------
    MethodError
        when there is none; names the nearest.
    """
    info = METHODS.get(name) or _third_party().get(name)
    if info is None:
        known = [*METHODS, *_third_party()]
        raise MethodError(f"unknown method {name!r}; {suggestion(name, known)}.")
    return info.factory(form)


def _third_party() -> dict[str, MethodInfo]:
    from importlib.metadata import entry_points  # noqa: PLC0415  # rarely needed, slow to import

    return {point.name: point.load() for point in entry_points(group=ENTRY_POINTS)}


def default_methods(scores: ScoreMatrix) -> tuple[str, ...]:
    """The methods an audit compares when none are named."""
    if scores.subtasks is None or len(set(scores.subtasks)) == 1:
        return ("random",)
    return ("random", "random-subtasks-equal", "random-subtasks-proportional")
