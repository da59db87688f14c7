"""FasterPAM: against PAM written the slow way, against the kmedoids package, and its laws."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdad.errors import MethodError
from mdad.selectors._pam import TOLERANCE, _State, faster_pam


def distances_of(points):
    points = np.asarray(points, dtype=np.float64)
    if points.ndim == 1:
        points = points[:, None]
    gaps = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    return gaps.astype(np.float32)


def correlations(seed, n, n_models=40, rank=3):
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(n_models, rank)) @ rng.normal(size=(rank, n))
    found = 1 - np.corrcoef((signal + rng.normal(size=signal.shape)).T)
    np.fill_diagonal(found, 0)
    return np.maximum(found, 0).astype(np.float32)


def loss_of(distances, medoids):
    total = 0.0
    for row in distances.tolist():
        total += min(row[m] for m in medoids)
    return total


def eager_pam(distances, start):
    """Every swap's loss from scratch: O(k n^2) for each candidate."""
    medoids, n = list(start), len(distances)
    unchanged, candidate = 0, 0
    while unchanged < n:
        unchanged += 1
        if candidate not in medoids:
            swaps = [[*medoids[:i], candidate, *medoids[i + 1 :]] for i in range(len(medoids))]
            losses = [loss_of(distances, swap) for swap in swaps]
            best = int(np.argmin(losses))
            if losses[best] < loss_of(distances, medoids) - 1e-6:
                medoids, unchanged = swaps[best], 0
        candidate = (candidate + 1) % n
    return sorted(medoids)


def starts(n, k, seed=0):
    return np.random.default_rng(seed).choice(n, size=k, replace=False)


def test_by_hand():
    # Places 0 1 2 | 10 11 12 | 20: medoids 1, 11, 20 lose 1 + 1 + 1 + 1 + 0 = 4.
    distances = distances_of([0, 1, 2, 10, 11, 12, 20])
    found = faster_pam(distances, np.array([0, 1, 2]))
    assert found.positions.tolist() == [1, 4, 6]
    assert found.loss == 4
    assert found.converged


@pytest.mark.parametrize("k", [2, 3, 5, 11])
@pytest.mark.parametrize("seed", range(8))
def test_the_same_medoids_as_the_slow_way(seed, k):
    distances = correlations(seed, 24)
    start = starts(24, k, seed)
    found = faster_pam(distances, start)
    assert found.positions.tolist() == eager_pam(distances, start)
    assert found.loss == pytest.approx(loss_of(distances, found.positions), rel=1e-6)


def test_the_change_of_a_swap_is_exact():
    distances = correlations(1, 30)
    start = starts(30, 4)
    state = _State(distances, start)
    for candidate in sorted(set(range(30)) - set(start.tolist())):
        slot, change = state.best_swap(candidate)
        swapped = start.copy()
        swapped[slot] = candidate
        expected = loss_of(distances, swapped) - loss_of(distances, start)
        assert change == pytest.approx(expected, abs=1e-5)


def test_swaps_keep_the_two_nearest_medoids_up_to_date():
    distances = correlations(2, 40)
    state = _State(distances, starts(40, 6))
    rng = np.random.default_rng(3)
    for _ in range(60):
        candidate = int(rng.choice(np.flatnonzero(~state.is_medoid)))
        state.swap(int(rng.integers(6)), candidate)
        to_medoids = distances[:, state.medoids]
        two = np.sort(to_medoids, axis=1)[:, :2]
        assert (state.d_near == two[:, 0]).all()
        assert (state.d_second == two[:, 1]).all()
        rows = np.arange(40)
        assert (to_medoids[rows, state.near] == state.d_near).all()
        assert (to_medoids[rows, state.second] == state.d_second).all()
        assert (state.near != state.second).all()
        assert np.flatnonzero(state.is_medoid).tolist() == sorted(state.medoids.tolist())


def test_one_medoid_is_the_minimum_itself():
    distances = correlations(4, 50)
    best = min(range(50), key=lambda i: loss_of(distances, [i]))
    for first in (0, 17):
        found = faster_pam(distances, np.array([first]))
        assert found.positions.tolist() == [best]
        assert found.loss == pytest.approx(loss_of(distances, [best]), rel=1e-6)


def test_all_items_as_medoids_lose_nothing():
    found = faster_pam(correlations(5, 9), np.random.default_rng(0).permutation(9))
    assert found.positions.tolist() == list(range(9))
    assert found.loss == 0


def test_all_but_one_item():
    # The item to leave out is one of the nearest pair; the first of them stays a medoid or not
    # as the order of trials has it, the loss is that of the pair.
    distances = correlations(6, 9)
    off = distances + np.where(np.eye(9) > 0, np.float32(9), np.float32(0))
    assert faster_pam(distances, np.arange(1, 9)).loss == pytest.approx(off.min())


def test_equal_items_keep_the_start():
    found = faster_pam(np.zeros((20, 20), dtype=np.float32), np.array([7, 3, 11]))
    assert found.positions.tolist() == [3, 7, 11]
    assert found.loss == 0
    assert found.n_swaps == 0


def test_more_medoids_than_different_items():
    distances = distances_of(np.repeat([0, 5, 9], 6))
    found = faster_pam(distances, np.arange(5))
    assert len(set(found.positions.tolist())) == 5
    assert found.loss == 0


@pytest.mark.parametrize("seed", range(5))
def test_planted_clusters_are_found(seed):
    rng = np.random.default_rng(seed)
    centres = rng.permutation(8)[:, None] * 100.0
    points = np.repeat(centres, 15, axis=0) + rng.normal(size=(120, 1))
    found = faster_pam(distances_of(points), starts(120, 8, seed))
    assert sorted(found.positions // 15) == list(range(8))


def test_a_limit_of_passes_is_said():
    distances = correlations(7, 60)
    cut = faster_pam(distances, starts(60, 5), max_passes=1)
    full = faster_pam(distances, starts(60, 5))
    assert full.converged
    assert not cut.converged
    assert cut.loss >= full.loss


@pytest.mark.parametrize(
    ("distances", "start", "message"),
    [
        (np.zeros((2, 3), np.float32), [0], r"square matrix; got the shape \(2, 3\)"),
        (np.zeros(3, np.float32), [0], "square matrix"),
        (np.full((3, 3), np.nan, np.float32), [0], "3 items of 3 are not finite"),
        (np.diag([0, np.inf, 0]).astype(np.float32), [0, 1], r"1 item of 3 .*first: item 1"),
        (np.zeros((3, 3), np.float32), [], "cannot choose 0 medoids among 3"),
        (np.zeros((3, 3), np.float32), [0, 1, 2, 0], "cannot choose 4 medoids among 3"),
        (np.zeros((3, 3), np.float32), [1, 1], "different positions from 0 to 2"),
        (np.zeros((3, 3), np.float32), [0, 3], "different positions from 0 to 2"),
        (np.zeros((3, 3), np.float32), [0, -1], "different positions from 0 to 2"),
    ],
)
def test_what_cannot_be_clustered_is_refused(distances, start, message):
    with pytest.raises(MethodError, match=message):
        faster_pam(distances, np.array(start, dtype=int))


@st.composite
def cases(draw):
    n = draw(st.integers(2, 14))
    # Few different places, so that there are ties and duplicates.
    points = draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))
    k = draw(st.integers(1, n))
    start = draw(st.permutations(range(n)))[:k]
    return distances_of(points), np.array(start)


@settings(deadline=None)
@given(cases())
def test_laws(case):
    distances, start = case
    before = distances.copy()
    found = faster_pam(distances, start)
    again = faster_pam(distances, start)
    assert found.positions.tolist() == again.positions.tolist()
    assert (distances == before).all()
    assert len(set(found.positions.tolist())) == len(start)
    assert found.loss == pytest.approx(loss_of(distances, found.positions), abs=1e-5)
    first = loss_of(distances, start)
    assert found.loss <= first + 1e-6
    # No swap of one medoid lowers the loss any more.
    for slot, other in itertools.product(range(len(start)), range(len(distances))):
        swapped = found.positions.copy()
        swapped[slot] = other
        assert loss_of(distances, swapped) >= found.loss - 2 * TOLERANCE * first - 1e-5


@pytest.mark.parametrize("k", [2, 10, 60, 300])
@pytest.mark.parametrize("seed", range(3))
def test_the_loss_of_the_kmedoids_package(seed, k):
    kmedoids = pytest.importorskip("kmedoids")
    distances = correlations(seed, 600, rank=6)
    start = starts(600, k, seed)
    theirs = kmedoids.fasterpam(distances, start.astype(np.uint64), n_cpu=1)
    assert faster_pam(distances, start).loss <= theirs.loss * 1.001
