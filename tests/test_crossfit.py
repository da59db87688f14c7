"""Learned micro-benchmarks: frozen, scored from the file alone, their errors measured."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

import mdad
from mdad import datasets
from mdad._calibrated import calibration_of
from mdad._frozen import freeze, thaw, weights_of
from mdad._gap_law import ahead, gap_interval, gap_law, sure_gap, without_noise
from mdad._rng import Stream
from mdad._specs import GapLaw
from mdad._spread import spread_of, upper
from mdad.crossfit import _folds, calibrate, misfits, profile_of
from mdad.errors import MethodError, ScoresError, SettingError
from mdad.methods import METHODS, make_method
from mdad.microbenchmark import Microbenchmark
from mdad.selecting import select
from mdad.verdicts import compare, score

NEEDS_MORE = {"anchor-points-predictor"}
READ_PROBABILITIES = {"anchor-points"}


@pytest.fixture(scope="module")
def scores():
    return datasets.simulate(n_models=60, n_items=80, subtasks=4, seed=3).sorted()


@pytest.fixture(scope="module")
def halves():
    """Source and target models of one population, and the micro-benchmark of the sources."""
    whole = datasets.simulate(n_models=400, n_items=160, seed=8, probabilities=False)
    sources = whole.restrict(models=whole.models[:200])
    targets = whole.restrict(models=whole.models[200:])
    return sources, targets, select(sources, size=20, method="c-optimal")


@pytest.mark.parametrize("name", [m for m in METHODS if not m.startswith("auto")])
def test_every_method_estimates_the_same_from_its_file(name, scores, tmp_path):
    method = make_method(name)
    source = scores.restrict(models=scores.models[:40])
    target = scores.restrict(models=scores.models[40:])
    if name in NEEDS_MORE:
        logits = datasets.load("digits-zoo-options")
        built = method.prepare(logits, aggregate="micro", stream=Stream(1))(12)
        with pytest.raises(MethodError, match="cannot be frozen"):
            freeze(built, name)
        return
    built = method.prepare(source, aggregate="micro", stream=Stream(1))(12)
    columns = [target.item_position[item] for item in built.selection.items]
    values = target.values[:, columns]
    if name in READ_PROBABILITIES:
        expected = values @ weights_of(built)
    else:
        expected = built.estimator.estimate(values).values
    weights = weights_of(built)
    fitted = thaw(freeze(built, name), None if weights is None else weights.tolist(), 12)
    assert fitted.estimate(values).values == pytest.approx(expected, abs=1e-9)
    # And by way of the file.
    micro = select(source, size=12, method=name, seed=4)
    again = Microbenchmark.load(micro.save(tmp_path / "m.json"))
    assert again == micro
    found = compare(again, target.restrict(items=again.items))
    assert found == compare(micro, target.restrict(items=micro.items))
    assert (again.calibration is None) == (name in mdad.selecting.RANDOM_METHODS)


def test_a_hand_worked_linear_estimate(scores):
    micro = select(scores, size=3, method="random-ridge", seed=2)
    spec = micro.estimator
    run = dict(zip(micro.items, (1, 0, 1), strict=True))
    expected = spec.constant + spec.coefficients[0] + spec.coefficients[2]
    assert score(micro, run).value == pytest.approx(expected)


def test_probabilities_come_true_for_models_that_had_no_part(halves):
    _, targets, micro = halves
    verdict = compare(micro, targets.restrict(items=micro.items))
    full = dict(zip(targets.models, targets.full_scores(), strict=True))
    lead = np.array([max(p.a_better, 1 - p.a_better) for p in verdict.pairs])
    gaps = np.array([full[p.a] - full[p.b] for p in verdict.pairs])
    right = np.sign(gaps) == np.sign([p.gap for p in verdict.pairs])
    told = gaps != 0
    for low, high in ((0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 1)):
        inside = told & (lead >= low) & (lead < high)
        assert inside.sum() > 200
        assert abs(right[inside].mean() - lead[inside].mean()) < 0.05
    covered = np.mean([s.low <= full[s.model] <= s.high for s in verdict.scores])
    assert 0.91 < covered < 0.985
    held = [
        abs(p.gap - g) <= (p.high - p.low) / 2 for p, g in zip(verdict.pairs, gaps, strict=True)
    ]
    assert 0.86 < np.mean(held) < 0.94  # its level is 90 %


def test_where_items_say_nothing_no_gap_is_trusted():
    # Every model answers at random: what a design finds among the sources is chance. Residuals of
    # the models it was chosen with would look good all the same.
    rng = np.random.default_rng(5)
    noise = mdad.ScoreMatrix(
        rng.integers(0, 2, (400, 300)).astype(float),
        [f"m{i}" for i in range(400)],
        [f"q{i}" for i in range(300)],
    )
    micro = select(noise, size=20, method="c-optimal")
    design = micro.estimator
    values = noise.restrict(items=micro.items).values @ np.array(design.coefficients)
    full = noise.full_scores()
    in_sample = np.corrcoef(values, full)[0, 1]
    assert in_sample > 0.6
    spread = np.std(values)
    assert ahead(micro.calibration.gap_unseen, 2 * spread) < 0.75
    fresh = mdad.ScoreMatrix(
        rng.integers(0, 2, (400, 300)).astype(float), noise.models, noise.items
    )
    verdict = compare(micro, fresh.restrict(items=micro.items))
    truth = dict(zip(fresh.models, fresh.full_scores(), strict=True))
    lead = np.array([max(p.a_better, 1 - p.a_better) for p in verdict.pairs])
    right = np.array([(truth[p.a] - truth[p.b]) * p.gap > 0 for p in verdict.pairs])
    assert abs(right.mean() - lead.mean()) < 0.06


def test_folds_keep_copies_together_and_hold_everyone_out_once(scores):
    doubled = mdad.ScoreMatrix(
        np.repeat(scores.values[:20], 2, axis=0),
        [f"m{i:02}" for i in range(40)],
        scores.items,
        scores.subtasks,
    )
    folds = _folds(doubled, "micro", Stream(3), "random", "")
    held = np.concatenate([target for _, target in folds])
    assert sorted(held.tolist()) == list(range(40))
    for source, target in folds:
        assert not set(source) & set(target)
        assert not {i // 2 for i in source.tolist()} & {i // 2 for i in target.tolist()}


def test_folds_by_family_and_of_the_best(scores):
    folds = _folds(scores, "micro", Stream(3), "frontier", "")
    full = scores.full_scores()
    for source, target in folds:
        assert full[target].min() >= full[source].max()
    names = [f"family{i % 6}/m{i}" for i in range(60)]
    named = mdad.ScoreMatrix(scores.values, names, scores.items)
    for source, target in _folds(named, "micro", Stream(3), "grouped", "^([^/]+)/"):
        assert not {names[i][:7] for i in source} & {names[i][:7] for i in target}
    one = mdad.ScoreMatrix(scores.values, [f"a/{i}" for i in range(60)], scores.items)
    with pytest.raises(ScoresError, match="no source models can be held out"):
        _folds(one, "micro", Stream(3), "grouped", "^([^/]+)/")


def test_where_most_models_are_copies_folds_are_drawn_at_random():
    rng = np.random.default_rng(1)
    values = np.repeat(rng.integers(0, 2, (1, 50)), 40, axis=0).astype(float)
    values[:8] = rng.integers(0, 2, (8, 50))
    alike = mdad.ScoreMatrix(values, [f"m{i:02}" for i in range(40)], [f"q{i}" for i in range(50)])
    folds = _folds(alike, "micro", Stream(0), "random", "")
    assert len(folds) == 5
    assert all(len(target) == 8 for _, target in folds)


def test_the_same_bytes_with_two_processes(scores):
    one = select(scores, size=9, method="mrmr-ridge", seed=3)
    two = select(scores, size=9, method="mrmr-ridge", seed=3, n_jobs=2)
    assert one.to_json() == two.to_json()
    turned = scores.restrict(models=scores.models[::-1], items=scores.items[::-1])
    assert select(turned, size=9, method="mrmr-ridge", seed=3).to_json() == one.to_json()


def test_auto_is_the_default_and_says_what_it_chose(scores):
    micro = select(scores, size=10)
    assert micro.made.method == "auto"
    assert micro.made.choice
    few = select(scores.restrict(models=scores.models[:9]), size=10)
    assert few.made.method == "random"
    assert few.calibration is None
    assert select(scores, size=10, focus="top").made.method == "c-optimal"


def test_items_in_and_out_minimums_and_focus(scores):
    wanted, unwanted = scores.items[:2], scores.items[2:30]
    micro = select(scores, size=12, forced=wanted, forbidden=unwanted, min_per_subtask=2)
    assert set(wanted) <= set(micro.items)
    assert not set(unwanted) & set(micro.items)
    counts = {label: micro.subtasks.count(label) for label in set(scores.subtasks)}
    assert min(counts.values()) >= 1
    assert micro.benchmark.n_items == scores.n_items
    assert micro.made.settings["forced"] == list(wanted)
    for method, said in (("auto", "go with"), ("mrmr-ridge", "goes with")):
        with pytest.raises(MethodError, match=said):
            select(
                scores,
                size=12,
                method=method,
                min_per_subtask=2,
                forced=wanted[: said == "go with"],
            )
    with pytest.raises(SettingError, match="focus must be"):
        select(scores, size=12, focus="upwards")
    with pytest.raises(SettingError, match="several disjoint forms"):
        mdad.selecting.select_forms(scores, size=5, forms=2, method="c-optimal")
    with pytest.raises(ScoresError, match="needs 10"):
        select(scores.restrict(models=scores.models[:8]), size=9, method="c-optimal")


def test_all_items_chosen_needs_no_calibration(scores):
    micro = select(scores, size=scores.n_items, method="c-optimal")
    found = score(micro, dict(zip(scores.items, scores.values[0].tolist(), strict=True)))
    assert found.value == found.low == found.high == pytest.approx(scores.values[0].mean())


def test_models_outside_or_unlike_the_sources_are_named(halves):
    sources, targets, _ = halves
    rng = np.random.default_rng(0)
    weak = [m for m, y in zip(sources.models, sources.full_scores(), strict=True) if y < 0.6]
    micro = select(sources.restrict(models=weak), size=20, method="c-optimal")
    # Right on what is hard and wrong on what is easy: a middling score, got in a strange way.
    expected = np.array(micro.calibration.profile.constants) + 0.5 * np.array(
        micro.calibration.profile.slopes
    )
    runs = {
        "like": sources.restrict(models=weak[:1], items=micro.items),
        "perfect": dict.fromkeys(micro.items, 1),
        "odd": dict(zip(micro.items, (expected < np.median(expected)).tolist(), strict=True)),
    }
    notes = compare(micro, runs).notes
    outside = next(note for note in notes if note.startswith("Outside"))
    assert "'perfect' answers beyond" in outside
    assert "like" not in outside.split("beyond")[0]
    unlike = next(note for note in notes if note.startswith("Unlike"))
    assert "'odd' answers" in unlike
    assert any("held out while the items were chosen anew" in note for note in notes)
    alone = score(micro, runs["perfect"])
    assert "this model answers" in alone.notes[0]
    assert 0 <= alone.low <= alone.value <= alone.high <= 1
    strangers = rng.integers(0, 2, (200, micro.size))
    misfit = misfits(micro.calibration.profile, strangers, np.full(200, 0.5), (0.0, 1.0))
    weak = [m for m, y in zip(targets.models, targets.full_scores(), strict=True) if y < 0.58]
    usual = targets.restrict(models=weak, items=micro.items)
    ordinary = [s.notes for s in compare(micro, usual).scores]
    assert np.mean([bool(n) for n in ordinary]) < 0.05
    assert (misfit > micro.calibration.profile.limit).mean() > 0.05


def test_missing_scores_are_expected_ones(halves):
    _, targets, micro = halves
    row = dict(
        zip(micro.items, targets.restrict(items=micro.items).values[0].tolist(), strict=True)
    )
    whole = score(micro, row)
    gone = dict(list(row.items())[1:])
    partial = score(micro, gone, missing="drop")
    assert partial.n_missing == 1
    assert abs(partial.value - whole.value) < 0.1
    verdict = compare(micro, {"a": gone, "b": row}, missing="drop")
    assert any("Missing scores" in note for note in verdict.notes)
    assert verdict.n == micro.size - 1
    few = dict(list(row.items())[:10])
    with pytest.raises(ScoresError, match="more than 20 %"):
        score(micro, few, missing="drop")


def test_a_studentised_interval_uses_the_models_own_error(scores):
    micro = select(scores, size=20, method="random-aipw", seed=1)
    assert micro.calibration.studentised
    found = compare(micro, scores.restrict(items=micro.items))
    widths = {round(s.high - s.low, 6) for s in found.scores}
    assert len(widths) > 5


def test_graded_macro_scores():
    values = np.random.default_rng(2).beta(2, 2, (40, 60)) + np.linspace(0, 1, 40)[:, None]
    graded = mdad.ScoreMatrix(
        20 * values - 15,
        [f"m{i:02}" for i in range(40)],
        [f"q{i}" for i in range(60)],
        ["a"] * 10 + ["b"] * 50,
        score_range=(-15, 25),
    )
    micro = select(graded, size=10, method="c-optimal", aggregate="macro")
    full = graded.full_scores("macro")
    verdict = compare(micro, graded.restrict(items=micro.items))
    assert np.corrcoef([s.value for s in verdict.scores], full)[0, 1] > 0.95
    assert micro.made.source_scores == pytest.approx((full.min(), full.max()))
    kernel = select(graded, size=10, method="mrmr-kernel-ridge")
    assert isinstance(kernel.estimator.sources[0], tuple)
    assert Microbenchmark.from_json(kernel.to_json()) == kernel


def test_a_spread_is_that_of_scipy():
    rng = np.random.default_rng(3)
    for freedom, chosen in ((5, (4, 6)), (200, (20, 100))):
        errors = 0.3 * rng.standard_t(freedom, 4000) + 0.1
        found = spread_of(errors)
        assert chosen[0] <= found.freedom <= chosen[1]
        _, centre, scale = scipy.stats.t.fit(errors, fdf=found.freedom)
        assert found.scale == pytest.approx(scale, rel=0.02)
        assert found.centre == pytest.approx(centre, abs=0.02)
        assert upper(found, 0.95) == pytest.approx(
            np.quantile(np.abs(errors - 0.1), 0.95), rel=0.06
        )
    assert spread_of(np.full(5, 0.2)).scale == 0


def test_the_law_of_gaps_is_the_one_they_were_drawn_from():
    rng = np.random.default_rng(4)
    for freedom, chosen in ((5, (4, 6)), (200, (20, 100))):
        e = rng.normal(0, 0.1, 20_000)
        g = 0.8 * e + np.hypot(0.04, 0.3 * e) * rng.standard_t(freedom, 20_000)
        found = gap_law(10 * e, 10 * g, 10_000, 10.0)
        assert chosen[0] <= found.freedom <= chosen[1]
        assert found.slope == pytest.approx(0.8, abs=0.02)
        assert found.noise == pytest.approx(0.4, rel=0.05)
        assert found.share == pytest.approx(0.3, abs=0.03)
        for low, high in ((0.02, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 0.4)):
            inside = (np.abs(e) > low) & (np.abs(e) < high)
            said = np.mean([ahead(found, 10 * x) for x in np.abs(e[inside])])
            assert said == pytest.approx(np.mean((g * e)[inside] > 0), abs=0.02)
            ends = [gap_interval(found, 10 * x, 0.9) for x in e[inside]]
            held = [a <= 10 * x <= b for (a, b), x in zip(ends, g[inside], strict=True)]
            assert np.mean(held) == pytest.approx(0.9, abs=0.025)


def test_interval_and_probability_are_one_law():
    rng = np.random.default_rng(5)
    for _ in range(200):
        law = GapLaw(*rng.uniform((0.1, 0.01, 0, 3), (1.2, 0.2, 0.6, 50)).tolist())
        gap, level = float(rng.normal(0, 0.2)), float(rng.uniform(0.5, 0.99))
        low, high = gap_interval(law, gap, level)
        assert low <= gap <= high
        assert (low > 0) == (ahead(law, gap) > (1 + level) / 2)
        assert (high < 0) == (ahead(law, gap) < (1 - level) / 2)
        assert ahead(law, gap) + ahead(law, -gap) == pytest.approx(1)
        sure = sure_gap(law, 0.9)
        assert math.isinf(sure) or ahead(law, sure) == pytest.approx(0.9)
        if math.isinf(sure):
            assert ahead(law, 1e6) < 0.9


def test_laws_of_little():
    nothing = gap_law(np.zeros(4), np.zeros(4), 10, 2.0)
    assert ahead(nothing, 0.5) == 0.5
    assert nothing.noise > 2
    # A few models that are estimated exactly are not taken to be sure of everything.
    exact = gap_law(np.array([0.1, -0.2]), np.array([0.1, -0.2]), 10, 1.0)
    assert exact.freedom == 9
    assert exact.noise > 0
    assert gap_law(np.array([0.1, 0.2]), np.array([-0.1, -0.2]), 10, 1.0).slope == 0
    law = GapLaw(0.9, 0.1, 0.2, 10.0)
    assert without_noise(law, 0.005, GapLaw(1.0, 0.01, 0.0, 10.0)).noise < 0.1
    assert without_noise(law, 1.0, GapLaw(1.0, 0.05, 0.0, 10.0)).noise == 0.05
    assert without_noise(replace_freedom(law, 1.5), 1.0, law).noise == 0.1


def replace_freedom(law, freedom):
    return GapLaw(law.slope, law.noise, law.share, freedom)


def test_where_no_model_differs_nothing_is_learned():
    same = mdad.ScoreMatrix(
        np.ones((20, 30)), [f"m{i}" for i in range(20)], [f"q{i}" for i in range(30)]
    )
    with pytest.raises(ScoresError, match="same full score"):
        select(same, size=5, method="c-optimal")


def test_a_profile_is_a_line_on_the_full_score(scores):
    built = make_method("c-optimal").prepare(scores, aggregate="micro", stream=Stream(0))(5)
    found = profile_of(scores, built, "micro")
    values = scores.restrict(items=built.selection.items).values.astype(float)
    for column in range(5):
        slope, constant = np.polyfit(scores.full_scores(), values[:, column], 1)
        assert found.slopes[column] == pytest.approx(slope)
        assert found.constants[column] == pytest.approx(constant)
    assert misfits(found, values, scores.full_scores(), (0.0, 1.0)).mean() == pytest.approx(1)


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("gap", "noise", -1),
        ("gap", "noise", 0),
        ("gap", "freedom", 0),
        ("gap_unseen", "slope", -0.1),
        ("score", "scale", -0.1),
        ("profile", "variance", 0),
        ("profile", "limit", -1),
    ],
)
def test_an_edited_calibration_is_refused(halves, part, name, value):
    document = json.loads(halves[2].to_json())
    document["calibration"][part][name] = value
    with pytest.raises(mdad.errors.FormatError, match=rf"Expected .*{part}.{name}"):
        Microbenchmark.from_json(json.dumps(document).encode())


def test_a_random_file_has_no_calibration(scores):
    with pytest.raises(mdad.errors.FormatError, match="no calibration"):
        calibration_of(select(scores, size=5, method="random"))


def test_too_few_models_to_hold_out(scores):
    few = scores.restrict(models=scores.models[:9])
    method = make_method("c-optimal")
    built = method.prepare(few, aggregate="micro", stream=Stream(0))(5)
    with pytest.raises(ScoresError, match="needs 10 of them; got 9"):
        calibrate(method, few, 5, aggregate="micro", stream=Stream(0), built=built)


@pytest.mark.parametrize(
    ("method", "change", "said"),
    [
        ("c-optimal", {"coefficients": (1.0,)}, "one entry per item"),
        ("mrmr-kernel-ridge", {"dual": (1.0,)}, "one row per model"),
        ("mrmr-kernel-ridge", {"sources": ("0120101",) * 60}, "made of 0 and 1"),
        ("random-aipw", {"others": (0.0,)}, "one row per model"),
        ("irt-information", {"difficulty": (0.0,)}, "one per item of the pool"),
        ("irt-information", {"chosen": (0,) * 7}, "different positions"),
        ("irt-information", {"discrimination": ((0.0,),) + ((0.0, 1.0),) * 79}, "as many"),
    ],
)
def test_specs_that_do_not_fit_are_refused(scores, method, change, said):
    import msgspec  # noqa: PLC0415

    micro = select(scores, size=7, method=method)
    with pytest.raises(mdad.errors.FormatError, match=said):
        replace(micro, estimator=msgspec.structs.replace(micro.estimator, **change))
    with pytest.raises(mdad.errors.FormatError, match="needs its calibration"):
        replace(micro, calibration=None)


def test_no_fold_at_a_time_is_refused():
    with pytest.raises(SettingError, match="n_jobs must be 1 or more, or -1"):
        select(datasets.simulate(n_models=40, n_items=60, seed=1), size=5, n_jobs=0)
