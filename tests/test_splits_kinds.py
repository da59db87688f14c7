"""Grouped and frontier splits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mdad._groups import model_groups
from mdad._rng import Stream
from mdad.errors import ScoresError, SettingError
from mdad.experiment import Experiment
from mdad.runner import run_experiment
from mdad.scores import Completed, ScoreMatrix
from mdad.splits import draw_split


def scores_of(values, names=None, info=None, subtasks=None):
    names = names or [f"m{i:02d}" for i in range(len(values))]
    return ScoreMatrix(
        values, names, [f"q{i:02d}" for i in range(values.shape[1])], subtasks, model_info=info
    )


@pytest.fixture
def scores():
    return scores_of(np.random.default_rng(0).integers(0, 2, (30, 40)))


def split_of(scores, seed, kind, **settings):
    sizes = {"n_source": 18, "n_target": 6, **settings}
    return draw_split(scores, **sizes, kind=kind, stream=Stream(seed))


def test_items_are_drawn_alike_whatever_the_split_of_models(scores):
    splits = [split_of(scores, 3, kind) for kind in ("random", "grouped", "frontier")]
    assert len({split.seen for split in splits}) == 1


def test_frontier_targets_are_the_best_and_no_source_is_better(scores):
    full = dict(zip(scores.models, scores.full_scores().tolist(), strict=True))
    best = sorted(scores.models, key=lambda model: (-full[model], model))[:6]
    sources = set()
    for seed in range(10):
        split = split_of(scores, seed, "frontier")
        assert split.target == tuple(sorted(best))
        assert max(full[m] for m in split.source) <= min(full[m] for m in split.target)
        assert len(split.source) == 18
        sources |= set(split.source)
    assert sources == set(scores.models) - set(best)


def test_the_frontier_is_that_of_the_aggregate():
    values = np.zeros((4, 10))
    values[0, :8], values[1, 8:] = 1, 1
    scores = scores_of(values, subtasks=["a"] * 8 + ["b"] * 2)
    micro, macro = (
        split_of(scores, 0, "frontier", n_target=1, n_source=2, aggregate=aggregate)
        for aggregate in ("micro", "macro")
    )
    assert micro.target == ("m00",)
    assert macro.target == ("m00",)
    values[2, 6:] = 1
    scores = scores_of(values, subtasks=["a"] * 8 + ["b"] * 2)
    found = split_of(scores, 0, "frontier", n_target=1, n_source=2, aggregate="macro")
    assert found.target == ("m02",)


def test_a_family_is_never_on_both_sides():
    values = np.random.default_rng(1).integers(0, 2, (30, 40))
    families = [f"f{i % 9}" for i in range(28)] + [None, np.nan]
    names = [f"m{i:02d}" for i in range(30)]
    info = pd.DataFrame({"family": families}, index=names)
    scores = scores_of(values, names, info)
    family = dict(zip(names, families, strict=True))
    groups = model_groups(scores)
    assert len(set(groups.tolist())) == 9 + 2
    seen = set()
    for seed in range(30):
        split = split_of(scores, seed, "grouped")
        assert len(split.target) == 6
        assert 1 <= len(split.source) <= 18
        sides = [
            {family[m] for m in side if isinstance(family[m], str)}
            for side in (split.source, split.target)
        ]
        assert not sides[0] & sides[1]
        assert not set(split.source) & set(split.target)
        seen |= set(split.target)
    assert seen == set(names)


def test_fixed_targets_keep_their_families_out():
    values = np.random.default_rng(1).integers(0, 2, (12, 20))
    names = [f"{'abcd'[i % 4]}/m{i:02d}" for i in range(12)]
    scores = scores_of(values, names)
    targets = ("a/m00", "b/m01")
    split = split_of(scores, 0, "grouped", targets=targets, n_target=2, groups="^([^/]+)/")
    assert split.target == targets
    assert set(split.source) == {name for name in names if name[0] in "cd"}


def test_near_copies_are_a_family(scores):
    values = scores.values.astype(float).copy()
    values = np.concatenate([values] * 5, axis=1)
    values[3] = values[7]
    values[11] = values[7]
    values[11, 0] = 1 - values[11, 0]
    groups = model_groups(scores_of(values))
    assert groups[3] == groups[7] == groups[11]
    assert len(set(groups.tolist())) == 28


def test_graded_copies_are_a_family():
    values = np.random.default_rng(0).random((6, 10))
    values[4] = values[1]
    groups = model_groups(scores_of(values))
    assert groups[4] == groups[1]
    assert len(set(groups.tolist())) == 5


def test_families_that_cannot_be_are_refused(scores):
    with pytest.raises(SettingError, match="no regular expression"):
        model_groups(scores, "(")
    with pytest.raises(SettingError, match="one group in brackets"):
        model_groups(scores, "organisation")
    with pytest.raises(SettingError, match="matches no model id"):
        model_groups(scores, "^(x)/")
    info = pd.DataFrame({"maker": ["a"] * 30}, index=scores.models)
    one = scores_of(scores.values, list(scores.models), info)
    with pytest.raises(ScoresError, match="leaves no source model"):
        split_of(one, 0, "grouped", groups="maker")
    with pytest.raises(SettingError, match="did you mean 'maker'"):
        model_groups(one, "makers")


def test_an_experiment_knows_its_split(scores):
    with pytest.raises(SettingError, match="belong to the split 'grouped'"):
        Experiment(groups="family")
    with pytest.raises(SettingError, match="takes the best models"):
        Experiment(split="frontier", targets=("m00", "m01"))
    with pytest.raises(SettingError, match="unknown split"):
        Experiment(split="fronteer")
    for split in ("grouped", "frontier"):
        experiment = Experiment(methods=("random",), sizes=(5,), runs=3, split=split)
        results = run_experiment(Completed(scores, (), ()), experiment)
        assert results.estimates.shape == (1, 1, 3, 10)
    # Nothing is drawn of the targets at the frontier.
    assert len({run.models for run in results.runs}) == 1
