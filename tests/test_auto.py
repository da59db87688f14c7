"""auto: what it chooses, why, and that it falls back."""

from __future__ import annotations

import numpy as np
import pytest

from mdad._rng import Stream
from mdad.auto import Auto
from mdad.auto._auto import GRID, _around
from mdad.auto._candidates import learned, random_family
from mdad.auto._evidence import Evidence
from mdad.auto._inner import Inner, agreement
from mdad.errors import SettingError
from mdad.experiment import Experiment, estimate
from mdad.methods import make_method
from mdad.runner import run_experiment
from mdad.scores import Completed, ScoreMatrix


def matrix(values, subtasks=None):
    models = [f"m{i:03d}" for i in range(len(values))]
    return ScoreMatrix(values, models, [f"q{i:03d}" for i in range(values.shape[1])], subtasks)


def telling(n_models=80, n_items=60, seed=0):
    """Ten items follow ability closely, the others hardly."""
    rng = np.random.default_rng(seed)
    slope = np.where(np.arange(n_items) % 6 == 0, 3.0, 0.4)
    logit = rng.normal(size=(n_models, 1)) * slope
    return (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).astype(int)


def built(scores, size, method=None, seed=0):
    method = method or Auto(runs=4)
    return method.prepare(scores, aggregate="micro", stream=Stream(seed))(size)


def test_it_takes_a_learned_method_where_there_is_something_to_learn():
    choice = built(matrix(telling()), 5).choice
    assert not choice.name.startswith("random")
    assert choice.size == 10
    assert choice.runs == 4
    names = {row.name for row in choice.evidence}
    assert {"random", "random-aipw", "c-optimal, 10 factors"} <= names
    leads = [row.lead for row in choice.evidence]
    assert leads == sorted(leads, reverse=True)
    assert leads[0] > 0
    assert next(row for row in choice.evidence if row.name == "random").lead == 0
    assert "leads the random methods" in choice.reason


def test_it_falls_back_where_no_learned_method_leads():
    names = ["random-aipw", "random", "new"]
    level = {name: np.array([[0.5, 0.6, 0.7]] * 2) for name in names}
    best, reason = Evidence(names, [(1.0, level)]).best(2, 1.0)
    assert names[best] == "random-aipw"
    assert "no learned method" in reason
    # The plain mean is taken from the random family only where it leads by itself.
    level["random"] = level["random"] + 0.05
    assert names[Evidence(names, [(1.0, level)]).best(2, 1.0)[0]] == "random"


def test_on_pure_noise_it_does_no_harm():
    # The best of nine candidates leads by a standard error more often than not where all are
    # level, so it may well take a learned one.
    values = np.random.default_rng(0).integers(0, 2, (80, 80))
    experiment = Experiment(methods=("random", "auto"), sizes=(10,), runs=12)
    results = run_experiment(Completed(matrix(values), (), ()), experiment)
    full = results.full("seen")
    random, auto = (
        np.mean([agreement(results.estimates[m, 0, r], full[r], 1e-9, tie=0.5) for r in range(12)])
        for m in (0, 1)
    )
    assert auto > random - 0.03


def test_with_few_source_models_there_is_no_inner_experiment():
    found = built(matrix(telling(39)), 10)
    assert found.choice.name == "random-aipw"
    assert found.choice.runs == 0
    assert found.choice.evidence == ()
    assert "fewer than 40" in found.choice.reason


def test_the_choice_of_a_size_does_not_depend_on_others():
    scores = matrix(telling())
    build = Auto(runs=3).prepare(scores, aggregate="micro", stream=Stream(1))
    for size in (25, 5, 12):
        assert build(size).choice == built(scores, size, Auto(runs=3), seed=1).choice
        again = built(scores, size, Auto(runs=3), seed=1).selection
        assert build(size).selection.items == again.items


def test_all_models_alike_leave_the_fallback():
    choice = built(matrix(np.ones((50, 30), dtype=int)), 10).choice
    assert choice.name == "random-aipw"
    assert "tie" in choice.reason


@pytest.mark.parametrize("split", ["random", "grouped", "frontier"])
@pytest.mark.parametrize("aim", ["pool", "ability"])
def test_the_inner_experiment_is_that_of_the_outer_one(split, aim):
    scores = matrix(telling(), ["few"] * 12 + ["many"] * 48)
    method = Auto(aim=aim, runs=2).for_split(split, "")
    assert method == Auto(aim=aim, runs=2, split=split)
    found = built(scores, 8, method)
    assert len(found.selection.items) == 8
    assert np.isfinite(estimate(found, scores).values).all()
    assert "random-subtasks-proportional" in {row.name for row in found.choice.evidence}


def test_a_grouped_split_without_two_families_falls_back():
    # One family by pattern: the inner split has no source.
    scores = matrix(telling(50))
    found = built(scores, 8, Auto(split="grouped", groups="^(m)", runs=2))
    assert found.choice.name == "random-aipw"
    assert "cannot be done" in found.choice.reason


def test_ability_is_judged_on_items_that_no_candidate_saw():
    scores = matrix(telling(), ["one"] + ["rest"] * 59)
    inner = Inner("ability", "random", "", "micro")
    seen, judged = inner._items(scores, Stream(3))
    assert sorted([*seen, *judged]) == sorted(scores.items)
    assert 38 <= len(seen) <= 41
    pool = Inner("pool", "random", "", "micro")
    assert pool._items(scores, Stream(3)) == (list(scores.items), list(scores.items))
    assert inner.most(scores) == 30
    assert pool.most(scores) == 60


def test_agreement_by_hand():
    full = np.array([0.1, 0.2, 0.3, 0.3])
    # Five ordered pairs: three right, one tied, one wrong.
    found = agreement(np.array([0.0, 0.0, 0.1, -0.1]), full, 1e-9)
    # (1, 2) tied; (1, 3) right; (1, 4) wrong; (2, 3) right; (2, 4) wrong
    assert found == pytest.approx((2 + 1 / 4) / 5)
    assert np.isnan(agreement(full, np.ones(4), 1e-9))


def test_evidence_of_neighbouring_sizes_by_hand():
    here = {"random": np.array([[0.5, 0.7]] * 2), "new": np.array([[0.7, 0.7]] * 2)}
    there = {"random": np.array([[0.6, 0.8, 0.7]] * 2), "new": np.array([[0.7, 0.9, 0.8]] * 2)}
    evidence = Evidence(["random", "new"], [(0.75, here), (0.25, there)])
    lead = evidence.lead("new", "random")
    assert lead.mean == pytest.approx(0.75 * 0.1 + 0.25 * 0.1)
    # Differences .2, 0: variance .02, of the mean .01. The others do not vary.
    assert lead.standard_error == pytest.approx(0.75 * 0.1)
    assert lead.exceeds(1.0)
    assert not lead.exceeds(2.0)
    assert evidence.best(1, 1.0)[0] == 1
    assert evidence.best(1, 2.0)[0] == 0
    assert evidence.runs == 2
    # Ahead only because it never ties.
    here["new"][1] -= 0.3
    assert evidence.best(1, 1.0)[0] == 0


def test_neighbours_are_those_of_the_grid():
    assert _around(25, 1000) == [(25, 0.5), (10, 0.25), (50, 0.25)]
    assert _around(10, 1000) == [(10, 2 / 3), (25, 1 / 3)]
    assert _around(250, 300) == [(250, 2 / 3), (100, 1 / 3)]
    assert sorted(GRID) == list(GRID)


def test_candidates_have_names_of_their_own():
    scores = matrix(telling(), ["few"] * 12 + ["many"] * 48)
    for split in ("random", "frontier"):
        for size in (10, 500):
            names = [m.name for m in (*random_family(scores), *learned(size, split))]
            assert len(set(names)) == len(names)
            assert names[0] == "random-aipw"


def test_it_says_what_it_cannot_be():
    with pytest.raises(SettingError, match="unknown aim"):
        Auto(aim="ablity")
    with pytest.raises(SettingError, match="runs must be"):
        Auto(runs=1)
    assert make_method("auto").aim == "pool"
    assert make_method("auto-ability").aim == "ability"


def test_two_far_apart_groups_do_no_harm():
    # Where the plain design fails: two kinds of models, each good at items of its own.
    rng = np.random.default_rng(0)
    kind = np.arange(120) % 2
    ability = rng.normal(size=120) / 4
    logit = np.where((np.arange(200) % 2)[None] == kind[:, None], 2.5, -2.0) + ability[:, None]
    scores = matrix((rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).astype(int))
    experiment = Experiment(methods=("random", "auto"), sizes=(10, 50), runs=6)
    results = run_experiment(Completed(scores, (), ()), experiment)
    full = results.full("seen")
    found = [
        [agreement(results.estimates[m, s, r], full[r], 1e-9) for r in range(6)]
        for m in (0, 1)
        for s in (0, 1)
    ]
    random, auto = np.mean(found[:2], axis=1), np.mean(found[2:], axis=1)
    assert (auto > random - 0.03).all()


def test_an_inner_experiment_at_the_frontier_varies():
    scores = matrix(telling())
    methods = learned(10, "frontier")[:1]
    inner = Inner("pool", "frontier", "", "micro")
    found = inner.agreements(scores, methods, 10, 4, Stream(0))
    assert len(set(found[0, 0].tolist())) > 1
