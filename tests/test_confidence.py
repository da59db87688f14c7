"""`stratified-confidence`: strata, allocation, weights, and what small sizes do to the bias."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdad._rng import Stream
from mdad.datasets import simulate_population
from mdad.methods import make_method
from mdad.scores import ScoreMatrix
from mdad.selectors import PaperStratifiedConfidence, StratifiedConfidence
from mdad.selectors.confidence import confidence_strata

DRAWS = 2000
BOUND = 4.5
"""In standard errors."""
FAR = 10
STRATA_SIZES = {0.0: 4, 0.25: 40, 0.5: 60, 1.0: 16}
"""Items of each mean in `by_hand`: 120 in four strata that k-means need not find."""


@pytest.fixture(scope="module")
def scores():
    population = simulate_population(subtasks={"a": 60, "b": 240}, seed=8)
    return population.scores(population.draw_models(40))


def by_hand():
    """Four models; items of four different means, as `STRATA_SIZES` says."""
    columns = [
        [int(row < round(4 * mean)) for row in range(4)]
        for mean, count in STRATA_SIZES.items()
        for _ in range(count)
    ]
    return ScoreMatrix(np.array(columns).T, list("abcd"), [f"i{k:03d}" for k in range(120)])


def estimates(scores, selector, size, aggregate="micro", *, scaled=True):
    """One per draw, of the mean model: the mean over models of the estimates."""
    values, found = scores.values.mean(axis=0), np.empty(DRAWS)
    for draw in range(DRAWS):
        # The strata are those of one stream; the draws differ.
        selection = _ready(scores, selector, aggregate)(size, Stream(draw))
        columns = [scores.item_position[item] for item in selection.items]
        weights = selection.weights * (1 if scaled else selection.total)
        found[draw] = weights @ values[columns]
    return found


class _Late:
    """A stream that is set after preparing."""

    stream = Stream(0)

    def child(self, *name):
        return self.stream.child(*name)


_READY: dict = {}


def _ready(scores, selector, aggregate):
    key = (id(scores), selector, aggregate)
    if key not in _READY:
        late = _Late()
        _READY[key] = (selector.prepare(scores, aggregate=aggregate, stream=late), late)
    build, late = _READY[key]

    def select(size, stream):
        late.stream = stream
        return build(size)

    return select


def z(found, truth):
    return (found.mean() - truth) / (found.std(ddof=1) / math.sqrt(len(found)))


# Strata


def test_strata_part_the_items_by_their_means(scores):
    parts = confidence_strata(scores, 10, Stream(0))
    means = scores.probabilities.astype(float).mean(axis=0)
    assert len(parts) == 10
    assert sorted(np.concatenate(parts).tolist()) == list(range(scores.n_items))
    for lower, upper in pairwise(parts):
        assert means[lower].max() <= means[upper].min()


def test_scores_are_read_where_there_are_no_probabilities():
    parts = confidence_strata(by_hand(), 10, Stream(0))
    assert [len(part) for part in parts] == list(STRATA_SIZES.values())


@given(
    counts=st.lists(st.integers(1, 9), min_size=1, max_size=15),
    n_strata=st.integers(1, 12),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=60, deadline=None)
def test_equal_means_are_never_parted(counts, n_strata, seed):
    layer = np.repeat(np.linspace(0.1, 0.9, len(counts)), counts)[None, :]
    scores = ScoreMatrix(
        np.ones(layer.shape, dtype=int), ["m"], range(layer.shape[1]), probabilities=layer
    )
    parts = confidence_strata(scores, n_strata, Stream(seed))
    assert len(parts) == min(n_strata, len(counts))
    assert sum(len(set(layer[0, part].tolist())) for part in parts) == len(counts)


# Allocation and weights


@pytest.mark.parametrize("size", [1, 3, 10, 15, 47, 120])
def test_every_stratum_gets_its_share_rounded_up_or_down(size):
    scores, selector = by_hand(), StratifiedConfidence()
    for draw in range(30):
        build = selector.prepare(scores, aggregate="micro", stream=Stream(draw))
        means = scores.values[:, [scores.item_position[i] for i in build(size).items]].mean(axis=0)
        for mean, capacity in STRATA_SIZES.items():
            share = size * capacity / 120
            assert (means == mean).sum() in {math.floor(share), math.ceil(share)}
        assert np.ptp(build(size).weights) == 0


def test_weights_by_stratum_by_hand():
    # 12 items of 120: shares 0.4, 4, 6 and 1.6. Weights are N_h / (120 n_h) over their sum.
    scores = by_hand()
    build = StratifiedConfidence(weighting="strata").prepare(
        scores, aggregate="micro", stream=Stream(0)
    )
    selection = build(12)
    means = scores.values[:, [scores.item_position[i] for i in selection.items]].mean(axis=0)
    drawn = {mean: (means == mean).sum() for mean in STRATA_SIZES}
    total = sum(STRATA_SIZES[mean] for mean, count in drawn.items() if count)
    expected = [STRATA_SIZES[mean] / total / drawn[mean] for mean in means.tolist()]
    assert selection.weights == pytest.approx(expected)


@pytest.mark.parametrize("weighting", ["inclusion", "strata"])
def test_macro_weights_of_all_items_are_those_of_the_full_score(scores, weighting):
    selector = StratifiedConfidence(weighting=weighting)
    selection = selector.prepare(scores, aggregate="macro", stream=Stream(0))(scores.n_items)
    columns = [scores.item_position[item] for item in selection.items]
    assert selection.weights == pytest.approx(scores.item_weights("macro")[columns])


def test_items_are_chosen_equally_often(scores):
    select, counts = _ready(scores, StratifiedConfidence(), "micro"), np.zeros(scores.n_items)
    for draw in range(DRAWS):
        counts[[scores.item_position[i] for i in select(12, Stream(draw)).items]] += 1
    chance = 12 / scores.n_items
    assert np.abs(counts - DRAWS * chance).max() < 5 * math.sqrt(DRAWS * chance * (1 - chance))


# Bias


@pytest.mark.parametrize("size", [1, 3, 10, 50])
def test_our_form_is_unbiased_at_every_size(scores, size):
    found = estimates(scores, StratifiedConfidence(), size)
    assert abs(z(found, scores.values.mean())) < BOUND


def test_weights_by_stratum_are_biased_where_strata_get_no_item():
    # The truth: (0 x 4 + 40 / 4 + 60 / 2 + 16) / 120 = 56 / 120. Of 3 items the shares are 0.1,
    # 1, 1.5 and 0.4: most draws miss the first and the last stratum.
    scores, truth = by_hand(), 56 / 120
    assert abs(z(estimates(scores, StratifiedConfidence(), 3), truth)) < BOUND
    biased = StratifiedConfidence(weighting="strata")
    assert abs(z(estimates(scores, biased, 3), truth)) > FAR
    # From an item in every stratum on (30 = 120 / 4) there is none: here no error at all.
    assert estimates(scores, biased, 30) == pytest.approx(truth)


def test_strata_make_estimates_more_precise_than_a_uniform_sample(scores):
    uniform = estimates(scores, make_method("random").selector, 30)
    assert estimates(scores, StratifiedConfidence(), 30).var() < 0.5 * uniform.var()


# The paper's form


def test_the_papers_weights_by_hand():
    # 10 of 120: shares 0.33, 3.33, 5 and 1.33 round to 0, 3, 5 and 1; one more is drawn from all.
    scores, seen = by_hand(), set()
    expected = {0.0: 1 / 10, 0.25: 40 / 3 / 120, 0.5: 60 / 5 / 120, 1.0: 16 / 1 / 120}
    for draw in range(60):
        build = PaperStratifiedConfidence().prepare(scores, aggregate="micro", stream=Stream(draw))
        selection = build(10)
        means = scores.values[:, [scores.item_position[i] for i in selection.items]].mean(axis=0)
        weights = [expected[mean] for mean in means.tolist()]
        assert selection.weights * selection.total == pytest.approx(weights)
        assert selection.total == pytest.approx(sum(weights))
        seen.add(tuple((means == mean).sum() for mean in STRATA_SIZES))
    assert (0, 3, 6, 1) in seen
    assert len(seen) > 1


def test_the_papers_form_drops_surplus_items_at_random():
    # Shares 1.5 and 1.5 round to 2 and 2 (halves to the even number): four for three.
    scores = ScoreMatrix([[0] * 10 + [1] * 10], ["m"], [f"i{k:02d}" for k in range(20)])
    zeros = set()
    for draw in range(40):
        build = PaperStratifiedConfidence().prepare(scores, aggregate="micro", stream=Stream(draw))
        selection = build(3)
        assert selection.size == 3
        # p = 2 / 10 claimed: each weighs 1 / (20 x 0.2), together 0.75.
        assert selection.total == pytest.approx(0.75)
        zeros.add(sum(int(item[1:]) < 10 for item in selection.items))
    assert zeros == {1, 2}


def test_the_papers_form_is_biased_at_small_sizes_and_may_exceed_the_range():
    scores, truth = by_hand(), 56 / 120
    found = estimates(scores, PaperStratifiedConfidence(), 10, scaled=False)
    assert abs(z(found, truth)) > FAR
    build = make_method("stratified-confidence", "paper").prepare(
        scores, aggregate="micro", stream=Stream(0)
    )
    all_right = np.ones((1, 10))
    assert build(10).estimator.estimate(all_right).values[0] == pytest.approx(
        build(10).selection.total
    )
    totals = [
        make_method("stratified-confidence", "paper")
        .prepare(scores, aggregate="micro", stream=Stream(draw))(10)
        .selection.total
        for draw in range(40)
    ]
    assert max(totals) > 1


def test_the_same_stream_gives_the_same_strata_and_items(scores):
    for form in ("default", "paper"):
        a, b = (
            make_method("stratified-confidence", form).prepare(
                scores, aggregate="micro", stream=Stream(4)
            )(25)
            for _ in range(2)
        )
        assert a.selection.items == b.selection.items
        assert (a.selection.weights == b.selection.weights).all()
