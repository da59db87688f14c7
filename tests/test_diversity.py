"""The determinantal sampler and `diversity`: exact laws, other software, and bias by simulation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mdad._rng import Stream
from mdad.datasets import simulate_population
from mdad.methods import make_method
from mdad.scores import ScoreMatrix
from mdad.selectors import Diversity, PaperDiversity
from mdad.selectors._dpp import (
    DEPENDENT,
    PolynomialBasis,
    exponents_of,
    inclusion,
    legendre_products,
    sample_projection,
)
from mdad.selectors._signal import source_signal
from mdad.selectors.diversity import _Pool, principal_components, to_box

BOUND = 5
"""In standard errors. The largest of a thousand figures passes it once in 1,700 times; seeds are
fixed, so it passes always or never."""
FAR = 10
ORDERS = ("total", "maximum")


def cloud(n_points, n_axes=4, seed=0):
    """Points that crowd the middle, as principal components do."""
    points = np.random.default_rng(seed).standard_t(5, (n_points, n_axes))
    return to_box(points)


def vectors_of(points, rank, order="total", masses=None):
    masses = np.ones(len(points)) if masses is None else masses
    return PolynomialBasis(points, masses, order).vectors(rank)


def kernel(vectors):
    return vectors @ vectors.T


def draws(vectors, number, sampler=sample_projection):
    """Whether each point is in each draw, shape (number, n_points)."""
    rng = np.random.default_rng(5)
    found = np.zeros((number, len(vectors)))
    for draw in found:
        draw[sampler(vectors, rng)] = 1
    return found


def largest_z(found, chances):
    """The largest deviation of a share from its chance, in standard errors."""
    error = np.sqrt(chances * (1 - chances) / len(found))
    return np.abs((found.mean(axis=0) - chances) / error).max()


def pairs(vectors):
    """Chance of each pair of points to be drawn together: the kernel's minors."""
    full = kernel(vectors)
    minors = np.outer(np.diag(full), np.diag(full)) - full**2
    return minors[np.triu_indices(len(full), 1)]


def pairs_in(found):
    first, second = np.triu_indices(found.shape[1], 1)
    return found[:, first] * found[:, second]


# Polynomials


def test_exponents_by_hand():
    assert exponents_of(2, 0, "total").tolist() == [[0, 0]]
    assert exponents_of(3, 1, "total").tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert exponents_of(2, 2, "maximum").tolist() == [[0, 2], [1, 2], [2, 0], [2, 1], [2, 2]]
    # Of four variables: degree 0 to 10 are 1,001 monomials; exponents below 6 are 1,296.
    assert sum(len(exponents_of(4, degree, "total")) for degree in range(11)) == 1001
    assert sum(len(exponents_of(4, degree, "maximum")) for degree in range(6)) == 6**4


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rank", [1, 5, 20, 64, 65, 130])
def test_the_kernel_is_that_of_the_first_monomials(order, rank):
    # Any basis of the same polynomials has the same projection: here powers, in one step.
    rng = np.random.default_rng(1)
    points, masses = cloud(150), rng.uniform(0.5, 2, 150)
    exponents = np.concatenate([exponents_of(4, degree, order) for degree in range(8)])[:rank]
    powers = np.prod(points[:, None, :] ** exponents, axis=2) * np.sqrt(masses)[:, None]
    by_powers = np.linalg.qr(powers / np.linalg.norm(powers, axis=0))[0]
    ours = vectors_of(points, rank, order, masses)
    assert ours.shape == (150, rank)
    assert kernel(ours) == pytest.approx(kernel(by_powers), abs=1e-7)


def test_legendre_products_by_hand():
    points = np.array([[0.5, -1.0]])
    # P2(1/2) = (3/4 - 1) / 2 = -1/8; P3(-1) = -1; P1 is the axis itself.
    found = legendre_products(points, np.array([[0, 0], [1, 0], [2, 0], [2, 3]]))
    assert found[0] == pytest.approx([1, 0.5, -0.125, 0.125])


@given(
    grid=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40),
    order=st.sampled_from(ORDERS),
    wanted=st.integers(0, 50),
)
@settings(max_examples=150, deadline=None)
def test_vectors_are_orthonormal_nested_and_as_many_as_different_points(grid, order, wanted):
    points = to_box(np.array(grid, dtype=float))
    basis = PolynomialBasis(points, np.ones(len(points)), order)
    found = basis.vectors(wanted)
    assert found.shape[1] == min(wanted, len(set(grid)))
    assert np.abs(found.T @ found - np.eye(found.shape[1])).max(initial=0) < 1e-9
    assert (basis.vectors(wanted // 2) == found[:, : wanted // 2]).all()
    alone = PolynomialBasis(points, np.ones(len(points)), order).vectors(wanted // 2)
    assert (alone == found[:, : wanted // 2]).all()


@pytest.mark.parametrize("order", ORDERS)
def test_shifting_and_scaling_an_axis_changes_no_chance(order):
    points = cloud(80)
    moved = to_box(points * [3, 1, 0.1, -1] + [1, 0, -5, 2])
    for rank in (3, 30):
        a, b = (inclusion(vectors_of(each, rank, order)) for each in (points, moved))
        assert a == pytest.approx(b, abs=1e-9)


def test_what_is_left_out_is_far_from_what_is_kept():
    # The bound decides nothing by a hair: what is kept leaves far more, what is not far less.
    full = vectors_of(cloud(400), 200)
    assert full.shape[1] == 200
    doubled = np.concatenate([cloud(100), cloud(100) + 1e-13])
    assert vectors_of(doubled, 150).shape[1] == 100
    assert 1e-10 < DEPENDENT < 1e-4


def test_no_axis_and_no_point():
    assert np.abs(vectors_of(np.empty((5, 0)), 3)) == pytest.approx(np.full((5, 1), 5**-0.5))
    assert vectors_of(np.empty((0, 4)), 3).shape == (0, 0)
    assert sample_projection(np.empty((0, 0)), np.random.default_rng(0)).shape == (0,)


# The process


@pytest.mark.parametrize(("n_points", "rank"), [(6, 1), (6, 3), (7, 4)])
@pytest.mark.parametrize("order", ORDERS)
def test_every_subset_is_drawn_with_the_chance_of_its_determinant(n_points, rank, order):
    vectors = vectors_of(cloud(n_points, 2), rank, order)
    subsets = list(combinations(range(n_points), rank))
    full = kernel(vectors)
    chances = np.array([np.linalg.det(full[np.ix_(subset, subset)]) for subset in subsets])
    assert chances.sum() == pytest.approx(1)
    rng = np.random.default_rng(3)
    place = {subset: i for i, subset in enumerate(subsets)}
    number = 8_000
    counts = np.zeros(len(subsets))
    for _ in range(number):
        counts[place[tuple(sorted(sample_projection(vectors, rng).tolist()))]] += 1
    # Cells of fewer than five expected draws are one.
    rare = number * chances < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(number * chances[~rare], number * chances[rare].sum())
    used = expected > 1e-9
    if used.sum() > 1:
        assert stats.chisquare(observed[used], expected[used]).pvalue > 1e-3
    assert observed[~used].sum() == 0


@pytest.mark.parametrize(("n_points", "rank", "number"), [(30, 9, 4000), (140, 90, 600)])
def test_points_and_pairs_are_drawn_as_often_as_the_kernel_says(n_points, rank, number):
    # 110 points take several blocks of draws between updates.
    vectors = vectors_of(cloud(n_points), rank)
    found = draws(vectors, number)
    assert (found.sum(axis=1) == rank).all()
    assert largest_z(found, inclusion(vectors)) < BOUND
    likely = (chances := pairs(vectors)) * number > 20
    assert likely.mean() > 0.5
    assert largest_z(pairs_in(found)[:, likely], chances[likely]) < BOUND


def test_dppy_draws_points_and_pairs_as_often():
    dppy = pytest.importorskip("dppy.exact_sampling")
    vectors = vectors_of(cloud(20), 6)

    def theirs(vectors, rng):
        return dppy.proj_dpp_sampler_eig(
            vectors, mode="GS", random_state=np.random.RandomState(rng.integers(2**31))
        )

    number = 3000
    a, b = draws(vectors, number), draws(vectors, number, theirs)
    for ours, others in ((a, b), (pairs_in(a), pairs_in(b))):
        used = ours.mean(axis=0) + others.mean(axis=0) > 0.02
        variance = (ours.var(axis=0) + others.var(axis=0))[used] / number
        z = (ours.mean(axis=0) - others.mean(axis=0))[used] / np.sqrt(variance)
        assert np.abs(z).max() < BOUND
        # Not too good either: independent draws differ.
        assert 0.7 < z.std() < 1.3


def test_equal_points_are_never_drawn_together():
    points = np.repeat(cloud(15), 2, axis=0)
    found = draws(vectors_of(points, 8), 500)
    assert found.reshape(500, 15, 2).sum(axis=2).max() == 1


def test_points_repel_each_other():
    # Drawn together less often than independent points would be: minors of a projection.
    vectors = vectors_of(cloud(60), 15)
    first, second = np.triu_indices(60, 1)
    alone = inclusion(vectors)
    assert (pairs(vectors) <= alone[first] * alone[second] + 1e-12).all()


# Components


def test_components_agree_with_those_of_another_library():
    from sklearn.decomposition import PCA  # noqa: PLC0415

    signal = np.random.default_rng(2).random((20, 70)) * np.linspace(1, 3, 20)[:, None]
    theirs = PCA(4, svd_solver="full").fit_transform(signal.T)
    for ours in (principal_components(signal, 4), principal_components(np.tile(signal, (5, 1)), 4)):
        scale = np.abs(ours[0, 0] / theirs[0, 0])
        assert np.abs(ours) == pytest.approx(scale * np.abs(theirs), rel=1e-6, abs=1e-8)


def test_signs_are_fixed_and_empty_components_left_out():
    signal = np.random.default_rng(2).random((6, 30))
    assert principal_components(signal, 4) == pytest.approx(
        principal_components(signal[::-1], 4), abs=1e-9
    )
    assert principal_components(signal[:2], 4).shape == (30, 2)
    assert principal_components(np.full((6, 30), 0.7), 4).shape == (30, 0)
    assert principal_components(np.zeros((6, 30)), 4).shape == (30, 0)
    assert principal_components(np.tile(signal[:1], (6, 1)), 4).shape == (30, 1)


def test_to_box():
    box = to_box(np.array([[0.0, 5], [1, 5], [4, 5]]))
    assert box == pytest.approx(np.array([[-0.99, 0], [-0.495, 0], [0.99, 0]]))


def test_unknown_cells_say_nothing():
    values = np.array([[1.0, 0, np.nan, np.nan], [1, 1, 0, np.nan]])
    scores = ScoreMatrix(values, ["a", "b"], list("wxyz"))
    # The item's mean; where no model has the item, the mean of the five known cells.
    expected = [[1, 0, 0, 0.6], [1, 1, 0, 0.6]]
    assert source_signal(scores) == pytest.approx(np.array(expected))
    with_layer = ScoreMatrix(values, ["a", "b"], list("wxyz"), probabilities=np.full((2, 4), 0.25))
    assert (source_signal(with_layer) == 0.25).all()


# The method

SUBTASKS = {"tiny": 20, "small": 60, "large": 160}
DRAWS = 1500


@pytest.fixture(scope="module")
def scores():
    """Simulated subtasks; 20 items of the large one are copies of one of them."""
    population = simulate_population(subtasks=SUBTASKS, seed=8)
    drawn = population.scores(population.draw_models(40))
    columns = np.arange(240)
    columns[-20:] = 200
    return ScoreMatrix(
        drawn.values[:, columns],
        drawn.models,
        drawn.items,
        drawn.subtasks,
        probabilities=drawn.probabilities[:, columns],
    )


def mean_model(scores):
    """Linear estimates: the mean over models of an estimate is that of the mean model."""
    return scores.values.mean(axis=0)


def drawn_estimates(scores, selector, size, aggregate="micro", number=DRAWS):
    """Weighted means, and counts of the items, over draws."""
    values, estimates, counts = mean_model(scores), np.empty(number), np.zeros(scores.n_items)
    for draw in range(number):
        build = _prepared(scores, selector, aggregate)
        selection = build(size, Stream(draw))
        columns = [scores.item_position[item] for item in selection.items]
        counts[columns] += 1
        estimates[draw] = selection.weights @ values[columns]
    return estimates, counts


def _prepared(scores, selector, aggregate):
    """Select by stream; the polynomials are found once per selector."""
    stream = _Late()
    key = (id(scores), selector, aggregate)
    if key not in _PREPARED:
        _PREPARED[key] = (selector.prepare(scores, aggregate=aggregate, stream=stream), stream)
    build, late = _PREPARED[key]

    def select(size, stream):
        late.stream = stream
        return build(size)

    return select


_PREPARED: dict = {}


class _Late:
    """A stream that is set after preparing."""

    stream = Stream(0)

    def child(self, *name):
        return self.stream.child(*name)


def chances_of(scores, size, aggregate="micro"):

    return _Pool(scores, scores.item_weights(aggregate), 4, 0.01, "total").chances(size)


@pytest.mark.parametrize("aggregate", ["micro", "macro"])
@pytest.mark.parametrize(("size", "number"), [(1, DRAWS), (10, DRAWS), (48, 600), (225, 300)])
def test_items_are_chosen_as_often_as_their_chance(scores, size, number, aggregate):
    # At 225 the points support fewer polynomials (copies) than items are wanted.
    chances = chances_of(scores, size, aggregate)
    if size == 225:
        pool = _Pool(scores, scores.item_weights(aggregate), 4, 0.01, "total")
        assert pool._basis.vectors(225).shape[1] < size * len(pool.kept) / scores.n_items - 1
    assert chances.sum() == pytest.approx(size)
    assert ((chances > 0) & (chances <= 1 + 1e-12)).all()
    _, counts = drawn_estimates(scores, Diversity(), size, aggregate, number)
    error = np.sqrt(number * np.maximum(chances * (1 - chances), 1e-9))
    often = number * np.minimum(chances, 1 - chances) > 5
    assert (np.abs(counts - number * chances) / error)[often].max() < BOUND


@pytest.mark.parametrize("aggregate", ["micro", "macro"])
@pytest.mark.parametrize("size", [5, 10, 48])
def test_weights_by_chance_are_unbiased_before_they_are_scaled(scores, size, aggregate):
    weights, values = scores.item_weights(aggregate), mean_model(scores)
    share = weights / chances_of(scores, size, aggregate)
    select = _prepared(scores, Diversity(), aggregate)
    found = np.empty(DRAWS)
    for draw in range(DRAWS):
        columns = [scores.item_position[i] for i in select(size, Stream(draw)).items]
        found[draw] = share[columns] @ values[columns]
    z = (found.mean() - weights @ values) / (found.std(ddof=1) / np.sqrt(DRAWS))
    assert abs(z) < 4


@pytest.mark.parametrize(("size", "bound"), [(10, 0.012), (48, 0.005)])
def test_scaled_weights_keep_the_small_bias_of_a_ratio(scores, size, bound):
    found, _ = drawn_estimates(scores, Diversity(), size)
    assert abs(found.mean() - mean_model(scores).mean()) < bound


def test_the_papers_form_is_biased(scores):
    # It never draws from the tails while others are left, and no weight corrects the chances.
    found, counts = drawn_estimates(scores, PaperDiversity(), 48)
    bias = found.mean() - mean_model(scores).mean()
    assert abs(bias) / (found.std() / np.sqrt(DRAWS)) > FAR
    assert (counts == 0).sum() > 8


def test_sizes_beyond_the_points_within_the_tails(scores):
    for selector in (Diversity(), PaperDiversity()):
        build = selector.prepare(scores, aggregate="micro", stream=Stream(0))
        for size in (225, 239, 240):
            assert len(set(build(size).items)) == size
        assert np.ptp(build(240).weights) < 1e-15


@pytest.mark.parametrize("name", ["diversity", "stratified-confidence"])
@pytest.mark.parametrize("form", ["default", "paper"])
@pytest.mark.parametrize("n_items", [1, 2, 3])
@pytest.mark.parametrize("n_models", [1, 3])
def test_tiny_pools(name, form, n_items, n_models):
    values = np.random.default_rng(0).integers(0, 2, (n_models, n_items))
    tiny = ScoreMatrix(values, range(n_models), range(n_items))
    build = make_method(name, form).prepare(tiny, aggregate="micro", stream=Stream(0))
    for size in range(1, n_items + 1):
        selection = build(size).selection
        assert len(set(selection.items)) == size
        assert selection.weights.sum() == pytest.approx(1)


def test_constant_scores_give_a_uniform_sample():
    constant = ScoreMatrix(np.ones((5, 30), dtype=int), range(5), range(30))
    _, counts = drawn_estimates(constant, Diversity(), 6)
    assert chances_of(constant, 6) == pytest.approx(0.2)
    assert (np.abs(counts - 0.2 * DRAWS) < BOUND * np.sqrt(DRAWS * 0.16)).all()


def test_chances_do_not_depend_on_the_order_of_items_or_models(scores):
    rng = np.random.default_rng(6)
    shuffled = scores.restrict(
        models=[scores.models[i] for i in rng.permutation(scores.n_models)],
        items=[scores.items[i] for i in rng.permutation(scores.n_items)],
    )
    for size in (7, 60):
        plain = dict(zip(scores.items, chances_of(scores, size), strict=True))
        other = dict(zip(shuffled.items, chances_of(shuffled, size), strict=True))
        assert [other[item] for item in scores.items] == pytest.approx(list(plain.values()))


@given(
    n_models=st.integers(1, 8),
    n_items=st.integers(1, 25),
    n_kinds=st.integers(1, 25),
    graded=st.booleans(),
    form=st.sampled_from(["default", "paper"]),
    name=st.sampled_from(["diversity", "stratified-confidence"]),
    seed=st.integers(0, 2**16),
    data=st.data(),
)
@settings(max_examples=200, deadline=None)
def test_any_scores_give_size_distinct_items_with_positive_weights(
    n_models, n_items, n_kinds, graded, form, name, seed, data
):
    rng = np.random.default_rng(seed)
    kinds = rng.random((n_models, n_kinds))
    values = (kinds if graded else kinds.round())[:, rng.integers(0, n_kinds, n_items)]
    scores = ScoreMatrix(values, range(n_models), range(n_items))
    size = data.draw(st.integers(1, n_items))
    build = make_method(name, form).prepare(scores, aggregate="micro", stream=Stream(seed))
    selection = build(size).selection
    assert len(set(selection.items)) == size
    assert (selection.weights > 0).all()
    assert selection.weights.sum() == pytest.approx(1)
    again = make_method(name, form).prepare(scores, aggregate="micro", stream=Stream(seed))
    assert again(size).selection.items == selection.items
