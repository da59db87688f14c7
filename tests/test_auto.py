"""auto: what it chooses, why, and that it falls back."""

from __future__ import annotations

import numpy as np
import pytest

from mdad._rng import Stream
from mdad.auto import Auto
from mdad.auto._auto import GRID, Known, around
from mdad.auto._candidates import learned, random_family
from mdad.auto._evidence import Evidence, Tried
from mdad.auto._inner import Inner, InnerRun, outcome, signs
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


def agreement(estimates, full, tie=0.25):
    """The plain double loop."""
    found = []
    for i in range(len(full)):
        for j in range(i):
            right, said = full[i] - full[j], estimates[i] - estimates[j]
            if abs(right) > 1e-9:
                found.append(tie if abs(said) <= 1e-9 else float(said * right > 0))
    return float(np.mean(found)) if found else float("nan")


def tried(names, found, full=None):
    """Findings from estimates, array of shape (n_methods, n_runs, n_models); all are targets."""
    found = np.asarray(found, dtype=float)
    full = np.arange(found.shape[2], dtype=float) if full is None else full
    right, everyone = signs(full, 1e-9), np.arange(len(full))
    pairs = (right != 0).sum(axis=1) / ((right != 0).sum() / 2)
    runs = [
        InnerRun(
            pairs,
            {
                name: outcome(estimates[run], right, everyone, len(full), 1e-9)
                for name, estimates in zip(names, found, strict=True)
            },
        )
        for run in range(found.shape[1])
    ]
    return Tried.of(names, runs)


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
    names, rng = ["random-aipw", "random", "new"], np.random.default_rng(0)
    level = np.repeat(rng.normal(size=(1, 6, 12)), 3, axis=0)
    best, reason = Evidence(names, [(1.0, tried(names, level))]).best(2, 1.0)
    assert names[best] == "random-aipw"
    assert "no learned method" in reason
    # The plain mean is taken from the random family only where it leads by itself.
    level[1] = np.arange(12)
    assert names[Evidence(names, [(1.0, tried(names, level))]).best(2, 1.0)[0]] == "random"


def test_of_methods_that_are_alike_the_first_is_taken():
    names, rng = ["random", "simple", "other"], np.random.default_rng(1)
    found = rng.normal(size=(3, 8, 30))
    found[1:] += np.arange(30)
    # Level in the mean, apart in single runs.
    found[2] = found[1][:, :] + 0.2 * rng.normal(size=(8, 30))
    evidence = Evidence(names, [(1.0, tried(names, found))])
    assert names[evidence.best(1, 2.0)[0]] == "simple"
    found[2] = np.arange(30)
    found[1] = np.arange(30) + 12 * rng.normal(size=(8, 30))
    assert names[Evidence(names, [(1.0, tried(names, found))]).best(1, 2.0)[0]] == "other"


def test_on_pure_noise_it_does_no_harm():
    # The best of nine candidates leads by a standard error more often than not where all are
    # level, so it may well take a learned one.
    values = np.random.default_rng(0).integers(0, 2, (80, 80))
    experiment = Experiment(methods=("random", "auto"), sizes=(10,), runs=12)
    results = run_experiment(Completed(matrix(values), (), ()), experiment)
    full = results.full("seen")
    random, auto = (
        np.mean([agreement(results.estimates[m, 0, r], full[r], tie=0.5) for r in range(12)])
        for m in (0, 1)
    )
    assert auto > random - 0.03


def test_with_few_source_models_there_is_no_inner_experiment():
    found = built(matrix(telling(39)), 10)
    assert found.choice.name == "random-aipw"
    assert found.choice.runs == 0
    assert found.choice.evidence == ()
    assert "fewer than 40" in found.choice.reason


@pytest.mark.parametrize(("split", "least"), [("random", 40), ("grouped", 40), ("frontier", 100)])
def test_an_inner_experiment_has_ten_targets_or_more(split, least):
    inner = Inner("pool", split, "", "micro")
    assert inner.least == least
    for n_models, enough in ((least, True), (least - 1, False)):
        scores = matrix(telling(n_models))
        target, source = inner._models(scores, Stream(0))
        assert (len(target) >= 10) == enough
        assert not set(target.tolist()) & set(source.tolist())
        found = Known(Auto(split=split), scores, inner, Stream(0)).compared_at(10)
        assert (found > 0) == enough


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
    scores = matrix(telling(110), ["few"] * 12 + ["many"] * 48)
    method = Auto(aim=aim, runs=2).for_split(split, "")
    assert method == Auto(aim=aim, runs=2, split=split)
    found = built(scores, 8, method)
    assert len(found.selection.items) == 8
    assert np.isfinite(estimate(found, scores).values).all()
    assert {"random", "random-aipw"} < {row.name for row in found.choice.evidence}


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


def test_outcomes_by_hand():
    full = np.array([0.1, 0.2, 0.3, 0.3])
    # Five ordered pairs: (0, 1) tied; (0, 2) right; (0, 3) wrong; (1, 2) right; (1, 3) wrong.
    right = signs(full, 1e-9)
    found = outcome(np.array([0.0, 0.0, 0.1, -0.1]), right, np.array([1, 2, 4, 5]), 7, 1e-9)
    assert found.agreement == pytest.approx([(2 + 1 / 4) / 5, (2 + 1 / 2) / 5])
    expected = np.array([0, 1.25, 1.25, 0, 2, 0, 0]) / 5
    assert found.by_model[0] == pytest.approx(expected)
    assert found.by_model[1] == pytest.approx(np.array([0, 1.5, 1.5, 0, 2, 0, 0]) / 5)


@pytest.mark.parametrize("tie", [0.25, 0.5])
def test_outcomes_are_those_of_the_double_loop(tie):
    rng = np.random.default_rng(3)
    full, estimates = rng.integers(0, 6, 20) / 6, rng.integers(0, 4, 20) / 4
    found = outcome(estimates, signs(full, 1e-9), np.arange(20), 20, 1e-9)
    assert found.agreement[int(tie == 0.5)] == pytest.approx(agreement(estimates, full, tie))


def test_leads_are_those_of_a_loop_over_pairs_and_models():
    rng = np.random.default_rng(5)
    names, full = ["random", "new"], np.arange(9.0)
    here, there = rng.integers(0, 9, (2, 4, 9)), rng.integers(0, 9, (2, 3, 9))
    evidence = Evidence(names, [(0.75, tried(names, here)), (0.25, tried(names, there))])
    lead = evidence.lead("new", "random")
    mean, by_run, by_model = 0.0, np.zeros(4), np.zeros(9)
    for weight, found in ((0.75, here), (0.25, there)):
        runs = found.shape[1]
        gaps = [agreement(found[1, r], full) - agreement(found[0, r], full) for r in range(runs)]
        mean += weight * np.mean(gaps)
        by_run[:runs] += weight / runs * (np.array(gaps) - np.mean(gaps))
        for r in range(runs):
            for i in range(9):
                for j in range(9):
                    if i != j:
                        pair = [agreement(found[m, r, [i, j]], full[[i, j]]) for m in (0, 1)]
                        by_model[i] += weight / runs * (pair[1] - pair[0] - np.mean(gaps)) / 36
    assert lead.mean == pytest.approx(mean)
    expected = max((by_run**2).sum() * 4 / 3, (by_model**2).sum())
    assert lead.standard_error == pytest.approx(np.sqrt(expected))
    assert lead.exceeds(mean / lead.standard_error - 0.01)
    assert not lead.exceeds(mean / lead.standard_error + 0.01)
    assert evidence.runs == 4


def test_of_a_single_run_no_standard_error_is_known():
    names = ["random", "new"]
    found = [[np.zeros(5)], [np.arange(5.0)]]
    evidence = Evidence(names, [(1.0, tried(names, found))])
    lead = evidence.lead("new", "random")
    assert lead.mean == pytest.approx(0.75)
    assert np.isnan(lead.standard_error)
    assert lead.error == 0
    assert evidence.best(1, 1.0)[0] == 1


def test_the_standard_error_is_that_of_fresh_models():
    # One method is right, the other has noise: its lead varies with the models that are drawn.
    names, leads, claimed = ["random", "new"], [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        full, own = rng.normal(size=30), rng.normal(size=30)
        found = [[full + s * own + 0.05 * rng.normal(size=30) for _ in range(6)] for s in (1, 0.2)]
        lead = Evidence(names, [(1.0, tried(names, found, full))]).lead("new", "random")
        leads.append(lead.mean)
        claimed.append(lead.standard_error)
    assert np.mean(claimed) == pytest.approx(np.std(leads), rel=0.25)


def test_a_lead_that_comes_of_never_tying_is_none():
    names = ["random", "new"]
    full = np.arange(12.0)
    found = np.zeros((2, 4, 12))
    found[0] = full // 3
    found[1] = full // 3 + np.where(full.astype(int) % 3 == 1, 0.5, 0.0) - (full % 3 == 2) * 0.1
    evidence = Evidence(names, [(1.0, tried(names, found))])
    assert evidence.lead("new", "random").mean > 0
    assert evidence.lead("new", "random", ties=1).mean < 0
    assert evidence.best(1, 0.0)[0] == 0


def test_neighbours_are_those_of_the_grid():
    assert around(25, GRID) == [(25, 0.5), (10, 0.25), (50, 0.25)]
    assert around(10, GRID) == [(10, 2 / 3), (25, 1 / 3)]
    assert around(1000, GRID) == [(1000, 2 / 3), (500, 1 / 3)]
    assert around(7, (7,)) == [(7, 1.0)]
    assert sorted(GRID) == list(GRID)


def known(n_models, n_items, aim="pool"):
    scores = matrix(telling(n_models, n_items))
    return Known(Auto(aim=aim), scores, Inner(aim, "random", "", "micro"), Stream(0))


def test_sizes_that_are_compared_follow_the_pool():
    assert known(60, 224).marks == (10, 25, 50, 100, 179)
    assert known(60, 3000).marks == GRID
    # Of items held back a candidate can choose no more than three quarters of two thirds.
    assert known(60, 60, "ability").marks == (10, 25, 30)
    assert known(60, 1).compared_at(1) == 0
    found = known(60, 224)
    sizes = (1, 10, 16, 40, 130, 150, 223)
    assert [found.compared_at(size) for size in sizes] == [10, 10, 25, 50, 100, 179, 179]
    assert found.compared_at(224) == 0
    assert known(39, 224).compared_at(10) == 0


def test_large_sizes_are_tried_when_they_are_wanted():
    found = known(40, 1200)
    found.evidence(10)
    assert set(found.tried) == {10, 25, 50, 100, 250}
    found.evidence(500)
    assert set(found.tried) == set(found.marks)


def test_random_items_are_those_of_the_method_random():
    scores = matrix(telling(39))
    drawn = make_method("random").prepare(scores, aggregate="micro", stream=Stream(0))(10)
    assert built(scores, 10).selection.items == drawn.selection.items
    for method in random_family():
        found = method.prepare(scores, aggregate="micro", stream=Stream(0))(10)
        assert found.selection.items == drawn.selection.items


def test_candidates_have_names_of_their_own():
    for split in ("random", "grouped", "frontier"):
        for aim in ("pool", "ability"):
            for size in (10, 500):
                inner = Inner(aim, split, "", "micro")
                names = [m.name for m in (*random_family(), *learned(size, inner))]
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
        [agreement(results.estimates[m, s, r], full[r]) for r in range(6)]
        for m in (0, 1)
        for s in (0, 1)
    ]
    random, auto = np.mean(found[:2], axis=1), np.mean(found[2:], axis=1)
    assert (auto > random - 0.03).all()


def test_an_inner_experiment_at_the_frontier_varies():
    scores = matrix(telling())
    inner = Inner("pool", "frontier", "", "micro")
    methods = learned(10, inner)[:1]
    runs = [inner.run(scores, {10: methods}, Stream(0).child(r))[10] for r in range(4)]
    assert len({float(run.outcomes[methods[0].name].agreement[0]) for run in runs}) > 1


def test_what_an_inner_run_finds_does_not_depend_on_what_else_is_wanted():
    scores = matrix(telling())
    inner = Inner("pool", "random", "", "micro")
    methods = learned(10, inner)
    one = inner.run(scores, {10: methods[:2]}, Stream(0))[10]
    all_ = inner.run(scores, {5: methods, 10: methods, 20: methods}, Stream(0))[10]
    for method in methods[:2]:
        assert np.array_equal(
            one.outcomes[method.name].by_model, all_.outcomes[method.name].by_model
        )
