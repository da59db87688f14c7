"""Score and compare on micro-benchmarks of randomly drawn items."""

import math
from itertools import combinations

import numpy as np
import pytest

import mdad
from mdad.errors import ScoresError, SettingError
from mdad.microbenchmark import Benchmark, Made, Microbenchmark
from mdad.paired import items_to_decide, paired_interval
from mdad.report.verdict import headline, pair_sentence, to_markdown
from mdad.scores import ScoreMatrix
from mdad.selecting import select
from mdad.verdicts import compare, score

N = 12


def pool(n=1000, seed=0):
    rng = np.random.default_rng(seed)
    return [f"q{i:04}" for i in range(n)], rng


def micro_of(items, n_items=None, **changes):
    benchmark = Benchmark("b", n_items or len(items), "-", **changes)
    return Microbenchmark(tuple(items), benchmark, Made("random", 0))


def run_of(items, row):
    return dict(zip(items, np.asarray(row).tolist(), strict=True))


def test_score_is_the_mean_whatever_the_order_of_the_rows():
    ids, rng = pool()
    micro = select(items=ids, size=100, seed=1)
    run = {item: int(rng.random() < 0.6) for item in micro.items}
    found = score(micro, run)
    assert found.value == pytest.approx(sum(run.values()) / 100, abs=1e-12)
    shuffled = dict(sorted(run.items(), key=lambda pair: hash(pair[0])))
    assert score(micro, shuffled) == found
    matrix = ScoreMatrix([list(shuffled.values())], ["m"], list(shuffled))
    assert score(micro, matrix).value == found.value


def test_round_trip_gives_the_same_estimate(tmp_path):
    scores = mdad.datasets.simulate(n_models=25, n_items=200, subtasks=4, seed=2)
    for method in ("random", "random-subtasks-equal", "random-subtasks-proportional"):
        micro = select(scores, size=30, method=method, seed=3)
        again = Microbenchmark.load(micro.save(tmp_path / f"{method}.json"))
        run = scores.restrict(models=[scores.models[0]], items=micro.items[::-1])
        before, after = score(micro, run), score(again, run)
        assert after.value == pytest.approx(before.value, abs=1e-12)
        weights = micro.weights or (1 / 30,) * 30
        row = run.restrict(items=micro.items).values[0]
        assert before.value == pytest.approx(float(row @ np.array(weights)), abs=1e-12)


def test_intervals_hold_the_share_they_promise_by_brute_force():
    # All 924 subsets of 6 of 12 items; the interval of the mean holds the full score in at least
    # 95 % of them for every number of right answers (Wilson bounds moved outwards).
    ids = [f"q{i}" for i in range(N)]
    for right in range(N + 1):
        row = np.array([1] * right + [0] * (N - right))
        held = []
        for chosen in combinations(range(N), 6):
            micro = micro_of([ids[i] for i in chosen], N)
            found = score(micro, run_of(micro.items, row[list(chosen)]))
            held.append(found.low - 1e-12 <= right / N <= found.high + 1e-12)
        assert np.mean(held) >= 0.95


def test_missing_items_are_refused_dropped_or_wrong():
    ids = [f"q{i}" for i in range(4)]
    micro = micro_of(ids, 100)
    run = {"q0": 1, "q1": 1, "q2": math.nan}
    with pytest.raises(ScoresError, match="2 chosen items of 4 not scored: 'q2', 'q3'"):
        score(micro, run)
    dropped = score(micro, run, missing="drop")
    assert (dropped.value, dropped.n, dropped.n_missing) == (1.0, 2, 2)
    wrong = score(micro, run, missing="wrong")
    assert (wrong.value, wrong.n, wrong.n_missing) == (0.5, 4, 0)
    assert dropped.high - dropped.low > wrong.high - wrong.low - 0.5
    with pytest.raises(ScoresError, match="none of the chosen items"):
        score(micro, {"q0": math.nan}, missing="drop")
    with pytest.raises(SettingError, match="missing"):
        score(micro, run, missing="skip")


def test_unexpected_items_are_refused_unless_they_are_the_whole_benchmark():
    ids, rng = pool(50)
    micro = select(items=ids, size=10, seed=0)
    run = {item: int(rng.random() < 0.5) for item in ids}
    whole = score(micro, run)
    chosen = {item: run[item] for item in micro.items}
    assert whole == score(micro, chosen)
    extra = {**chosen, "other": 1}
    with pytest.raises(ScoresError, match="'other'"):
        score(micro, extra)
    assert score(micro, extra, extra="ignore") == whole


def test_scores_must_be_numbers_in_range_by_id():
    micro = micro_of(["a", "b"])
    with pytest.raises(ScoresError, match="outside the range"):
        score(micro, {"a": 1, "b": 2})
    with pytest.raises(ScoresError, match="must be numbers"):
        score(micro, {"a": 1, "b": "yes"})
    with pytest.raises(ScoresError, match="no ids to join by"):
        compare(micro, {"m": [1, 0], "n": [0, 1]})
    with pytest.raises(ScoresError, match="one model"):
        score(micro, ScoreMatrix([[1, 0], [0, 1]], ["x", "y"], ["a", "b"]))
    with pytest.raises(ScoresError, match="two models"):
        compare(micro, {"m": {"a": 1, "b": 0}})
    with pytest.raises(ScoresError, match="hold 2 models"):
        compare(micro, {"m": ScoreMatrix([[1, 0], [0, 1]], ["x", "y"], ["a", "b"]), "n": {}})
    with pytest.raises(ScoresError, match="no model"):
        compare(micro, {})


def test_graded_scores_with_a_negative_range():
    rng = np.random.default_rng(1)
    ids = [f"q{i}" for i in range(40)]
    micro = micro_of(ids, 171, score_range=(-33.3, 10.0), kind="graded")
    a = np.clip(rng.normal(5, 3, 40), -33.3, 10)
    b = np.clip(a - 2 - rng.random(40), -33.3, 10)
    verdict = compare(micro, {"a": run_of(ids, a), "b": run_of(ids, b)})
    assert verdict.pairs[0].better == "a"
    assert verdict.pairs[0].mcnemar is None
    assert verdict.pairs[0].gap == pytest.approx(float((a - b).mean()))
    assert "points ahead" in headline(verdict)


def test_verdict_by_hand():
    # 98 of 100 alike, 2 wins: McNemar 2 * (1/2)^2 = 0.5.
    ids, _ = pool(100)
    a, b = [1] * 60 + [0] * 40, [1] * 58 + [0] * 42
    micro = micro_of(ids, 1000)
    verdict = compare(micro, {"a": run_of(ids, a), "b": run_of(ids, b)})
    pair = verdict.pair("a", "b")
    assert (pair.wins, pair.ties, pair.losses) == (2, 98, 0)
    assert pair.mcnemar == 0.5
    assert pair.better is None
    assert pair.items_to_decide > 100
    expected = paired_interval(a, b, 1000, level=0.9)
    assert (pair.low, pair.high, pair.a_better) == (expected.low, expected.high, expected.a_better)
    turned = verdict.pair("b", "a")
    assert turned.gap == -pair.gap
    assert (turned.low, turned.high) == (-pair.high, -pair.low)
    assert turned.a_better == pytest.approx(1 - pair.a_better)
    with pytest.raises(ScoresError, match="not compared"):
        verdict.pair("a", "c")
    assert "Cannot tell" in pair_sentence(pair, verdict)
    assert f"{pair.items_to_decide:,} items would decide" in pair_sentence(pair, verdict)


def test_swapping_models_turns_the_verdict_round():
    ids, rng = pool(80)
    a, b = (rng.random(80) < 0.7).astype(int), (rng.random(80) < 0.5).astype(int)
    micro = micro_of(ids, 400)
    one = compare(micro, {"a": run_of(ids, a), "b": run_of(ids, b)}).pairs[0]
    two = compare(micro, {"b": run_of(ids, b), "a": run_of(ids, a)}).pairs[0]
    assert two.gap == pytest.approx(-one.gap)
    assert two.a_better == pytest.approx(1 - one.a_better)
    assert two.better == one.better
    assert two.confidence == pytest.approx(one.confidence)


def test_holm_by_hand():
    # Doubts of the three pairs, smallest first, times 3, 2, 1, never below the one before.
    ids, rng = pool(200)
    rows = {
        name: (rng.random(200) < p).astype(int)
        for name, p in zip("abc", (0.8, 0.7, 0.62), strict=True)
    }
    micro = micro_of(ids, 2000)
    verdict = compare(micro, {name: run_of(ids, row) for name, row in rows.items()})
    doubts = []
    for pair in verdict.pairs:
        alone = compare(micro, {m: run_of(ids, rows[m]) for m in (pair.a, pair.b)}).pairs[0]
        doubts.append(1 - max(alone.a_better, 1 - alone.a_better))
    order = np.argsort(doubts)
    running = 0.0
    for step, position in zip((3, 2, 1), order, strict=True):
        running = max(running, min(1, doubts[position] * step))
        pair = verdict.pairs[position]
        assert pair.confidence == pytest.approx(1 - running)
        assert (pair.better is not None) == (running <= 0.05)


def test_equal_scores_share_a_rank_and_models_alike_share_a_tier():
    ids, rng = pool(300)
    top = (rng.random(300) < 0.9).astype(int)
    low = (rng.random(300) < 0.3).astype(int)
    runs = {"x": low, "a": top, "b": top[::-1], "y": low}
    micro = micro_of(ids, 3000)
    verdict = compare(micro, {name: run_of(ids, row) for name, row in runs.items()})
    places = {place.model: place for place in verdict.ranking}
    assert [places[m].rank for m in "abxy"] == [1, 1, 3, 3]
    assert [places[m].tier for m in "abxy"] == [1, 1, 2, 2]
    assert (places["a"].rank_low, places["a"].rank_high) == (1, 2)
    assert (places["x"].rank_low, places["x"].rank_high) == (3, 4)
    assert "2 of" not in headline(verdict)
    assert "4 of 6 pairs decided" in headline(verdict)
    same = verdict.pair("x", "y")
    assert same.items_to_decide is None
    assert "equal on 300 items" in pair_sentence(same, verdict)


def test_not_worse_needs_proof():
    ids, rng = pool(400)
    base = (rng.random(400) < 0.6).astype(int)
    other = (rng.random(400) < 0.6).astype(int)
    micro = micro_of(ids, 4000)
    verdict = compare(micro, {"base": run_of(ids, base), "new": run_of(ids, other)})
    end = verdict.pair("new", "base").low
    assert verdict.not_worse("new", "base", margin=max(0, -end) + 1e-9)
    assert not verdict.not_worse("new", "base", margin=max(0, -end - 1e-6))
    # Few items: no prior helps a comparison that cannot tell past the gate.
    few = ids[:10]
    tiny = compare(micro_of(few, 4000), {m: run_of(few, base[:10]) for m in ("base", "new")})
    assert not tiny.not_worse("new", "base", margin=0.02)
    with pytest.raises(SettingError, match="margin"):
        verdict.not_worse("new", "base", margin=-1)


def test_missing_items_in_a_comparison_rest_on_common_items():
    ids = [f"q{i}" for i in range(6)]
    micro = micro_of(ids, 60)
    a = dict.fromkeys(ids, 1)
    b = dict.fromkeys(ids[:4], 0)
    verdict = compare(micro, {"a": a, "b": b}, missing="drop")
    assert verdict.n == 4
    assert any("4 items scored for every model" in note for note in verdict.notes)
    with pytest.raises(ScoresError, match="nothing can be compared"):
        compare(micro, {"a": {"q0": 1}, "b": {"q1": 1}}, missing="drop")
    assert any(
        "counted as wrong" in n for n in compare(micro, {"a": a, "b": b}, missing="wrong").notes
    )


def test_stratified_intervals_cover_and_are_narrower():
    # Subtasks of very different difficulty: weights by subtask and the variance within them.
    rng = np.random.default_rng(5)
    ids = [f"q{i:03}" for i in range(600)]
    labels = ["easy"] * 100 + ["mid"] * 200 + ["hard"] * 300
    rates = np.array([0.95] * 100 + [0.5] * 200 + [0.1] * 300)
    row = (rng.random(600) < rates).astype(int)
    truth, held, widths, plain = row.mean(), [], [], []
    position = {item: i for i, item in enumerate(ids)}
    for seed in range(400):
        micro = select(items=ids, subtasks=labels, size=60, min_per_subtask=10, seed=seed)
        found = score(micro, {item: int(row[position[item]]) for item in micro.items})
        held.append(found.low <= truth <= found.high)
        widths.append(found.high - found.low)
        even = select(items=ids, size=60, seed=seed)
        found = score(even, {item: int(row[position[item]]) for item in even.items})
        plain.append(found.high - found.low)
    # 400 subsets: three standard errors of 0.95 are 0.033.
    assert np.mean(held) >= 0.95 - 0.033
    assert np.mean(widths) < np.mean(plain)


def test_better_is_rarely_wrong_on_random_subsets():
    """Simulated models, 40 subsets of 100 items: among "better" at most 6 % wrong."""
    scores = mdad.datasets.simulate(n_models=14, n_items=1000, seed=3, probabilities=False)
    full = dict(zip(scores.models, scores.full_scores(), strict=True))
    wrong = decided = 0
    for seed in range(40):
        micro = select(items=scores.items, size=100, seed=seed)
        part = scores.restrict(items=micro.items)
        for a, b in combinations(scores.models, 2):
            pair = compare(micro, part.restrict(models=[a, b])).pairs[0]
            if pair.better is not None:
                decided += 1
                other = b if pair.better == a else a
                wrong += full[pair.better] <= full[other]
    assert decided > 1000
    assert wrong / decided <= 0.06


def test_items_to_decide_is_where_the_verdict_turns():
    a, b = [1] * 55 + [0] * 45, [0] * 30 + [1] * 47 + [0] * 23
    found = paired_interval(a, b, 5000)
    assert found.gap == pytest.approx(0.08)
    size = items_to_decide(found, 0.95)
    # The same answers repeated: the gap stays, the error shrinks; P crosses 0.95 near that size.
    times = math.ceil(size / 100)
    more = paired_interval(a * times, b * times, 5000)
    assert more.a_better >= 0.95 - 0.01
    less = paired_interval(a * max(1, times // 2), b * max(1, times // 2), 5000)
    assert less.a_better < 0.95
    assert items_to_decide(paired_interval([1, 0], [0, 1], 50), 0.95) is None


def test_markdown_is_safe_and_complete():
    ids, rng = pool(50)
    runs = {
        "<b>evil</b> | x": run_of(ids, rng.integers(0, 2, 50)),
        "plain": run_of(ids, rng.integers(0, 2, 50)),
    }
    text = to_markdown(compare(micro_of(ids, 500), runs), 0.0)
    assert "<b>" not in text
    assert "&lt;b&gt;evil&lt;/b&gt; \\| x" in text
    assert text.startswith("**")
    assert "| rank | model |" in text


def test_notes_warn_outside_the_source_models():
    scores = mdad.datasets.simulate(n_models=20, n_items=80, seed=1, probabilities=False)
    micro = select(scores, size=20, method="random")
    perfect = dict.fromkeys(micro.items, 1)
    nothing = dict.fromkeys(micro.items, 0)
    notes = " ".join(compare(micro, {"top": perfect, "zero": nothing}).notes)
    assert "outside the range of the source models" in notes
    assert "simulated" in notes
