"""Adaptive sessions: boundaries, looks, error rates, replays, the file and the command."""

import dataclasses
import json
import math
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from typer.testing import CliRunner

import mdad
from mdad.adaptive import Session, by_item, items_fingerprint, make_setup
from mdad.adaptive import _replay as replay
from mdad.adaptive._plan import learned_look, looks_of, random_look
from mdad.adaptive._spending import boundaries, spent
from mdad.cli import app
from mdad.datasets import simulate
from mdad.errors import FormatError, MdadError, MethodError, ScoresError, SettingError
from mdad.quality import distinct_models
from mdad.report.session import sentences
from mdad.scores import ScoreMatrix
from mdad.selecting import select

ITEMS = [f"q{i:03d}" for i in range(200)]


def answers(session, values):
    """Answers to what is asked, from a mapping of model to a mapping of item to score."""
    return {item: {m: values[m][item] for m in who} for item, who in session.wanted().items()}


def play(session, values):
    while session.decision.open:
        session.tell(answers(session, values))
    return session.decision


def flat(share, items=ITEMS):
    """Right on the first items."""
    return {item: int(i < share * len(items)) for i, item in enumerate(items)}


# Boundaries


@pytest.mark.parametrize(
    ("spending", "number", "expected"),
    [
        # Lan and DeMets 1983; the same numbers are in the manuals of gsDesign and ldbounds.
        ("obrien-fleming", 2, [2.963, 1.969]),
        ("obrien-fleming", 5, [4.877, 3.357, 2.680, 2.290, 2.031]),
        ("pocock", 2, [2.157, 2.201]),
        ("pocock", 5, [2.438, 2.427, 2.410, 2.397, 2.386]),
    ],
)
def test_boundaries_are_the_published_ones(spending, number, expected):
    looks = tuple(10**6 * k for k in range(1, number + 1))
    found = boundaries(looks, 10**13, spending=spending)
    assert found == pytest.approx(expected, abs=2e-3)


def test_boundaries_spend_what_they_may_without_replacement():
    looks, n_items = (10, 30, 60, 90), 100
    bounds = boundaries(looks, n_items)
    rng = np.random.default_rng(1)
    # Sums of a shuffled pool that sums to 0, and has variance 1.
    pool = stats.norm.ppf((np.arange(n_items) + 0.5) / n_items)
    pool /= pool.std()
    orders = rng.permuted(np.tile(pool, (40_000, 1)), axis=1).cumsum(axis=1)
    out = np.zeros(len(orders), dtype=bool)
    for size, bound in zip(looks, bounds, strict=True):
        z = orders[:, size - 1] / math.sqrt(size * (1 - size / n_items))
        out |= np.abs(z) >= bound
        wanted = spent(np.array([size / looks[-1]]), 0.05, "pocock")[0]
        assert out.mean() == pytest.approx(wanted, abs=0.004)


def test_a_look_at_the_whole_pool_is_free():
    assert boundaries((50, 100), 100)[1] == 0
    assert boundaries((100,), 100).tolist() == [0]


def test_looks_are_multiples_of_the_batch():
    assert looks_of(7, 20) == (7, 14, 20)
    assert looks_of(20, 20) == (20,)
    many = looks_of(1, 1050)
    assert len(many) <= 100
    assert many[-1] == 1050


# Looks


def test_a_look_by_hand():
    # 12 wins, 2 losses in 40 of 100 items. With one of each added: squares 16, so
    # z = 2 sqrt(16 x 0.6) = 6.197; half a step more; over 40.
    contrast = np.array([1] * 12 + [-1] * 2 + [0] * 26, dtype=float)
    found = random_look(contrast, 2.0, 100, (-1, 1), None)
    half = (2 * math.sqrt(16 * 0.6) + 0.5) / 40
    assert found.gap == pytest.approx(0.25)
    assert (found.low, found.high) == pytest.approx((0.25 - half, 0.25 + half))
    assert found.sign == 1


def test_what_is_certain_needs_no_test():
    # Ahead by 12 with 11 items left.
    contrast = np.array([1] * 12 + [0] * 77, dtype=float)
    assert random_look(contrast, 99.0, 100, (-1, 1), None).sign == 1
    assert random_look(-contrast, 99.0, 100, (-1, 1), None).sign == -1
    assert random_look(contrast[1:], 99.0, 99, (-1, 1), None).sign == 0


def test_equal_answers_have_an_interval():
    found = random_look(np.zeros(10), 2.0, 1000, (-1, 1), None)
    assert found.sign == 0
    assert found.low < 0 < found.high


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-1, 1), min_size=1, max_size=40),
    st.integers(0, 60),
    st.floats(0, 5),
)
def test_looks_are_the_same_from_both_sides(contrast, left, bound):
    values = np.array(contrast, dtype=float)
    found = random_look(values, bound, len(values) + left, (-1, 1), None)
    turned = random_look(-values, bound, len(values) + left, (-1, 1), None)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))
    assert turned.sign == -found.sign
    assert found.low <= found.gap + 1e-12
    assert found.high >= found.gap - 1e-12


# Error rates


def wrong_calls(values, n_orders, **options):
    """Share of sessions with different orders that call one of two equal models better."""
    items = list(values["a"])
    wrong = 0
    for seed in range(n_orders):
        session = Session.new(["a", "b"], items=items, seed=seed, **options)
        session.tell(
            {item: {m: values[m][item] for m in ("a", "b")} for item in session.setup.plan.order}
        )
        wrong += session.decision.sign != 0
    return wrong / n_orders


@pytest.mark.parametrize("spending", ["pocock", "obrien-fleming"])
def test_equal_models_are_told_apart_no_more_often_than_promised(spending):
    rng = np.random.default_rng(3)
    mixed = rng.permutation(200)
    # 30 wins, 30 losses.
    a = {item: int(mixed[i] < 100) for i, item in enumerate(ITEMS)}
    b = {item: int(30 <= mixed[i] < 130) for i, item in enumerate(ITEMS)}
    rate = wrong_calls({"a": a, "b": b}, 400, budget=150, spending=spending, alpha=0.1)
    # Three standard errors above 10 %.
    assert rate <= 0.1 + 3 * math.sqrt(0.09 / 400)
    assert rate > 0.02


def test_sessions_stop_before_a_fixed_test_would():
    # 8 points apart: 16 more wins than losses among 60 discordant items of 200.
    a = {item: int(i < 38) for i, item in enumerate(ITEMS)}
    b = {item: int(38 <= i < 60) for i, item in enumerate(ITEMS)}
    sizes = []
    for seed in range(40):
        session = Session.new(["a", "b"], items=ITEMS, seed=seed)
        found = play(session, {"a": a, "b": b})
        assert found.better == "a"
        sizes.append(found.size)
    # One test of 5 % that decides all of these needs nearly the whole pool.
    assert np.mean(sizes) < 160


def test_learned_designs_keep_their_promise_and_save_items():
    scores = simulate(n_models=260, n_items=300, n_dims=3, seed=5).sorted()
    rng = np.random.default_rng(0)
    mixed = rng.permutation(scores.models)
    sources, targets = scores.restrict(models=mixed[:160]), scores.restrict(models=mixed[160:])
    looks = looks_of(10, 210)
    plan = replay.learned_plan(sources, "c-optimal", looks, alpha=0.1)
    fitted = replay.Fitted(
        np.array([sources.item_position[i] for i in plan.order]), plan.predictors
    )
    predicted = replay.predictions(fitted, targets.values)
    full = targets.full_scores()
    first, second = np.triu_indices(len(full), 1)
    gap, truth = predicted[:, first] - predicted[:, second], full[first] - full[second]
    called = np.abs(gap) > np.array(plan.bounds)[:, None]
    sign = np.where(called, np.sign(gap), 0)
    decided = sign[called.argmax(axis=0), np.arange(len(truth))]
    close = np.abs(truth) <= 0.005
    assert close.sum() > 100
    # Any call of a close pair counts, half of these calls being right.
    assert (decided[close] != 0).mean() <= 0.1
    apart = (np.abs(truth) > 0.08) & (np.abs(truth) < 0.12)
    assert (decided[apart] == np.sign(truth[apart])).mean() > 0.95
    sizes = np.where(called.any(axis=0), np.array(looks)[called.argmax(axis=0)], looks[-1])
    assert sizes[apart].mean() < 100


# Replay


def test_the_weighted_quantile():
    values, weights = np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 2.0])
    assert replay.weighted_quantile(values, weights, 0.5) == 2
    assert replay.weighted_quantile(values, weights, 0.51) == 3
    assert replay.weighted_quantile(values, weights, 1.0) == 3


@pytest.fixture(scope="module")
def sources():
    return simulate(n_models=80, n_items=120, n_dims=2, seed=2).sorted()


def test_intervals_of_all_looks_hold_the_gaps_of_held_out_pairs(sources):
    looks = (10, 20, 40)
    plan = replay.learned_plan(sources, "c-optimal", looks, alpha=0.1)
    errors, weights = replay.replayed_errors(sources, "c-optimal", looks, "micro", None)
    inside = (np.abs(errors) <= np.array(plan.bounds)[:, None] + 1e-12).all(axis=0)
    assert weights[inside].sum() / weights.sum() >= 0.9


def test_predictors_are_those_of_the_best_linear_estimator(sources):
    from mdad._rng import Stream  # noqa: PLC0415
    from mdad.estimators import BestLinear  # noqa: PLC0415
    from mdad.selectors import COptimal  # noqa: PLC0415

    plan = replay.learned_plan(sources, "c-optimal", (10, 30), alpha=0.1)
    design = COptimal(shrinkage="fixed")
    chosen = design.prepare(sources, aggregate="micro", stream=Stream(0))(30)
    assert chosen.items == plan.order
    fitted = BestLinear(shrinkage="fixed").fit(sources, chosen, aggregate="micro")
    columns = [sources.item_position[item] for item in chosen.items]
    values = sources.values[:5, columns].astype(float)
    each = plan.predictors[1]
    assert each.constant + values @ np.array(each.coefficients) == pytest.approx(
        fitted.estimate(values).values
    )


def test_with_all_items_a_learned_design_is_exact(sources):
    options = {"scores": sources, "design": "irt-information", "alpha": 0.2, "batch": 40}
    session = Session.new(["x", "y"], budget=120, **options)
    same = {item: i % 2 for i, item in enumerate(sources.items)}
    # Equal full scores, on different items.
    other = {item: 1 - i % 2 for i, item in enumerate(sources.items)}
    order = session.setup.plan.order
    last = session._look(2, np.array([[x[i] for i in order] for x in (same, other)], dtype=float))
    assert (last.size, last.sign, session.setup.plan.bounds[-1]) == (120, 0, 0)
    assert last.gap == pytest.approx(0, abs=1e-12)
    # One more right answer of 120 decides.
    other[sources.items[0]] = 1 - other[sources.items[0]]
    last = session._look(2, np.array([[x[i] for i in order] for x in (same, other)], dtype=float))
    assert last.gap == pytest.approx((sum(same.values()) - sum(other.values())) / 120, abs=1e-12)
    assert last.sign == np.sign(last.gap) != 0


def test_compared_models_are_no_sources(sources):
    names = list(sources.models[:2])
    with_them = make_setup(names, scores=sources, design="c-optimal", alpha=0.1, budget=40)
    without = make_setup(
        names,
        scores=sources.restrict(models=sources.models[2:]),
        design="c-optimal",
        alpha=0.1,
        budget=40,
    )
    assert with_them.fingerprint == without.fingerprint


def test_one_model_against_a_reference(sources):
    for design, alpha in (("random", 0.05), ("c-optimal", 0.1)):
        session = Session.new(["x"], scores=sources, design=design, alpha=alpha, against=0.5)
        found = play(session, {"x": flat(0.95, sources.items)})
        assert (found.status, found.better, found.sign) == ("decided", "x", 1)
        low = Session.new(["x"], scores=sources, design=design, alpha=alpha, against=0.5)
        found = play(low, {"x": flat(0.02, sources.items)})
        assert (found.status, found.better, found.sign) == ("decided", None, -1)
        assert "x is below 50.0 points" in sentences(low)[0]


def test_models_beyond_the_sources_are_named(sources):
    session = Session.new(["x", "y"], scores=sources, design="c-optimal", alpha=0.1)
    found = play(session, {"x": flat(1.0, sources.items), "y": flat(0.0, sources.items)})
    assert "y: outside the range" in found.notes[-1]
    assert any("simulated" in note for note in found.notes)


def test_macro_scores_need_a_learned_design():
    scores = simulate(n_models=60, n_items=90, subtasks=3, seed=1)
    session = Session.new(
        ["x", "y"], scores=scores, design="c-optimal", alpha=0.2, aggregate="macro", budget=90
    )
    assert session.setup.plan.bounds[-1] == 0
    with pytest.raises(MethodError, match="plain mean"):
        Session.new(["x", "y"], scores=scores, aggregate="macro")


# Ask and tell


def test_asking_changes_nothing_and_telling_moves_on():
    session = Session.new(["a", "b"], items=ITEMS, batch=20, budget=60)
    first = session.ask()
    assert first == session.ask() == list(session.setup.plan.order[:20])
    assert session.tell({item: {"a": 1} for item in first}) == 20
    assert session.wanted() == dict.fromkeys(first, ("b",))
    assert session.tell({item: {"a": 1, "b": 1} for item in first}) == 20
    assert session.tell({item: {"a": 1, "b": 1} for item in first}) == 0
    assert session.ask() == list(session.setup.plan.order[20:40])


def test_items_told_early_are_not_asked_again():
    session = Session.new(["a", "b"], items=ITEMS, batch=20, budget=60)
    order = session.setup.plan.order
    session.tell({order[3]: {"a": 1, "b": 0}, order[25]: {"a": 1, "b": 0}})
    assert session.ask() == [item for item in order[:20] if item != order[3]]
    assert session.decision.n_answered == 0


def test_a_decision_stays_whatever_is_told_later():
    session = Session.new(["a", "b"], items=ITEMS, batch=50)
    order = session.setup.plan.order
    session.tell({item: {"a": 1, "b": 0} for item in order[:50]})
    found = session.decision
    assert (found.status, found.better, found.size) == ("decided", "a", 50)
    session.tell({item: {"a": 0, "b": 1} for item in order[50:]})
    assert session.decision.better == "a"
    assert session.decision.size == 50
    assert len(session.looks()) == 1
    assert session.ask() == []


def test_a_budget_can_end_without_a_decision():
    session = Session.new(["a", "b"], items=ITEMS, budget=30)
    found = play(session, {"a": flat(0.5), "b": flat(0.5)})
    assert (found.status, found.better, found.n_answered) == ("undecided", None, 30)
    assert "budget is used up" in sentences(session)[0]


def test_the_whole_pool_decides_exactly():
    values = {"a": flat(0.5), "b": dict(reversed(list(flat(0.5).items())))}
    found = play(Session.new(["a", "b"], items=ITEMS), values)
    assert found.status == "equal"
    values["b"] = {**values["b"], ITEMS[-1]: 1}
    found = play(Session.new(["a", "b"], items=ITEMS), values)
    assert (found.status, found.better) == ("decided", "b")


def test_graded_scores_of_any_range():
    rng = np.random.default_rng(1)
    values = {
        "a": {item: float(x) for item, x in zip(ITEMS, rng.normal(60, 10, 200), strict=True)},
        "b": {item: float(x) for item, x in zip(ITEMS, rng.normal(50, 10, 200), strict=True)},
    }
    found = play(Session.new(["a", "b"], items=ITEMS, score_range=(0, 100)), values)
    assert found.better == "a"
    assert found.low < found.gap < found.high
    one = Session.new(["a"], items=ITEMS, score_range=(0, 100), against=50.0)
    assert play(one, values).better == "a"


def test_a_micro_benchmark_of_random_items_is_enough():
    micro = select(items=ITEMS, size=80, seed=3)
    session = Session.new(["a", "b"], micro=micro, batch=20)
    assert set(session.setup.plan.order) == set(micro.items)
    assert session.setup.pool.n_items == 200
    found = play(session, {"a": flat(1.0), "b": flat(0.1)})
    assert found.better == "a"
    session.check_items(ITEMS, micro.benchmark.items_fingerprint)
    weighted = select(
        items=ITEMS, size=10, method="random-subtasks-equal", subtasks=["x"] * 50 + ["y"] * 150
    )
    with pytest.raises(MethodError, match="random items"):
        Session.new(["a", "b"], micro=weighted)


def test_a_callable_is_run_to_the_end():
    calls = []
    values = {"a": flat(0.9), "b": flat(0.3)}

    def evaluate(model, items):
        calls.append((model, tuple(items)))
        return {item: values[model][item] for item in items}

    session = Session.new(["a", "b"], items=ITEMS)
    assert session.run(evaluate).better == "a"
    asked = [(model, item) for model, items in calls for item in items]
    assert len(asked) == len(set(asked)) == 2 * session.decision.size
    with pytest.raises(ScoresError, match="1 are missing"):
        Session.new(["a", "b"], items=ITEMS, batch=1).run(lambda model, items: {})  # noqa: ARG005


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"zz": {"a": 1}}, "not of this session"),
        ({"q000": {"c": 1}}, "'c' is not compared"),
        ({"q000": {"a": 2}}, "from 0 to 1; got 2"),
        ({"q000": {"a": None}}, "got None"),
        ({"q000": {"a": math.nan}}, "could not be scored"),
        ({"q001": {"a": 0, "b": 0}, "q002": {"a": 0}}, "answered before"),
    ],
)
def test_wrong_answers_are_refused_and_none_is_taken(told, said):
    session = Session.new(["a", "b"], items=ITEMS)
    session.tell({"q002": {"a": 1}})
    with pytest.raises(ScoresError, match=said):
        session.tell(told)
    assert session.answers == {"q002": {"a": 1.0}}


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"items": ITEMS, "models": ["a"]}, SettingError, "two different models"),
        ({"items": ITEMS, "models": ["a", "a"]}, SettingError, "two different models"),
        ({"items": ITEMS, "against": 0.5}, SettingError, "one model"),
        ({"items": ITEMS, "models": "a", "against": 1.0}, SettingError, "strictly between"),
        ({"items": ITEMS, "budget": 201}, SettingError, "the budget is 201"),
        ({"items": ITEMS, "budget": 5}, SettingError, "a batch of 10"),
        ({"items": ITEMS, "alpha": 0}, SettingError, "alpha"),
        ({"items": ITEMS, "design": "c-optimal"}, MethodError, "source models"),
        ({"items": ITEMS, "design": "c-optimum"}, SettingError, "did you mean 'c-optimal'"),
        ({"items": ITEMS, "spending": "poccock"}, SettingError, "did you mean 'pocock'"),
        ({"items": ITEMS, "aggregate": "macro"}, SettingError, "needs subtasks"),
        ({}, SettingError, "one of the three"),
    ],
)
def test_wrong_settings_are_refused(options, kind, said):
    models = options.pop("models", ["a", "b"])
    with pytest.raises(kind, match=said):
        Session.new(models, **options)


def test_few_sources_are_refused(sources):
    few = sources.restrict(models=sources.models[:30])
    with pytest.raises(MethodError, match="takes 38 of them or more, got 30"):
        Session.new(["x", "y"], scores=few, design="c-optimal")


# The file


def test_a_session_is_resumed_from_its_file(tmp_path):
    path = tmp_path / "s.json"
    values = {"a": flat(0.7), "b": flat(0.4)}
    session = Session.new(["a", "b"], items=ITEMS, path=path)
    while session.decision.open:
        again = Session.load(path)
        assert again.wanted() == session.wanted()
        assert again.decision == session.decision
        again.tell(answers(again, values))
        session = again
    alone = play(Session.new(["a", "b"], items=ITEMS), values)
    assert session.decision == alone
    with pytest.raises(FormatError, match="exists"):
        Session.new(["a", "b"], items=ITEMS, path=path)


def test_two_processes_keep_each_others_answers(tmp_path):
    path = tmp_path / "s.json"
    one = Session.new(["a", "b"], items=ITEMS, path=path)
    two = Session.load(path)
    items = one.ask()
    one.tell({item: {"a": 1} for item in items})
    two.tell({item: {"b": 0} for item in items})
    assert Session.load(path).decision.n_answered == 10


def test_answers_are_not_taken_when_they_cannot_be_written(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    session = Session.new(["a", "b"], items=ITEMS, path=folder / "s.json")
    (folder / "s.json").unlink()
    folder.rmdir()
    with pytest.raises(FormatError, match="cannot write"):
        session.tell({session.ask()[0]: {"a": 1}})
    assert session.answers == {}


def edited(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"alpha": 0.05', '"alpha": 0.5', "changed by another hand"),
        ('"q000"', '"q999"', "changed by another hand"),
        ('"format_version": 1', '"format_version": 9', "Update mdad"),
        ("mdad-session", "mdad-other", "not a session"),
        ("{", "", "not a session"),
        ('"answers": {}', '"answers": {"zz": {"a": 1}}', "not of this session"),
        ('"answers": {}', '"more": 1, "answers": {}', "not a session"),
    ],
)
def test_damaged_files_are_refused(tmp_path, old, new, said):
    path = tmp_path / "s.json"
    Session.new(["a", "b"], items=ITEMS, path=path)
    edited(path, old, new)
    with pytest.raises(MdadError, match=said):
        Session.load(path)


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    with pytest.raises(FormatError, match="cannot read"):
        Session.load(tmp_path / "none.json")
    Session.new(["a", "b"], items=ITEMS, path=tmp_path / "s.json")
    monkeypatch.setattr("mdad.adaptive._state.MAX_BYTES", 10)
    with pytest.raises(FormatError, match="larger than"):
        Session.load(tmp_path / "s.json")


def test_another_session_under_the_name_is_not_overwritten(tmp_path):
    path = tmp_path / "s.json"
    one = Session.new(["a", "b"], items=ITEMS, path=path)
    path.unlink()
    Session.new(["a", "b"], items=ITEMS, seed=1, path=path)
    with pytest.raises(FormatError, match="another session"):
        one.tell({one.ask()[0]: {"a": 1}})


def test_another_benchmark_is_refused():
    session = Session.new(["a", "b"], items=ITEMS)
    session.check_items(ITEMS, items_fingerprint(ITEMS))
    with pytest.raises(FormatError, match="199 of its 200 items"):
        session.check_items(ITEMS[1:], items_fingerprint(ITEMS[1:]))


def test_items_whose_content_changed_are_refused():
    def scores(last):
        info = pd.DataFrame({"content_hash": ["x"] * 29 + [last]}, index=ITEMS[:30])
        return ScoreMatrix([[0, 1] * 15, [1] * 30], ["a", "b"], ITEMS[:30], item_info=info)

    session = Session.new(["a", "b"], scores=scores("y"), batch=30)
    with pytest.raises(FormatError, match=r"content of 1 item has changed.*'q029'"):
        session.tell(scores("z"))
    assert session.answers == {}
    session.tell(scores("y"))
    assert session.decision.n_answered == 30
    hashes = dataclasses.replace(select(items=ITEMS, size=2), content_hashes=("x", ""))
    assert len(Session.new(["a", "b"], micro=hashes, batch=1).setup.contents) == 1


WORKER = """
import sys
from pathlib import Path
from mdad.adaptive import Session

folder = Path(sys.argv[1])
path = folder / "s.json"
items = [f"q{i:03d}" for i in range(200)]
if path.exists():
    session = Session.load(path)
else:
    session = Session.new(["a", "b"], items=items, batch=5, path=path)

def evaluate(model, wanted):
    # The log of what was asked is written before the answer, as a bill would be.
    with (folder / "asked.txt").open("a") as log:
        log.write("".join(f"{model} {item}\\n" for item in wanted))
    easy = 52 if model == "a" else 44
    return {item: int((int(item[1:]) * 7919) % 100 < easy) for item in wanted}

session.run(evaluate)
print("done")
"""


def test_killed_at_any_point_a_session_goes_on_where_it_was(tmp_path):
    (tmp_path / "worker.py").write_text(WORKER)
    command = [sys.executable, str(tmp_path / "worker.py"), str(tmp_path)]
    whole = tmp_path / "whole"
    whole.mkdir()
    subprocess.run([*command[:2], str(whole)], check=True, capture_output=True)
    rng = random.Random(7)
    kills = 0
    for _ in range(10):
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        # Wait for the first sign of life of this run, then kill it somewhere.
        size = _lines(tmp_path)
        while process.poll() is None and _lines(tmp_path) == size:
            time.sleep(0.001)
        time.sleep(rng.random() * 0.01)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.communicate()
        if (tmp_path / "s.json").exists():
            state = Session.load(tmp_path / "s.json")
            if not state.decision.open:
                break
    else:
        subprocess.run(command, check=True, capture_output=True)
    assert kills >= 3
    # The same file, byte for byte, as of a session that was never killed.
    assert (tmp_path / "s.json").read_bytes() == (whole / "s.json").read_bytes()
    asked = (tmp_path / "asked.txt").read_text().split("\n")[:-1]
    expected = set((whole / "asked.txt").read_text().split("\n")[:-1])
    assert set(asked) == expected
    # Asked twice is at most the one call that was under way at each kill.
    assert len(asked) - len(expected) <= 5 * kills


def _lines(folder):
    log = folder / "asked.txt"
    return log.stat().st_size if log.exists() else 0


# The command

RUNNER = CliRunner()


def run(*arguments):
    result = RUNNER.invoke(app, ["next", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def ids(tmp_path):
    path = tmp_path / "ids.txt"
    path.write_text("\n".join(ITEMS))
    return path


def table(path, values):
    items = list(next(iter(values.values())))
    lines = ["model," + ",".join(items)]
    lines += [f"{m}," + ",".join(str(row[i]) for i in items) for m, row in values.items()]
    path.write_text("\n".join(lines))
    return path


def test_the_command_asks_and_decides(tmp_path, ids):
    path = tmp_path / "s.json"
    first = run("--new", path, "--items", ids, "--models", "a,b", "--batch", 25)
    asked = first.stdout.split()
    assert asked == Session.load(path).ask()
    assert "no look yet" in first.stderr
    values = {m: {i: flat(share)[i] for i in asked} for m, share in (("a", 1.0), ("b", 0.2))}
    only = {"a": values["a"]}
    half = run(path, "--answers", table(tmp_path / "a.csv", only))
    assert half.stdout.split() == asked
    assert "25 answers to tell" in half.stderr
    mixed = {"b": {item: values["b"][item] for item in asked[1:]}}
    run(path, "--answers", table(tmp_path / "b.csv", mixed))
    assert run(path).stdout.split() == asked[:1]
    (tmp_path / "one.json").write_text(json.dumps({asked[0]: {"b": values["b"][asked[0]]}}))
    found = run(path, "--answers", tmp_path / "one.json", "--items", ids)
    assert found.stdout.startswith("Decided: a is better than b")
    document = json.loads(run(path, "--json").stdout)
    assert (document["status"], document["better"], document["items"]) == ("decided", "a", [])


def test_the_command_with_scores_and_a_micro_benchmark(tmp_path, sources):
    path, scores = tmp_path / "s.json", tmp_path / "scores.csv"
    values = {
        m: dict(zip(sources.items, row.tolist(), strict=True))
        for m, row in zip(sources.models, sources.values, strict=True)
    }
    table(scores, values)
    options = ["--scores", scores, "--design", "c-optimal", "--alpha", 0.1, "--budget", 60]
    asked = run("--new", path, "--models", "x", "--against", 60, *options).stdout.split()
    assert len(asked) == 10
    assert Session.load(path).setup.reference == pytest.approx(0.6)
    assert run(path, "--scores", scores).stdout.split() == asked
    run(path, "--answers", table(tmp_path / "x.csv", {"x": dict.fromkeys(asked, 1)}))
    micro = select(items=ITEMS, size=50)
    micro.save(tmp_path / "m.json")
    other = tmp_path / "t.json"
    asked = run("--new", other, "--models", "x,y", "--micro", tmp_path / "m.json").stdout.split()
    assert set(asked) <= set(micro.items)
    assert run(other, "--micro", tmp_path / "m.json").stdout.split() == asked
    with pytest.raises(FormatError, match="another benchmark"):
        run(other, "--scores", scores)
    (tmp_path / "bad.json").write_text("{}}")
    with pytest.raises(FormatError):
        run(other, "--answers", tmp_path / "bad.json")
    everything = table(tmp_path / "all.csv", {m: flat(0.5) for m in ("x", "y", "z")})
    with pytest.raises(ScoresError, match="not of this session"):
        run(other, "--answers", everything)
    assert "Undecided" in run(other, "--answers", everything, "--extra", "ignore").stdout


def test_scores_in_another_range(tmp_path, ids):
    path = tmp_path / "s.json"
    options = ["--items", ids, "--score-range", 0, 100]
    asked = run("--new", path, "--models", "x", "--against", 50, *options).stdout.split()
    assert Session.load(path).setup.reference == 50
    told = table(tmp_path / "x.csv", {"x": {item: 60 + i for i, item in enumerate(asked)}})
    run(path, "--answers", told)
    assert Session.load(path).decision.n_answered == 10


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--new", "--items", "ids.txt"], "--new needs --models"),
        (["--new", "--models", "a,b"], "--new needs one of"),
        (["--new", "--models", "a,b", "--items", "ids.txt", "--scores", "digits-zoo"], "one of"),
        (["--alpha", "0.1", "--models", "a,b"], "--models, --alpha: settings are fixed"),
        ([], "cannot read"),
        (["--new", "--models", "a,b", "--items", "ids.txt", "--budget", "0"], "budget"),
    ],
)
@pytest.mark.usefixtures("ids")
def test_bad_options_are_refused(tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MdadError, match=said):
        run("s.json", *options)


def test_sentences_turn_a_lead_of_the_second(tmp_path):
    session = Session.new(["a", "b"], items=ITEMS, path=tmp_path / "s.json")
    play(session, {"a": flat(0.1), "b": flat(0.9)})
    assert sentences(session)[0].startswith("Decided: b is better than a, ")
    equal = Session.new(["a", "b"], items=ITEMS)
    play(equal, {"a": flat(0.5), "b": flat(0.5)})
    assert "equal on all 200 items" in sentences(equal)[0]
    open_ = Session.new(["a", "b"], items=ITEMS)
    asked = open_.ask()
    open_.tell({i: {"a": 1, "b": 1} for i in asked})
    open_.tell({i: {"a": 1} for i in open_.ask()[:3]})
    lines = sentences(open_)
    assert lines[0].startswith("Open: a less b 0.0 points")
    assert "a lacks 7 of them." in lines


def test_learned_looks():
    assert learned_look(0.1, 0.05, 10).sign == 1
    assert learned_look(-0.1, 0.05, 10).sign == -1
    assert learned_look(0.1, 0.1, 10).sign == 0


def test_a_matrix_can_be_told():
    session = Session.new(["a", "b"], items=ITEMS)
    items = session.ask()
    matrix = ScoreMatrix([[1.0] * 10, [0.0] * 9 + [np.nan]], ["a", "b"], items)
    assert session.tell(matrix) == 19
    assert by_item(matrix)[items[9]] == {"a": 1.0}


def test_it_is_in_the_face_of_the_library():
    assert mdad.Session is Session


def share_called(looks, bounds, n_items, discordant, added, step):
    """Of orders of a pool with as many wins as losses, how many leave the boundaries."""
    half = discordant // 2
    pool = np.array([1] * half + [-1] * half + [0] * (n_items - discordant))
    orders = np.random.default_rng(5).permuted(np.tile(pool, (6000, 1)), axis=1)
    total, squares = orders.cumsum(axis=1), np.abs(orders).cumsum(axis=1)
    called = np.zeros(len(orders), dtype=bool)
    for size, bound in zip(looks, bounds, strict=True):
        if size < n_items:
            spread = np.sqrt((squares[:, size - 1] + added) * (1 - size / n_items))
            called |= (np.abs(total[:, size - 1]) - step >= bound * spread) & (spread > 0)
    return called.mean()


def test_why_a_pair_is_added_and_half_a_step_taken():
    # Ten discordant items in a pool of 200: the plain statistic breaks the promise of 5 %.
    looks = looks_of(10, 200)
    for spending in ("pocock", "obrien-fleming"):
        bounds = boundaries(looks, 200, spending=spending)
        assert share_called(looks, bounds, 200, 10, 0, 0) > 0.07
        assert share_called(looks, bounds, 200, 10, 2, 0.5) < 0.05


def test_why_looks_must_be_paid_for():
    # The usual 5 % test, after every ten of 750 items, on two equal models.
    looks = looks_of(10, 750)
    assert share_called(looks, np.full(len(looks), 1.96), 750, 220, 0, 0) > 0.4


def test_real_pairs_take_a_quarter_fewer_items_than_a_fixed_test(shared_data):
    scores = mdad.load(shared_data / "musr.csv.gz", duplicates="number").complete().scores
    scores = distinct_models(scores.sorted())
    full = scores.full_scores()
    first, second = np.triu_indices(len(full), 1)
    gaps = np.abs(full[first] - full[second])
    rng = np.random.default_rng(2)
    chosen = rng.choice(np.flatnonzero((gaps >= 0.04) & (gaps <= 0.06)), 60, replace=False)
    sizes, right, tests = [], [], []
    for seed, pair in enumerate(chosen):
        rows = scores.values[[first[pair], second[pair]]].astype(float)
        session = Session.new(["a", "b"], items=scores.items, seed=seed)
        session.tell(
            {item: {"a": a, "b": b} for item, a, b in zip(scores.items, *rows, strict=True)}
        )
        truth = np.sign(full[first[pair]] - full[second[pair]])
        sizes.append(session.decision.size)
        right.append(session.decision.sign == truth)
        order = [scores.item_position[item] for item in session.setup.plan.order]
        contrast = (rows[0] - rows[1])[order]
        tests.append(
            [
                random_look(contrast[:size], 1.96, scores.n_items, (-1, 1), None).sign == truth
                for size in range(10, scores.n_items, 10)
            ]
        )
    assert np.mean(right) > 0.98
    # One test of the same error probability, of the size at which it decides as many rightly.
    fixed = 10 * (1 + (np.mean(tests, axis=0) >= np.mean(right)).argmax())
    assert np.mean(sizes) <= 0.75 * fixed


@pytest.mark.parametrize("first", ["at once", "batches"])
def test_answers_told_before_they_are_asked_wait_for_their_look(first):
    session = Session.new(["a", "b"], items=ITEMS, batch=10)
    order = session.setup.plan.order
    # a is ahead on the first 40 items of the order and far behind on all others.
    ahead = {item: (1, int(k % 4 == 0)) if k < 40 else (0, 1) for k, item in enumerate(order)}
    told = {item: dict(zip("ab", pair, strict=True)) for item, pair in ahead.items()}
    if first == "at once":
        session.tell(told)
    while session.decision.open:
        session.tell({item: told[item] for item in session.ask()})
    looks = session.looks()
    assert [look.size for look in looks] == list(session.setup.plan.looks[: len(looks)])
    assert [look.sign for look in looks] == [0] * (len(looks) - 1) + [1]
    assert (session.decision.better, session.decision.size) == ("a", 20)
    assert session.decision.n_answered == (len(ITEMS) if first == "at once" else 20)


@pytest.mark.parametrize("design", ["c-optimal", "irt-information"])
def test_a_learned_design_ends_with_the_exact_macro_average(design):
    values = np.random.default_rng(3).integers(0, 2, (60, 40))
    items = [f"q{i:02}" for i in range(40)]
    labels = ["small"] * 4 + ["large"] * 36
    models = [f"m{i:02}" for i in range(60)]
    scores = ScoreMatrix(values, models, items, subtasks=labels)
    session = Session.new(["a", "b"], scores=scores, design=design, aggregate="macro", budget=40)
    # b wins 8 of the 36 large ones and a 2 of the 4 small ones: 0.5 against 0.22 of the average.
    told = {item: {"a": 0, "b": 0} for item in items}
    for item in items[:2]:
        told[item]["a"] = 1
    for item in items[4:12]:
        told[item]["b"] = 1
    place = session.setup.plan.looks.index(40)
    rows = np.array([[told[i][m] for i in session.setup.plan.order] for m in "ab"], dtype=float)
    last = session._look(place, rows)
    assert last.gap == pytest.approx((2 / 4 - 8 / 36) / 2, abs=1e-12)
    assert last.sign == 1
    assert session._look(place, rows[[0, 0]]).sign == 0


@pytest.mark.parametrize(
    ("setting", "design"), [("aggregate", "random"), ("spending", "c-optimal")]
)
def test_settings_without_meaning_are_refused_before_a_file_is_written(tmp_path, setting, design):
    scores = simulate(n_models=40, n_items=60, seed=1)
    with pytest.raises(SettingError, match=setting):
        Session.new(
            ["a", "b"], scores=scores, design=design, path=tmp_path / "s.json", **{setting: "odd"}
        )
    assert not (tmp_path / "s.json").exists()


def test_an_unknown_way_with_further_answers_makes_no_session(tmp_path, ids):
    options = ["--models", "a,b", "--items", ids, "--extra", "odd"]
    with pytest.raises(SettingError, match="--extra"):
        run("--new", tmp_path / "s.json", *options)
    assert not (tmp_path / "s.json").exists()
