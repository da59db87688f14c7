"""Probabilities of every option, the third layer of a score matrix."""

from __future__ import annotations

import numpy as np
import pytest

from mdad.datasets import load, load_option_probabilities
from mdad.errors import FormatError, ScoresError, SettingError
from mdad.scores import ScoreMatrix
from mdad.storage import open_directory, write_directory, write_parquet

NAN = np.nan
# Two models, three items; the last item has two options only.
LAYER = np.array(
    [
        [[0.2, 0.5, 0.3], [1.0, 0.0, 0.0], [0.4, 0.6, NAN]],
        [[0.7, 0.1, 0.2], [0.1, 0.1, 0.8], [0.9, 0.1, NAN]],
    ]
)
RIGHT = [1, 0, 0]
VALUES = [[1, 1, 0], [0, 0, 1]]


def matrix(layer=LAYER, right=RIGHT, values=VALUES, **fields):
    return ScoreMatrix(
        values,
        ["b", "a"],
        ["q3", "q1", "q2"],
        option_probabilities=layer,
        right_options=right,
        **fields,
    )


def test_options_follow_their_models_and_items():
    scores = matrix()
    assert scores.option_probabilities.dtype == np.float32
    assert repr(scores) == "<ScoreMatrix: 2 models x 3 items, correctness, 3 options>"
    part = scores.restrict(models=["a"], items=["q2", "q3"])
    assert np.array_equal(
        part.option_probabilities, LAYER[1:, [2, 0]].astype(np.float32), equal_nan=True
    )
    assert part.right_options.tolist() == [0, 1]
    assert scores.sorted().right_options.tolist() == [0, 0, 1]
    for array in (part.option_probabilities, part.right_options, scores.option_probabilities):
        assert not array.flags.writeable


def test_the_layer_is_a_copy():
    layer = LAYER.astype(np.float32)
    scores = matrix(layer)
    layer[0, 0, 0] = 0.9
    assert scores.option_probabilities[0, 0, 0] == np.float32(0.2)


def test_a_matrix_without_incomplete_items_keeps_its_options():
    scores = matrix(values=[[1, 1, NAN], [0, 0, 1]]).complete(0.5).scores
    assert scores.items == ("q3", "q1")
    assert scores.option_probabilities.shape == (2, 2, 3)
    assert scores.right_options.tolist() == [1, 0]


def test_options_are_part_of_the_data_fingerprint_whatever_their_order():
    scores = matrix()
    shuffled = scores.restrict(models=["a", "b"], items=["q1", "q2", "q3"])
    assert shuffled.data_fingerprint == scores.data_fingerprint
    other = LAYER.copy()
    other[0, 0] = [0.25, 0.5, 0.25]
    plain = ScoreMatrix(VALUES, scores.models, scores.items)
    found = {
        matrix(other).data_fingerprint,
        matrix(right=[0, 0, 0]).data_fingerprint,
        plain.data_fingerprint,
        scores.data_fingerprint,
    }
    assert len(found) == 4
    assert scores.items_fingerprint == plain.items_fingerprint


@pytest.mark.parametrize(
    ("layer", "right", "message"),
    [
        (LAYER, None, "go together"),
        (None, RIGHT, "go together"),
        (LAYER[0], RIGHT, "models x items x options"),
        (LAYER[:, :2], RIGHT, r"2 x 3 x some; got an array of shape \(2, 2, 3\)"),
        (LAYER[:, :, :0], RIGHT, "models x items x options"),
        (LAYER * 2, RIGHT, r"of 'b' are outside \[0, 1\]"),
        (np.log(LAYER + 1e-9), RIGHT, "softmax"),
        ([["a", "b"]], RIGHT, "must be numbers"),
        (LAYER, [0, 1], "3 whole numbers"),
        (LAYER, [0.0, 1.0, 0.0], "whole numbers"),
        (LAYER, [0, 3, 0], "from 0 to 2; got 'q1: 3'"),
        (LAYER, [0, -1, 0], "from 0 to 2; got 'q1: -1'"),
        (LAYER, [0, 0, 2], "no probability for any model .* 'q2'"),
    ],
)
def test_options_that_cannot_be_are_refused(layer, right, message):
    with pytest.raises(ScoresError, match=message):
        matrix(layer, right)


def test_an_item_of_which_nothing_is_known_may_have_any_right_option():
    layer = LAYER.copy()
    layer[:, 2] = NAN
    assert matrix(layer).right_options[2] == 0


def test_a_directory_keeps_options(tmp_path):
    scores = matrix()
    write_directory(scores, tmp_path / "store")
    found = open_directory(tmp_path / "store")
    assert np.array_equal(found.option_probabilities, scores.option_probabilities, equal_nan=True)
    assert (found.right_options == scores.right_options).all()
    assert not found.option_probabilities.flags.writeable
    del found.__dict__["data_fingerprint"]
    assert found.data_fingerprint == scores.data_fingerprint


def test_a_directory_with_damaged_options_is_refused(tmp_path):
    write_directory(matrix(), tmp_path / "store")
    file = tmp_path / "store" / "option_probabilities.npy"
    contents = bytearray(file.read_bytes())
    contents[-1] ^= 1
    file.write_bytes(contents)
    with pytest.raises(FormatError, match=r"'option_probabilities\.npy' do not match"):
        open_directory(tmp_path / "store")


def test_parquet_refuses_options(tmp_path):
    with pytest.raises(SettingError, match=r"no place .* mdad.storage.write_directory"):
        write_parquet(matrix(), tmp_path / "scores.parquet")


def test_digits_zoo_with_options_is_the_part_whose_options_are_known():
    scores, options = load("digits-zoo-options"), load_option_probabilities("digits-zoo")
    assert scores.models == options.models
    assert scores.items == options.items
    assert scores.option_probabilities.shape == (60, 899, 10)
    # A model's answer is its most probable option, the first one when there is a tie.
    answers = scores.option_probabilities.argmax(axis=2)
    assert ((answers == scores.right_options) == scores.values).all()
    chosen = np.take_along_axis(
        scores.option_probabilities, scores.right_options[None, :, None], axis=2
    )[:, :, 0]
    assert (chosen == scores.probabilities).all()
