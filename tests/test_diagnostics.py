"""Item diagnostics: hand-worked items, planted faults, the command."""

import json
import math

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from mdad import datasets
from mdad.cli import app
from mdad.diagnostics import diagnose_items
from mdad.diagnostics._discrimination import discoveries, discrimination, keys
from mdad.diagnostics._information import information
from mdad.errors import MdadError, ScoresError, SettingError
from mdad.report import items as shown
from mdad.scores import ScoreMatrix


def matrix(values, **more):
    values = np.asarray(values, dtype=float)
    models = [f"m{i:03d}" for i in range(len(values))]
    return ScoreMatrix(values, models, [f"q{j:03d}" for j in range(values.shape[1])], **more)


def ladder(n_models=60, n_items=40, seed=0):
    """Right with a probability that rises steeply with the number of the model."""
    rng = np.random.default_rng(seed)
    ability = np.linspace(-2, 2, n_models)[:, None]
    difficulty = rng.normal(0, 0.7, n_items)
    difficulty[:2] = 0
    return (rng.random((n_models, n_items)) < 1 / (1 + np.exp(-2 * (ability - difficulty)))) * 1.0


def planted(seed=0):
    """q000, q001 flipped; q002 all right, q003 all wrong; q038 and q039 copies of q010 and q011."""
    values = ladder(seed=seed)
    values[:, :2] = 1 - values[:, :2]
    values[:, 2], values[:, 3] = 1, 0
    values[:, 38:] = values[:, 10:12]
    return matrix(values)


def test_planted_faults_are_found_and_nothing_else():
    for seed in range(3):
        found = diagnose_items(planted(seed))
        assert found.faults["negative"] == ("q000", "q001")
        assert found.faults["suspicious key"] == ("q000", "q001")
        assert found.faults["constant"] == ("q002", "q003")
        assert found.faults["duplicate"] == ("q038", "q039")
        assert [g.items for g in found.duplicates] == [("q010", "q038"), ("q011", "q039")]
        assert found.flagged == ("q000", "q001", "q002", "q003", "q038", "q039")


def test_sound_items_are_left_alone():
    # Ten matrices without a fault: 400 items, of which a level of 5 % may flag hardly any.
    flagged = sum(len(diagnose_items(matrix(ladder(seed=s))).flagged) for s in range(10, 20))
    assert flagged <= 1


def test_statistics_are_those_of_scipy():
    values = ladder(20, 12)
    found = discrimination(values, 0.05)
    for j in (0, 5, 11):
        rest = values.sum(axis=1) - values[:, j]
        assert found.item_rest[j] == pytest.approx(stats.pearsonr(values[:, j], rest).statistic)
        rho = stats.spearmanr(values[:, j], rest).statistic
        assert found.p_negative[j] == pytest.approx(stats.norm.cdf(rho * math.sqrt(19)))


def test_the_rank_correlation_is_the_rank_sum_test():
    values = ladder(30, 9, seed=3)
    found = discrimination(values, 0.05)
    rest = values.sum(axis=1) - values[:, 4]
    right = values[:, 4] == 1
    test = stats.mannwhitneyu(
        rest[right], rest[~right], alternative="less", method="asymptotic", use_continuity=False
    )
    assert found.p_negative[4] == pytest.approx(test.pvalue, rel=1e-9)


def test_discoveries_are_those_of_scipy():
    p = np.random.default_rng(1).random(50) ** 3
    expected = stats.false_discovery_control(p) <= 0.1
    assert (discoveries(p, 0.1) == expected).all()
    assert not discoveries(np.array([np.nan, np.nan]), 0.1).any()


def test_constant_items_have_no_correlation():
    values = ladder(12, 6)
    values[:, 2] = 1
    found = discrimination(values, 0.05)
    assert np.isnan(found.item_rest[2])
    assert np.isnan(found.p_negative[2])
    assert not found.negative[2]


def test_options_name_what_the_strong_models_choose():
    # Ability rises with the row. On the first item the better half takes option 2, the others 0.
    values = ladder(40, 20, seed=5)
    values[:, 0] = np.arange(40) < 20
    options = np.zeros((40, 20, 3), dtype=np.float32)
    options[:, :, 0], options[:, :, 1] = values, 1 - values
    options[20:, 0] = [0, 0, 1]
    options[:, 7, 2] = np.nan
    scores = matrix(values, option_probabilities=options, right_options=np.zeros(20, dtype=int))
    found = diagnose_items(scores)
    assert found.faults["suspicious key"] == ("q000",)
    assert found.keys.option[0] == 2
    assert found.keys.option_share[0] == 1
    assert "option 2: 100 %" in shown.rows(found, ["q000"])[0][-1]


def test_an_option_that_nobody_strong_takes_is_not_named():
    values = np.ones((8, 3))
    values[:4, 0] = 0
    options = np.stack([values, 1 - values], axis=2).astype(np.float32)
    found = keys(values, discrimination(values, 0.05), 0.05, options, np.zeros(3, dtype=int))
    assert found.option.tolist() == [-1, -1, -1]
    assert np.isnan(found.option_share).all()


def test_rare_failures_coincide_by_chance():
    # Only the weakest model fails these two: equal, but nobody would call them copies.
    values = ladder(50, 40, seed=2)
    values[:, :2] = 1
    values[0, :2] = 0
    found = diagnose_items(matrix(values))
    assert found.duplicates == ()
    assert found.n_chance_equal == 2


def test_copies_of_models_count_once():
    values = ladder(30, 40, seed=4)
    many = matrix(np.vstack([values] * 5))
    found, once = diagnose_items(many), diagnose_items(matrix(values))
    assert (found.n_models, found.n_distinct) == (150, 30)
    assert np.array_equal(found.discrimination.p_negative, once.discrimination.p_negative)
    assert "30 of 150" in " ".join(found.notes)


def test_information_is_a_squared_correlation():
    # With a full covariance an item explains the square of its correlation with the full score;
    # 20 % of the covariance with other items is moved away.
    values = ladder(50, 8, seed=6)
    scores = matrix(values)
    alone, together = information(scores, "micro")
    c = np.cov(values.T)
    c = 0.8 * c + 0.2 * np.diag(np.diag(c))
    a = np.full(8, 1 / 8)
    assert alone == pytest.approx((c @ a) ** 2 / np.diag(c) / (a @ c @ a))
    assert together == pytest.approx([1.0])


def test_subtasks_explain_what_the_best_linear_predictor_does():
    values = ladder(50, 9, seed=7)
    scores = matrix(values, subtasks=["a"] * 4 + ["b"] * 5)
    _, together = information(scores, "macro")
    c = np.cov(values.T)
    c = 0.8 * c + 0.2 * np.diag(np.diag(c))
    a = np.array([1 / 8] * 4 + [1 / 10] * 5)
    for part, block in zip(together, (slice(0, 4), slice(4, 9)), strict=True):
        cross = (c @ a)[block]
        expected = cross @ np.linalg.solve(c[block, block], cross) / (a @ c @ a)
        assert part == pytest.approx(expected)


def test_models_of_equal_score_leave_nothing_to_explain():
    values = np.array([np.roll([1, 1, 0, 0, 0, 0], k) for k in range(6)])
    alone, together = information(matrix(values), "micro")
    assert not alone.any()
    assert not together.any()


def test_graded_scores_have_no_keys_and_no_slope():
    rng = np.random.default_rng(8)
    values = (ladder(60, 20, seed=8) * 4 + rng.random((60, 20))).clip(0, 5)
    values[:, 0] = 5 - values[:, 0]
    values[:, 19] = values[:, 5]
    found = diagnose_items(matrix(values, score_range=(0, 5)))
    assert found.faults["negative"] == ("q000",)
    assert found.faults["suspicious key"] == ()
    assert found.faults["duplicate"] == ("q019",)
    assert np.isnan(found.slope).all()


def test_few_models_are_said_to_show_little():
    found = diagnose_items(matrix(ladder(8, 40, seed=9)))
    assert any("few faults can be shown" in note for note in found.notes)


def test_incomplete_models_and_items_are_named():
    values = ladder(40, 60, seed=10)
    values[0, :30] = np.nan
    values[1, 5] = np.nan
    found = diagnose_items(matrix(values))
    assert found.n_models == 39
    assert len(found.items) == 59
    assert "'m000'" in found.notes[0]
    assert "1 item left out" in found.notes[1]


@pytest.mark.parametrize(
    ("values", "level", "kind"),
    [
        (np.tile([[1, 0, 1, 0]], (9, 1)), 0.05, ScoresError),
        (ladder(9, 2), 0.05, ScoresError),
        (ladder(9, 9), 1.0, SettingError),
    ],
)
def test_what_cannot_be_examined_is_refused(values, level, kind):
    with pytest.raises(kind):
        diagnose_items(matrix(values), level=level)


def test_order_of_models_and_items_changes_nothing():
    scores = planted()
    rng = np.random.default_rng(0)
    mixed = scores.restrict(
        models=rng.permutation(scores.models).tolist(), items=rng.permutation(scores.items).tolist()
    )
    a, b = diagnose_items(scores), diagnose_items(mixed)
    assert shown.to_document(a) == shown.to_document(b)


def test_rankings_leave_constant_items_out():
    found = diagnose_items(planted())
    most, least = found.ranked(38), found.ranked(99, "least")
    assert set(most) == set(least) == set(found.items) - {"q002", "q003"}
    assert found.information[found.items.index(most[0])] == found.information.max()
    with pytest.raises(SettingError):
        found.ranked(3, "middle")


def test_real_keys_flipped_are_found(shared_data):
    import mdad  # noqa: PLC0415

    scores = mdad.load(shared_data / "ifeval.csv.gz", duplicates="number").complete().scores
    before = diagnose_items(scores)
    clear = [
        i
        for i, rest in enumerate(before.discrimination.item_rest)
        if rest >= 0.3 and before.items[i] not in before.flagged
    ]
    chosen = np.random.default_rng(0).choice(clear, 20, replace=False)
    values = scores.sorted().values.astype(float)
    values[:, chosen] = 1 - values[:, chosen]
    after = diagnose_items(ScoreMatrix(values, scores.sorted().models, before.items))
    new = set(after.faults["negative"]) - set(before.faults["negative"])
    ids = {before.items[i] for i in chosen}
    assert ids <= new
    assert len(ids) / len(new) >= 0.6


RUNNER = CliRunner()


@pytest.fixture
def table(tmp_path):
    path, scores = tmp_path / "scores.csv", planted()
    lines = ["model," + ",".join(scores.items)]
    lines += [
        f"{m}," + ",".join(str(int(x)) for x in row)
        for m, row in zip(scores.models, scores.values, strict=True)
    ]
    path.write_text("\n".join(lines))
    return path


def test_the_command_writes_all_it_is_asked_for(table, tmp_path):
    paths = {name: tmp_path / name for name in ("f.txt", "c.svg", "c.png", "r.html")}
    options = ["--faulty", paths["f.txt"], "--chart", paths["c.svg"], "--report", paths["r.html"]]
    result = RUNNER.invoke(app, ["items", str(table), *map(str, options)])
    assert result.exit_code == 0, result.output
    assert "6 of 40 items have a fault" in result.output
    assert paths["f.txt"].read_text().split() == ["q000", "q001", "q002", "q003", "q038", "q039"]
    drawing = paths["c.svg"].read_text()
    assert "<svg" in drawing
    assert "suspicious key" in drawing
    page = paths["r.html"].read_text()
    assert "<script" not in page
    assert "http-equiv" in page
    assert "q038" in page
    again = RUNNER.invoke(app, ["items", str(table), "--json", "--chart", str(paths["c.png"])])
    assert json.loads(again.stdout)["faults"]["duplicate"] == ["q038", "q039"]
    assert paths["c.png"].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--chart", "x.pdf"], "written as .svg or .png"),
        (["--chart", "no/where/x.svg"], "cannot write"),
        (["--faulty", "no/where/x.txt"], "cannot write"),
        (["--report", "no/where/x.html"], "cannot write"),
        (["--level", "2"], "level must be a number"),
        (["--top", "-1"], "--top must be a whole number"),
        (["--aggregate", "macr"], "did you mean 'macro'"),
    ],
)
def test_bad_options_are_refused(table, options, said):
    result = RUNNER.invoke(app, ["items", str(table), *options])
    assert isinstance(result.exception, MdadError)
    assert said in str(result.exception)


def test_subtasks_and_simulation_are_shown():
    scores = datasets.simulate(n_models=40, n_items=60, subtasks=3, seed=1)
    found = diagnose_items(scores)
    page = shown.items_page(found)
    for part in found.subtasks:
        columns = scores.subtask_positions[part.subtask]
        assert part.mean == pytest.approx(scores.values[:, columns].mean())
    assert "Simulated scores" in page
    assert "subtask-02" in page
    assert page == shown.items_page(diagnose_items(scores))


def test_names_cannot_break_the_page():
    scores = matrix(ladder(10, 5, seed=3))
    wild = ScoreMatrix(scores.values, scores.models, ["<b>", "q2", "q3", "q4", "a\u202eb"])
    page = shown.items_page(diagnose_items(wild))
    assert "<b>" not in page
    assert "\u202e" not in page
