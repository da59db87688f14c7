"""Splits: four disjoint sets, drawn fairly, the same whatever the order of rows and columns."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mdad._rng import Stream
from mdad.scores import ScoreMatrix
from mdad.splits import draw_split, n_seen

SIZES = {"one": 1, "five": 5, "ten": 10, "many": 44}
LABELS = [name for name, size in SIZES.items() for _ in range(size)]


@pytest.fixture
def scores():
    values = np.zeros((20, len(LABELS)), dtype=int)
    models = [f"m{i:02d}" for i in range(20)]
    return ScoreMatrix(values, models, [f"q{i:02d}" for i in range(60)], LABELS)


def split_of(scores, seed=0, **sizes):
    return draw_split(scores, **{"n_source": 12, "n_target": 6, **sizes}, stream=Stream(seed))


def test_the_four_sets_are_disjoint_and_as_large_as_asked(scores):
    for seed in range(20):
        split = split_of(scores, seed)
        assert len(set(split.source)) == 12
        assert len(set(split.target)) == 6
        assert not set(split.source) & set(split.target)
        assert set(split.source) | set(split.target) <= set(scores.models)
        assert not set(split.seen) & set(split.unseen)
        assert sorted(split.seen + split.unseen) == sorted(scores.items)
        for ids in (split.source, split.target, split.seen, split.unseen):
            assert list(ids) == sorted(ids)


def test_half_of_each_subtask_rounded_down_is_seen(scores):
    label = dict(zip(scores.items, scores.subtasks, strict=True))
    for seed in range(20):
        seen = [label[item] for item in split_of(scores, seed).seen]
        assert [seen.count(name) for name in SIZES] == [0, 2, 5, 22]
        assert len(seen) == n_seen(scores) == 29
    plain = scores.restrict(items=scores.items[1:])
    assert n_seen(plain) == 29


def test_without_subtasks_half_of_all_items_is_seen():
    scores = ScoreMatrix(np.zeros((3, 7), dtype=int), range(3), range(7))
    assert len(split_of(scores, n_source=1, n_target=2).seen) == n_seen(scores) == 3


def test_the_order_of_rows_and_columns_makes_no_difference(scores):
    rng = np.random.default_rng(1)
    shuffled = scores.restrict(
        models=[scores.models[i] for i in rng.permutation(20)],
        items=[scores.items[i] for i in rng.permutation(60)],
    )
    assert all(split_of(scores, seed) == split_of(shuffled, seed) for seed in range(20))


def test_targets_and_items_stay_when_the_number_of_sources_changes(scores):
    a, b = split_of(scores, n_source=3), split_of(scores, n_source=14)
    assert (a.target, a.seen, a.unseen) == (b.target, b.seen, b.unseen)
    assert set(a.source) < set(b.source)


def test_every_model_and_item_has_the_same_chance(scores):
    draws = 2000
    targets, sources, seen = {}, {}, {}
    for seed in range(draws):
        split = split_of(scores, seed)
        for counts, ids in ((targets, split.target), (sources, split.source), (seen, split.seen)):
            for name in ids:
                counts[name] = counts.get(name, 0) + 1

    def fair(counts, names, chance):
        # 100 counts in all; one is off by 5 standard errors once in 17,000 times.
        bound = 5 * math.sqrt(draws * chance * (1 - chance))
        return all(abs(counts[name] - draws * chance) < bound for name in names)

    assert fair(targets, scores.models, 6 / 20)
    assert fair(sources, scores.models, 12 / 20)
    assert fair(seen, [i for i, t in zip(scores.items, LABELS, strict=True) if t == "five"], 2 / 5)
    assert fair(seen, [i for i, t in zip(scores.items, LABELS, strict=True) if t == "many"], 1 / 2)
