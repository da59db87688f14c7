"""ScoreMatrix: hand-worked cases, laws over random matrices, and every refusal."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mdad import _checks
from mdad.errors import MdadError, ScoresError, SettingError, UnknownIdError
from mdad.scores import ScoreMatrix

NAN = math.nan


def small(**options):
    return ScoreMatrix([[1, 0, 1], [0, 0, 1]], ["a", "b"], ["q1", "q2", "q3"], **options)


@st.composite
def matrices(draw):
    """Matrices of up to 5 x 6, binary or graded, some cells missing, some with all extras."""
    shape = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    graded = draw(st.booleans())
    cells = st.sampled_from([0.0, 1.0, 0.25, -3.0] if graded else [0.0, 1.0])
    if draw(st.booleans()):
        cells = cells | st.just(NAN)
    values = draw(hnp.arrays(float, shape, elements=cells))
    models, items = ([f"{c}{i}" for i in range(n)] for c, n in zip("mq", shape, strict=True))
    extra = {}
    if draw(st.booleans()):
        chances = st.floats(0, 1, width=32)
        extra = {
            "subtasks": draw(
                st.lists(st.sampled_from("xyz"), min_size=shape[1], max_size=shape[1])
            ),
            "probabilities": draw(hnp.arrays(np.float32, shape, elements=chances)),
            "model_info": pd.DataFrame({"n": range(shape[0])}, index=models),
            "item_info": pd.DataFrame({"content_hash": [f"h{i}" for i in items]}, index=items),
        }
    bounds = (-3.0, 1.0) if graded else (0.0, 1.0)
    return ScoreMatrix(values, models, items, score_range=bounds, **extra)


def same(one, other):
    return (
        one.models == other.models
        and one.items == other.items
        and one.subtasks == other.subtasks
        and one.values.dtype == other.values.dtype
        and np.array_equal(one.values, other.values, equal_nan=True)
        and (one.probabilities is None) == (other.probabilities is None)
        and (
            one.probabilities is None
            or np.array_equal(one.probabilities, other.probabilities, equal_nan=True)
        )
        and all(
            (x is None and y is None) or x.equals(y)
            for x, y in ((one.model_info, other.model_info), (one.item_info, other.item_info))
        )
    )


# What it holds


def test_types_are_the_smallest_that_hold_the_scores():
    assert small().values.dtype == np.int8
    assert ScoreMatrix([[1, NAN]], ["a"], ["q", "r"]).values.dtype == np.float32
    assert ScoreMatrix([[1, 0.5]], ["a"], ["q", "r"]).values.dtype == np.float64
    assert ScoreMatrix([[True, False]], ["a"], ["q", "r"]).values.tolist() == [[1, 0]]
    assert ScoreMatrix([[1, None]], ["a"], ["q", "r"]).n_missing == 1
    assert small(probabilities=np.full((2, 3), 0.5)).probabilities.dtype == np.float32


def test_it_is_frozen_and_keeps_its_own_cells():
    cells = np.array([[0.5, 1.0]])
    scores = ScoreMatrix(cells, ["a"], ["q", "r"])
    cells[0, 0] = 0
    assert scores.values[0, 0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0, 0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        scores.name = "x"


def test_an_array_given_in_its_final_type_is_not_changed_from_outside():
    codes = np.array([[1, 0]], dtype=np.int8)
    chances = np.array([[0.5, 0.25]], dtype=np.float32)
    scores = ScoreMatrix(codes, ["a"], ["q", "r"], probabilities=chances)
    codes[:] = 0
    chances[:] = 0
    assert scores.values.tolist() == [[1, 0]]
    assert scores.probabilities.tolist() == [[0.5, 0.25]]


def test_repr_tells_what_there_is():
    assert repr(small()) == "<ScoreMatrix: 2 models x 3 items, correctness>"
    scores = ScoreMatrix(
        [[1, NAN], [0, 0]], "ab", "qr", ["x", "y"], [[1, 1], [0, 0]], name="n", simulated=True
    )
    assert repr(scores) == (
        "<ScoreMatrix 'n' (simulated): 2 models x 2 items, correctness and probabilities, "
        "2 subtasks, 1 missing cell>"
    )


def test_kind_and_point():
    assert small().kind == "correctness"
    assert small(kind="graded").kind == "graded"
    assert small(score_range=(0, 10)).kind == "graded"
    assert small(score_range=(-10, 10)).point == 0.2
    assert ScoreMatrix([[0.5]], ["a"], ["q"]).kind == "graded"


# Full scores


def test_micro_and_macro_of_user_case_13():
    # 10 items all right; 1,000 items half right: (10 + 500) / 1010 and (1 + .5) / 2.
    values = np.concatenate([np.ones(10), np.tile([1.0, 0.0], 500)])[np.newaxis]
    labels = ["small"] * 10 + ["large"] * 1000
    scores = ScoreMatrix(values, ["a"], [f"q{i}" for i in range(1010)], labels)
    assert round(scores.full_scores("micro")[0], 3) == 0.505
    assert scores.full_scores("macro")[0] == pytest.approx(0.75, abs=1e-12)
    assert scores.item_weights("macro")[[0, -1]].tolist() == [1 / 20, 1 / 2000]


def test_without_subtasks_macro_is_micro():
    assert small().full_scores("macro") == pytest.approx(small().full_scores())
    assert list(small().subtask_positions) == [""]


def test_equal_numbers_of_right_answers_tie_exactly():
    values = np.zeros((2, 49))
    values[0, :7] = values[1, -7:] = 1
    full = ScoreMatrix(values, "ab", range(49)).full_scores()
    assert full[0] == full[1] == 7 / 49


@given(matrices())
def test_weights_sum_to_one_and_give_the_full_score(scores):
    for aggregate in ("micro", "macro"):
        weights = scores.item_weights(aggregate)
        assert weights.sum() == pytest.approx(1)
        if not scores.n_missing:
            assert scores.full_scores(aggregate) == pytest.approx(scores.values @ weights)


def test_missing_cells_have_no_full_score():
    scores = ScoreMatrix([[1, NAN], [0, 0]], "ab", "qr")
    with pytest.raises(ScoresError, match=r"1 cell of 2 x 2 not scored, in the models 'a'"):
        scores.full_scores()
    with pytest.raises(SettingError, match="aggregate"):
        small().full_scores("mean")


# Missing cells


def test_complete_drops_models_first_then_items():
    values = np.ones((4, 20))
    values[0, :2] = NAN  # 10 % of its items: the model goes, and its two items stay
    values[1, 5] = NAN  # 5 %: the model stays, the item goes
    scores = ScoreMatrix(values, "abcd", [f"q{i}" for i in range(20)])
    done = scores.complete()
    assert done.dropped_models == ("a",)
    assert done.dropped_items == ("q5",)
    assert done.scores.models == ("b", "c", "d")
    assert done.scores.n_items == 19
    assert done.scores.values.dtype == np.int8
    strict = scores.complete(max_missing=0)
    assert strict.dropped_models == ("a", "b")
    assert strict.dropped_items == ()
    lax = scores.complete(max_missing=1)
    assert lax.dropped_models == ()
    assert lax.dropped_items == ("q0", "q1", "q5")


def test_complete_of_a_complete_matrix_is_the_matrix():
    assert small().complete().dropped_items == ()
    scores = small()
    assert scores.complete().scores is scores


def test_complete_refuses_to_leave_nothing():
    with pytest.raises(ScoresError, match="no complete block"):
        ScoreMatrix([[1, NAN], [NAN, 0]], "ab", "qr").complete()
    with pytest.raises(ScoresError, match="no complete block"):
        ScoreMatrix([[1, NAN], [NAN, 0]], "ab", "qr").complete(max_missing=1)
    with pytest.raises(SettingError, match="max_missing"):
        small().complete(2)


# Restriction and order


@given(matrices(), st.data())
def test_restriction_is_by_id_and_round_trips(scores, data):
    models = data.draw(st.permutations(scores.models))
    items = data.draw(st.permutations(scores.items))
    turned = scores.restrict(models=models, items=items)
    assert turned.models == tuple(models)
    back = turned.restrict(models=scores.models, items=scores.items)
    assert same(back, scores)
    part = scores.restrict(items=items[:1])
    row = data.draw(st.integers(0, scores.n_models - 1))
    cell = scores.values[row, scores.item_position[items[0]]]
    np.testing.assert_array_equal(part.values[row, 0], cell)


@given(matrices(), st.data())
def test_fingerprints_do_not_depend_on_order(scores, data):
    models = data.draw(st.permutations(scores.models))
    items = data.draw(st.permutations(scores.items))
    turned = scores.restrict(models=models, items=items)
    assert turned.data_fingerprint == scores.data_fingerprint
    assert turned.items_fingerprint == scores.items_fingerprint
    assert same(turned.sorted(), scores.sorted())
    assert len(scores.data_fingerprint) == len(scores.items_fingerprint) == 32


@settings(max_examples=50)
@given(matrices(), st.data())
def test_another_cell_is_another_data_fingerprint(scores, data):
    values = np.array(scores.values, dtype=float)
    row, column = (data.draw(st.integers(0, n - 1)) for n in values.shape)
    values[row, column] = 1.0 if values[row, column] == 0 else 0.0
    other = ScoreMatrix(
        values, scores.models, scores.items, scores.subtasks, scores.probabilities,
        score_range=scores.score_range, kind=scores.kind if scores.kind == "graded" else None,
    )  # fmt: skip
    assert other.data_fingerprint != scores.data_fingerprint
    plain = ScoreMatrix(values, scores.models, scores.items, score_range=scores.score_range)
    assert (plain.items_fingerprint == scores.items_fingerprint) == (scores.item_info is None)


def test_what_fingerprints_speak_of():
    one = small()
    assert one.data_fingerprint != small(subtasks=["x", "x", "y"]).data_fingerprint
    assert one.data_fingerprint != small(score_range=(0, 2)).data_fingerprint
    assert one.data_fingerprint != small(probabilities=np.zeros((2, 3))).data_fingerprint
    assert one.data_fingerprint == small(name="other", simulated=True).data_fingerprint
    zero = ScoreMatrix([[0.0, 0.5]], ["a"], "qr")
    assert zero.data_fingerprint == ScoreMatrix([[-0.0, 0.5]], ["a"], "qr").data_fingerprint
    hashes = pd.DataFrame({"content_hash": list("xyz")}, index=one.items)
    assert one.items_fingerprint != small(item_info=hashes).items_fingerprint
    assert one.items_fingerprint == one.restrict(models=["b"]).items_fingerprint


def test_sorted_returns_itself_when_it_is():
    scores = small()
    assert scores.sorted() is scores


def test_restriction_refuses_what_it_does_not_know():
    with pytest.raises(UnknownIdError, match="'q9'") as caught:
        small().restrict(items=["q9"])
    assert str(caught.value).startswith("1 item not found in the score matrix")
    with pytest.raises(UnknownIdError, match="Nearest to the first: 'q1'"):
        small().restrict(items=["q11"])
    with pytest.raises(ScoresError, match="must be unique"):
        small().restrict(models=["a", "a"])
    with pytest.raises(ScoresError, match="at least one model"):
        small().restrict(models=[])


def test_a_restriction_to_complete_models_is_int8_again():
    scores = ScoreMatrix([[1, NAN], [0, 1]], "ab", "qr")
    assert scores.restrict(models=["b"]).values.dtype == np.int8
    assert scores.restrict(models=["a"]).values.dtype == np.float32


# Labels and tables


def test_subtasks_by_position_or_by_item():
    by_item = small(subtasks={"q3": "z", "q1": "x", "q2": "x", "other": "y"})
    assert by_item.subtasks == small(subtasks=["x", "x", "z"]).subtasks == ("x", "x", "z")
    assert {k: v.tolist() for k, v in by_item.subtask_positions.items()} == {"x": [0, 1], "z": [2]}


def test_tables_are_put_in_order_and_copied():
    info = pd.DataFrame({"size": [2, 1, 3]}, index=["b", "a", "c"])
    scores = small(model_info=info)
    info.loc["a", "size"] = 9
    assert scores.model_info["size"].tolist() == [1, 2]
    assert scores.model_info.index.name == "model"
    assert scores.restrict(models=["b"]).model_info["size"].tolist() == [2]
    numbers = ScoreMatrix([[1]], [7], [8], item_info=pd.DataFrame({"x": [1]}, index=[8]))
    assert numbers.item_info.index.tolist() == ["8"]


# Refusals

REFUSED = {
    "no models": (lambda: ScoreMatrix(np.ones((0, 1)), [], ["q"]), "at least one model"),
    "no items": (lambda: ScoreMatrix(np.ones((1, 0)), ["a"], []), "at least one item"),
    "id of another type": (lambda: ScoreMatrix([[1]], [1.5], ["q"]), "ids must be strings"),
    "id a boolean": (lambda: ScoreMatrix([[1]], [True], ["q"]), "ids must be strings"),
    "surrogate in an id": (
        lambda: ScoreMatrix([[1, 1]], ["a"], ["q", "\ud800"]),
        r"item ids must be valid Unicode; lone surrogates are in '\\ud800'",
    ),
    "surrogate in a subtask": (
        lambda: small(subtasks=["x", "y\udce9", "y\udce9"]),
        r"subtask labels must be valid Unicode; lone surrogates are in 'y\\udce9'\. Rename",
    ),
    "empty id": (lambda: ScoreMatrix([[1, 1]], ["a"], ["q", ""]), "position 1 has an empty id"),
    "id twice": (lambda: ScoreMatrix([[1, 1]], ["a"], ["q", "q"]), "'q' occurs more than once"),
    "two ids twice": (lambda: ScoreMatrix([[1] * 4], ["a"], "qqrr"), "'q', 'r' occur more"),
    "1 and '1'": (lambda: ScoreMatrix([[1, 0]], ["a"], [1, "1"]), "1 and '1' are the same"),
    "shape": (lambda: ScoreMatrix([[1, 0]], ["a"], ["q"]), "got an array of shape"),
    "transposed": (lambda: ScoreMatrix([[1], [0]], ["a"], ["q", "r"]), "It looks transposed"),
    "ragged": (lambda: ScoreMatrix([[1], [0, 1]], "ab", ["q"]), "rows of one length"),
    "text": (lambda: ScoreMatrix([["x"]], ["a"], ["q"]), "must be numbers"),
    "objects": (lambda: ScoreMatrix([[{}]], ["a"], ["q"]), "must be a table of numbers"),
    "complex": (lambda: ScoreMatrix([[1j]], ["a"], ["q"]), "must be numbers"),
    "too large": (lambda: ScoreMatrix([[2, 1]], ["a"], "qr"), "They look like per cent"),
    "negative": (lambda: ScoreMatrix([[-1, 1]], ["a"], "qr"), "a / q: -1"),
    "negative int8": (
        lambda: ScoreMatrix(np.array([[-1, 1]], np.int8), ["a"], "qr"), "1 score outside"),
    "infinite": (lambda: ScoreMatrix([[np.inf]], ["a"], ["q"]), "infinite score"),
    "probability": (lambda: small(probabilities=np.full((2, 3), 2.0)), "6 probabilities outside"),
    "range order": (lambda: small(score_range=(1, 0)), "low < high"),
    "range nan": (lambda: small(score_range=(0, NAN)), "finite"),
    "range text": (lambda: small(score_range="ab"), "two numbers"),
    "range none": (lambda: small(score_range=None), "two numbers"),
    "kind": (lambda: small(kind="binary"), "unknown kind"),
    "not correctness": (lambda: ScoreMatrix([[0.5]], ["a"], ["q"], kind="correctness"), "0 or 1"),
    "subtasks short": (lambda: small(subtasks=["x"]), "one label per item, 3; got 1"),
    "subtask empty": (lambda: small(subtasks=["x", "", "y"]), "non-empty strings"),
    "subtask number": (lambda: small(subtasks=["x", 3, "y"]), "non-empty strings"),
    "subtask lacking": (lambda: small(subtasks={"q1": "x"}), "2 items not found"),
    "info lacking": (lambda: small(model_info=pd.DataFrame({"x": [1]}, ["a"])), "'b'"),
    "info twice": (lambda: small(model_info=pd.DataFrame({"x": [1] * 3}, list("aab"))), "'a'"),
}  # fmt: skip


@pytest.mark.parametrize(("make", "text"), REFUSED.values(), ids=REFUSED)
def test_refusals(make, text):
    with pytest.raises(MdadError, match=text) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_at_most_five_offenders_are_shown():
    with pytest.raises(ScoresError, match=r"100 scores outside") as caught:
        ScoreMatrix(np.full((10, 10), 7.0), range(10), range(10))
    assert str(caught.value).count(" / ") == 6  # five cells and the words "model / item"
    assert "and 95 more" in str(caught.value)


# The small checks


def test_check_int():
    assert _checks.check_int("n", np.int64(3), 1, 5) == 3
    for wrong in (True, 1.0, "3", None, 0, 6):
        with pytest.raises(SettingError, match="n must be a whole number from 1 to 5"):
            _checks.check_int("n", wrong, 1, 5)
    with pytest.raises(SettingError, match="of 1 or more"):
        _checks.check_int("n", 0, 1)


def test_check_real():
    assert _checks.check_real("x", 1, 0, 1) == 1.0
    assert _checks.check_real("x", 0.5, 0, 1, open_ends=True) == 0.5
    for wrong in (True, "0.5", NAN, 2):
        with pytest.raises(SettingError, match=r"x must be a number in \[0, 1\]"):
            _checks.check_real("x", wrong, 0, 1)
    with pytest.raises(SettingError, match="strictly between 0 and 1"):
        _checks.check_real("x", 1, 0, 1, open_ends=True)


def test_listing_and_shortening():
    assert _checks.listed([]) == ""
    assert _checks.listed(["x" * 100]).startswith("'xxx")
    assert len(_checks.listed(["x" * 100])) <= _checks.MAX_SHOWN_LENGTH
    assert _checks.counted(2, "probability", "probabilities") == "2 probabilities"


def test_suggestions():
    with pytest.raises(SettingError, match="did you mean 'lasso'"):
        _checks.check_choice("method", "laso", ["random", "lasso"])
    assert _checks.suggestion("zzz", ["b", "a"]) == "known: 'a', 'b'"
    assert str(UnknownIdError()) == ""
