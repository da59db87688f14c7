"""Random numbers by name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdad._rng import Stream

names = st.lists(st.one_of(st.text(max_size=4), st.integers(0, 99)), max_size=4).map(tuple)


def draw(stream):
    return stream.rng().random(4).tolist()


@given(names, names, st.integers(0, 2**64))
def test_streams_are_told_apart_by_name_alone(one, two, seed):
    a, b = Stream(seed).child(*one), Stream(seed).child(*two)
    assert (draw(a) == draw(b)) == (one == two)


def test_numbers_and_their_text_are_different_names():
    assert draw(Stream(1).child(1)) != draw(Stream(1).child("1"))
    assert draw(Stream(1).child("ab", "c")) != draw(Stream(1).child("a", "bc"))


def test_children_may_be_named_in_one_step_or_several():
    assert draw(Stream(7).child("run", 3)) == draw(Stream(7).child("run").child(3))


def test_streams_are_independent_enough():
    # 2,000 streams, first draw of each: mean of uniforms within 4 standard errors of 1/2.
    first = np.array([Stream(0).child("run", i).rng().random() for i in range(2000)])
    assert first.mean() == pytest.approx(0.5, abs=4 * np.sqrt(1 / 12 / 2000))
    assert len(set(first.tolist())) == 2000
