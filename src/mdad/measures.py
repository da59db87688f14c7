"""Measures of reliability, computed from results; nothing is run again.

Every measure is stated for one item set: "seen" (the pool the selector drew from), "unseen"
(held-out items: the ability behind the pool) or "all". Scores, gaps and MDADs are in the unit of
the score matrix.

References
----------
[1] Yauney, Warraich and Swayamdipta, How Reliable is Language Model Micro-Benchmarking?,
    ICLR 2026, arXiv 2510.08730: agreement and MDAD.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from mdad._checks import check_choice, check_real
from mdad._pairs import (
    Ties,
    estimate_signs,
    pair_differences,
    pairs_of,
)
from mdad._reference import reference_mdad
from mdad._rules import first, monotone
from mdad._tables import Binned, agreement_table, bootstrap_weights, trust_table
from mdad.errors import UnknownIdError
from mdad.experiment import ITEM_SETS
from mdad.intervals import Interval, interval_ends, isotonic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from mdad._tables import Weights
    from mdad.results import Results

__all__ = [
    "Rule",
    "Ties",
    "agreement",
    "agreement_curve",
    "errors",
    "kendall_tau",
    "mdad",
    "smallest_trustworthy_gap",
    "trust_curve",
    "unresolved_share",
]

Rule = Literal["monotone", "first", "reference"]
FloatArray = npt.NDArray[np.float64]

AGREEMENT_THRESHOLD = 0.8
EDGE = 1e-9
RUNS_ONLY = Interval(unit="runs")


def agreement(
    results: Results,
    *,
    items: Sequence[str] = ("seen", "unseen"),
    ties: Ties = "wrong",
    interval: Interval | None = None,
) -> pd.DataFrame:
    """Mean agreement over all pairs of target models that are not tied on the full benchmark.

    Parameters
    ----------
    results : of an audit
    items : item sets
    ties : what an estimated tie counts as: "wrong" (the paper's) or "half"
    interval : how intervals are made; default models and runs, 95 %, 1,000 resamples

    Returns
    -------
    data frame: method, size, items, agreement, low, high, n_pairs, n_tied (left out)
    """
    interval = interval or Interval()
    rows = []
    for item_set, table in _tables(results, items, ties, interval):
        n_pairs = int(table.counts.sum())
        n_tied = int((~pairs_of(results, item_set).ordered).sum())
        with np.errstate(invalid="ignore"):
            values = table.sums.sum(axis=-1) / n_pairs if n_pairs else table.sums[:, 0] * np.nan
            replicates = [p.sums.sum(axis=-1) / p.counts.sum(axis=-1) for p in table.replicates]
        lows, highs = interval_ends(values, replicates, interval.level, (0.0, 1.0))
        for cell, (method, size) in enumerate(_cells(results)):
            ends = lows[cell], highs[cell]
            rows.append((method, size, item_set, values[cell], *ends, n_pairs, n_tied))
    return _frame(rows, "method size items agreement low high n_pairs n_tied")


def agreement_curve(
    results: Results,
    method: str,
    size: int,
    *,
    items: str = "seen",
    ties: Ties = "wrong",
    interval: Interval | None = None,
) -> pd.DataFrame:
    """Agreement by full-score gap, in bins of half a point.

    Returns
    -------
    data frame: gap (left edge of the bin), mean_gap (of its pairs), agreement, low, high, fit
    (isotonic), n_pairs; empty bins are left out
    """
    interval = interval or Interval()
    cell = _cell(results, method, size)
    table = agreement_table(results, _item_set(items), ties, interval)
    return _curve(table, cell, results.spec.scores.point / 2, interval, "agreement")


def mdad(
    results: Results,
    *,
    rule: Rule = "monotone",
    threshold: float = AGREEMENT_THRESHOLD,
    items: Sequence[str] = ("seen", "unseen"),
    ties: Ties = "wrong",
    interval: Interval | None = None,
) -> pd.DataFrame:
    """Minimum detectable ability difference: the gap from which pairs are ranked correctly.

    Parameters
    ----------
    results : of an audit
    rule : "monotone": where the isotonic fit of agreement on the gap, weighted by pairs,
        reaches the threshold, interpolated between half-point bins. "first": left edge of the
        first bin with 30 pairs or more whose mean reaches it (for comparison with the paper;
        biased low at small sizes), its interval from the first bin that may reach it to the
        first that surely does. "reference": the algorithm of the July 2025 snapshot, for
        parity tests; it has no interval and says 0.5 when the threshold is not reached.
    threshold : agreement to be reached, the paper's is 0.8
    items, ties, interval : see :func:`agreement`

    Returns
    -------
    data frame: method, size, items, mdad (NaN = not reached), low, high (inf = not reached in
    that share of the replicates, or beyond the range of scores), n_pairs, unresolved (share of the
    target pairs whose gap is below the MDAD; 1 when it is not reached)

    Raises
    ------
    SettingError
        when the threshold is not inside (0, 1) or the rule is unknown.
    """
    check_choice("rule", rule, get_args(Rule))
    check_real("threshold", threshold, 0, 1, open_ends=True)
    if rule == "reference":
        return _reference(results, threshold, items)
    interval = interval or Interval()
    read = {"monotone": monotone, "first": first}[rule]
    rows = []
    for item_set, table in _tables(results, items, ties, interval):
        gaps, n_pairs = pairs_of(results, item_set).gap.ravel(), int(table.counts.sum())
        for cell, (method, size) in enumerate(_cells(results)):
            value, low, high = read(table, cell, threshold, interval)
            found = value if np.isfinite(value) else np.nan
            share = unresolved_share(gaps, found)
            rows.append((method, size, item_set, found, low, high, n_pairs, share))
    return _frame(rows, "method size items mdad low high n_pairs unresolved")


def unresolved_share(gaps: npt.ArrayLike, mdad: float) -> float:
    """Share of a stated set of pairs whose gap is below the MDAD: not reliably preserved.

    Parameters
    ----------
    gaps : full-score differences of the pairs, any sign
    mdad : in the same unit; NaN (not reached) leaves every pair unresolved

    >>> unresolved_share([0.01, -0.02, 0.05, 0.10], 0.04)
    0.5
    """
    sizes = np.abs(np.asarray(gaps, dtype=np.float64))
    if np.isnan(mdad):
        return 1.0
    # A gap at the MDAD is not below it, whichever way its last digit was rounded.
    return float((sizes < mdad * (1 - EDGE)).mean())


def errors(
    results: Results,
    *,
    items: Sequence[str] = ("seen", "unseen"),
    interval: Interval | None = None,
) -> pd.DataFrame:
    """Estimation error and Kendall's tau-b, per run and averaged.

    Returns
    -------
    data frame: method, size, items, error (mean over target models of |estimate - full score|),
    error_low, error_high, bias (mean of estimate - full score), kendall_tau, tau_low, tau_high
    (runs resampled, whatever the unit), n_undefined (runs whose tau-b is undefined: all
    estimates, or all full scores, equal; left out)
    """
    interval = interval or Interval()
    weights = bootstrap_weights(results, interval)
    each = _target_weights(results, weights)
    totals = [weight.sum(axis=1) for weight in each]
    rows = []
    for item_set in items:
        full = results.full(_item_set(item_set))
        taus = kendall_tau(results, item_set)
        difference = results.estimates - full
        for cell, (method, size) in enumerate(_cells(results)):
            m, s = divmod(cell, len(results.experiment.sizes))
            error, bias = np.abs(difference[m, s]), difference[m, s].mean()
            with np.errstate(invalid="ignore"):
                replicates = [(w @ error.ravel()) / t for w, t in zip(each, totals, strict=True)]
            ends = map(float, interval_ends(error.mean(), replicates, interval.level))
            tau = _mean_tau(taus[m, s], weights.runs, interval)
            rows.append((method, size, item_set, error.mean(), *ends, bias, *tau))
    return _frame(
        rows,
        "method size items error error_low error_high bias "
        "kendall_tau tau_low tau_high n_undefined",
    )


def kendall_tau(results: Results, items: str = "seen") -> FloatArray:
    """Kendall's tau-b of estimates and full scores, shape (n_methods, n_sizes, n_runs).

    (concordant - discordant) / sqrt(pairs not tied in estimates x pairs not tied in full scores);
    NaN where one of them is constant.
    """
    full = pairs_of(results, _item_set(items)).sign
    n_methods, n_sizes, n_runs, _ = results.estimates.shape
    taus = np.empty((n_methods, n_sizes, n_runs))
    untied_full = np.count_nonzero(full, axis=-1)
    for m in range(n_methods):
        for s in range(n_sizes):
            sign = estimate_signs(results, m, s)
            balance = (sign * full).sum(axis=-1, dtype=np.int64)
            scale = np.sqrt(np.count_nonzero(sign, axis=-1) * untied_full.astype(np.float64))
            with np.errstate(invalid="ignore", divide="ignore"):
                taus[m, s] = balance / scale
    return taus


def trust_curve(
    results: Results,
    method: str,
    size: int,
    *,
    items: str = "seen",
    interval: Interval = RUNS_ONLY,
) -> pd.DataFrame:
    """Probability that the ranking is right given the gap *observed* on the micro-benchmark.

    A user sees the observed gap, never the true one. Observed ties are left out.

    Returns
    -------
    data frame: gap (left edge of the half-point bin of |estimated gap|), mean_gap, trust, low,
    high, fit (isotonic), n_pairs; empty bins are left out
    """
    cell = _cell(results, method, size)
    m, s = divmod(cell, len(results.experiment.sizes))
    table = trust_table(results, _item_set(items), m, s, interval)
    return _curve(table, 0, results.spec.scores.point / 2, interval, "trust")


def smallest_trustworthy_gap(
    results: Results,
    *,
    probability: float = 0.95,
    items: Sequence[str] = ("seen", "unseen"),
    interval: Interval = RUNS_ONLY,
) -> pd.DataFrame:
    """Observed gap from which the ranking is right with this probability.

    Returns
    -------
    data frame: method, size, items, gap (NaN = not reached), low, high, n_pairs
    """
    check_real("probability", probability, 0, 1, open_ends=True)
    rows = []
    for item_set in items:
        for cell, (method, size) in enumerate(_cells(results)):
            m, s = divmod(cell, len(results.experiment.sizes))
            table = trust_table(results, _item_set(item_set), m, s, interval)
            value, low, high = monotone(table, 0, probability, interval)
            found = value if np.isfinite(value) else np.nan
            rows.append((method, size, item_set, found, low, high, int(table.counts.sum())))
    return _frame(rows, "method size items gap low high n_pairs")


def _reference(results: Results, threshold: float, items: Sequence[str]) -> pd.DataFrame:
    rows = []
    low, high = results.spec.scores.score_range
    for item_set in items:
        # The algorithm knows no scale but [0, 1].
        full = pair_differences(results.full(_item_set(item_set)) / (high - low))
        for cell, (method, size) in enumerate(_cells(results)):
            m, s = divmod(cell, len(results.experiment.sizes))
            value = reference_mdad(full, estimate_signs(results, m, s), threshold)
            share = unresolved_share(full.ravel(), value)
            found = value * (high - low)
            rows.append((method, size, item_set, found, np.nan, np.nan, full.size, share))
    return _frame(rows, "method size items mdad low high n_pairs unresolved")


def _target_weights(results: Results, weights: Weights) -> list[FloatArray]:
    """Weight of each run's targets in each replicate of each kind; see :class:`Binned`.

    Arrays of shape (n_resamples, n_runs x n_target).
    """
    n_target = results.target.shape[1]
    runs = np.repeat(weights.runs, n_target, axis=1)
    if weights.models is None:
        return [runs]
    models = weights.models[:, results.target.ravel()]
    return [models, runs, models * runs]


def _mean_tau(
    taus: FloatArray, runs: FloatArray, interval: Interval
) -> tuple[float, float, float, int]:
    defined = ~np.isnan(taus)
    if not defined.any():
        return np.nan, np.nan, np.nan, len(taus)
    with np.errstate(invalid="ignore"):
        replicates = (runs[:, defined] @ taus[defined]) / runs[:, defined].sum(axis=1)
    mean = float(taus[defined].mean())
    low, high = interval_ends(mean, [replicates], interval.level)
    return mean, float(low), float(high), int((~defined).sum())


def _curve(table: Binned, cell: int, width: float, interval: Interval, name: str) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415  # slow to import

    used = np.flatnonzero(table.counts > 0)
    means = table.sums[cell, used] / table.counts[used]
    with np.errstate(invalid="ignore", divide="ignore"):
        replicates = [(p.sums[cell] / p.counts).T[used] for p in table.replicates]
    low, high = interval_ends(means, replicates, interval.level, (0.0, 1.0))
    return pd.DataFrame(
        {
            "gap": used * width,
            "mean_gap": table.position[used],
            name: means,
            "low": low,
            "high": high,
            "fit": isotonic(table.sums[cell], table.counts)[used],
            "n_pairs": table.counts[used].astype(np.int64),
        }
    )


def _tables(
    results: Results, items: Sequence[str], ties: Ties, interval: Interval
) -> Iterator[tuple[str, Binned]]:
    check_choice("ties", ties, get_args(Ties))
    for item_set in items:
        yield item_set, agreement_table(results, _item_set(item_set), ties, interval)


def _cells(results: Results) -> list[tuple[str, int]]:
    return [(m, s) for m in results.experiment.methods for s in results.experiment.sizes]


def _cell(results: Results, method: str, size: int) -> int:
    cells = _cells(results)
    if (method, size) not in cells:
        raise UnknownIdError(
            f"the results hold no {method!r} of size {size}; methods: "
            f"{', '.join(results.experiment.methods)}; sizes: "
            f"{', '.join(map(str, results.experiment.sizes))}."
        )
    return cells.index((method, size))


def _item_set(items: str) -> str:
    return check_choice("item set", items, ITEM_SETS)


def _frame(rows: list[Any], columns: str) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415  # slow to import

    return pd.DataFrame(rows, columns=columns.split())
