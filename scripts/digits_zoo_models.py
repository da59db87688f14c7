"""The classifiers of digits-zoo: families, settings, training sets, and how they are fitted."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

if TYPE_CHECKING:
    from collections.abc import Callable

N_CLASSES = 10
N_SOURCE = 898
"""The first 898 images train, the other 899 are the items: the halves have different writers."""

STEPS = 65534
"""Probabilities are kept in whole steps of 1 / 65,534 (unsigned 16 bit): one half is exact."""

# A family, its settings, and the estimator of a setting and a seed.
FAMILIES: dict[str, dict[str, Callable[[int], Any]]] = {
    "knn": {
        f"k{k}": lambda _, k=k: KNeighborsClassifier(k, algorithm="kd_tree")
        for k in (1, 3, 5, 9, 15)
    },
    "centroid": {"plain": lambda _: NearestCentroid()},
    "logistic": {
        f"c{c:g}": lambda _, c=c: LogisticRegression(C=c, max_iter=300)
        for c in (0.001, 0.01, 0.1, 1, 10)
    },
    "linear-svm": {
        f"c{c:g}": lambda seed, c=c: LinearSVC(C=c, random_state=seed) for c in (0.001, 0.01, 0.1)
    },
    "rbf-svm": {f"gamma{g:g}": lambda _, g=g: SVC(gamma=g, C=5) for g in (0.01, 0.03, 0.1, 0.3, 1)},
    "poly-svm": {f"degree{d}": lambda _, d=d: SVC(kernel="poly", degree=d) for d in (2, 3, 5)},
    "ridge": {f"alpha{a:g}": lambda _, a=a: RidgeClassifier(alpha=a) for a in (0.1, 10)},
    "perceptron": {
        f"epochs{n}": lambda seed, n=n: Perceptron(max_iter=n, tol=None, random_state=seed)
        for n in (1, 5, 20)
    },
    "sgd": {
        f"{loss}": lambda seed, loss=loss: SGDClassifier(loss, random_state=seed, max_iter=30)
        for loss in ("hinge", "log_loss", "modified_huber")
    },
    "tree": {
        f"depth{d}": lambda seed, d=d: DecisionTreeClassifier(max_depth=d, random_state=seed)
        for d in (3, 4, 6, 12)
    },
    "forest": {
        f"trees{n}": lambda seed, n=n: RandomForestClassifier(n, random_state=seed)
        for n in (3, 10, 30, 100)
    },
    "extra-trees": {
        f"trees{n}": lambda seed, n=n: ExtraTreesClassifier(n, random_state=seed)
        for n in (5, 30, 100)
    },
    "bagging": {
        f"trees{n}": lambda seed, n=n: BaggingClassifier(n_estimators=n, random_state=seed)
        for n in (5, 20)
    },
    "adaboost": {
        f"depth{d}": lambda seed, d=d: AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=d), n_estimators=30, random_state=seed
        )
        for d in (1, 3)
    },
    "boosting": {
        f"rounds{n}": lambda seed, n=n: GradientBoostingClassifier(
            n_estimators=n, max_depth=2, max_features=8, random_state=seed
        )
        for n in (5, 20, 40)
    },
    "gaussian-bayes": {
        f"smooth{s:g}": lambda _, s=s: GaussianNB(var_smoothing=s) for s in (1e-3, 0.1, 1)
    },
    "multinomial-bayes": {f"alpha{a:g}": lambda _, a=a: MultinomialNB(alpha=a) for a in (0.1, 10)},
    "complement-bayes": {"alpha1": lambda _: ComplementNB()},
    "bernoulli-bayes": {f"over{b:g}": lambda _, b=b: BernoulliNB(binarize=b) for b in (0.2, 0.5)},
    "lda": {
        f"shrink{s:g}": lambda _, s=s: LinearDiscriminantAnalysis("lsqr", shrinkage=s)
        for s in (0.05, 0.3)
    },
    "qda": {
        f"shrink{s:g}": lambda _, s=s: QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=s)
        for s in (0.1, 0.5)
    },
    "mlp": {
        f"hidden{h}-epochs{n}": lambda seed, h=h, n=n: MLPClassifier(
            h, max_iter=n, learning_rate_init=0.01, random_state=seed
        )
        for h, n in ((8, 30), (16, 10), (16, 60), (32, 30), (64, 30), (64, 100))
    },
}

N_TRAIN = (30, 60, 120, 250, 450, 898)
SEEDS = 3
VIEWS = ("coarse", "top", "left", "noisy")
"""Handicaps: 4 x 4 pixels, the upper half, the left half, or images with noise."""

VIEW_SETTINGS = (
    "knn-k3", "logistic-c0.1", "rbf-svm-gamma0.1", "tree-depth12", "forest-trees30",
    "gaussian-bayes-smooth0.1", "lda-shrink0.3", "mlp-hidden32-epochs30",
)  # fmt: skip
RESEEDED = ("forest-trees30", "extra-trees-trees30", "mlp-hidden64-epochs30", "boosting-rounds20")


@dataclass(frozen=True)
class Recipe:
    """What makes one model again: family, setting, view, number of training images, seed."""

    family: str
    setting: str
    n_train: int
    seed: int
    view: str = ""

    @property
    def name(self) -> str:
        """The model's id."""
        view = f"-{self.view}" if self.view else ""
        return f"{self.family}-{self.setting}{view}-train{self.n_train}-seed{self.seed}"


def recipes() -> list[Recipe]:
    """All models: every setting with every training size, then views, then further seeds."""
    settings = [(family, setting) for family, table in FAMILIES.items() for setting in table]
    result = [
        Recipe(family, setting, n_train, (i + j) % SEEDS)
        for i, (family, setting) in enumerate(settings)
        for j, n_train in enumerate(N_TRAIN)
    ]
    named = {f"{family}-{setting}": (family, setting) for family, setting in settings}
    for name in VIEW_SETTINGS:
        result += [
            Recipe(*named[name], n_train, 0, view) for view in VIEWS for n_train in (120, 898)
        ]
    for name in RESEEDED:
        result += [Recipe(*named[name], 450, seed) for seed in range(10, 15)]
    return result


@dataclass(frozen=True)
class Digits:
    """The halves of the data: images as rows of 64 brightnesses in [0, 1]."""

    train: np.ndarray
    train_digits: np.ndarray
    test: np.ndarray
    test_digits: np.ndarray
    pixels: np.ndarray
    """Test images as they are stored, whole numbers from 0 to 16."""


def halves() -> Digits:
    images, digits = load_digits(return_X_y=True)
    return Digits(
        images[:N_SOURCE] / 16,
        digits[:N_SOURCE],
        images[N_SOURCE:] / 16,
        digits[N_SOURCE:],
        images[N_SOURCE:].astype(np.uint8),
    )


def training_rows(digits: np.ndarray, n_train: int, seed: int) -> np.ndarray:
    """Rows of a training set: all ten digits in turn, so that even 30 images have each."""
    rng = np.random.default_rng([seed, 20251])
    order = rng.permutation(len(digits))
    turn = np.zeros(len(digits))
    for digit in range(N_CLASSES):
        here = digits[order] == digit
        turn[here] = np.arange(here.sum())
    return order[np.argsort(turn, kind="stable")][:n_train]


def seen_through(images: np.ndarray, view: str, salt: int) -> np.ndarray:
    """Images as a handicapped model sees them."""
    grid = images.reshape(-1, 8, 8)
    if view == "coarse":
        return grid.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
    if view == "top":
        return grid[:, :4].reshape(-1, 32)
    if view == "left":
        return grid[:, :, :4].reshape(-1, 32)
    if view == "noisy":
        noise = np.random.default_rng([salt, 20252]).normal(0, 0.35, images.shape)
        return np.clip(images + noise, 0, 1)
    return images


def class_probabilities(recipe: Recipe, data: Digits) -> tuple[np.ndarray, int]:
    """Fit one model; its probability of each digit for each test image, and its size.

    Returns
    -------
    uint16 array of shape (n_items, 10), in steps of 1 / 65,534
    size, the count of numbers the fitted model keeps
    """
    rows = training_rows(data.train_digits, recipe.n_train, recipe.seed)
    train = seen_through(data.train, recipe.view, 0)[rows]
    test = seen_through(data.test, recipe.view, 1)
    model = FAMILIES[recipe.family][recipe.setting](recipe.seed)
    with warnings.catch_warnings():
        # Networks and linear models are stopped early on purpose.
        warnings.simplefilter("ignore", ConvergenceWarning)
        # Pixels at the edge are blank in all images, which matters to no classifier here.
        warnings.filterwarnings("ignore", message="self.within_class_std_dev_")
        model.fit(train, data.train_digits[rows])
    known = probability_of(model, train, test)
    full = np.zeros((len(test), N_CLASSES))
    full[:, model.classes_] = known
    return np.round(full * STEPS).astype(np.uint16), stored_numbers(model, train)


def probability_of(model: Any, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """The model's own probabilities, else the softmax of its decision values.

    Decision values are divided by half their standard deviation on the training images, which
    puts margins of all families on one scale.
    """
    if hasattr(model, "predict_proba") and not isinstance(model, NearestCentroid):
        return model.predict_proba(test)
    if isinstance(model, NearestCentroid):

        def decide(x: np.ndarray) -> np.ndarray:
            return -((x[:, None] - model.centroids_) ** 2).sum(axis=2)
    else:
        decide = model.decision_function
    values = decide(test) / (decide(train).std() / 2)
    values = np.exp(values - values.max(axis=1, keepdims=True))
    return values / values.sum(axis=1, keepdims=True)


def stored_numbers(model: Any, train: np.ndarray) -> int:
    """How many numbers a fitted model keeps: weights, stored images, or tree nodes."""
    if isinstance(model, KNeighborsClassifier):
        return train.size
    if isinstance(model, SVC):
        return model.support_vectors_.size + model.dual_coef_.size
    if isinstance(model, MLPClassifier):
        return sum(part.size for part in [*model.coefs_, *model.intercepts_])
    if isinstance(model, DecisionTreeClassifier):
        return model.tree_.node_count
    if hasattr(model, "estimators_"):
        return sum(tree.tree_.node_count for tree in np.ravel(model.estimators_))
    names = ("coef_", "intercept_", "theta_", "var_", "feature_log_prob_", "centroids_")
    parts = [np.size(getattr(model, name)) for name in names if hasattr(model, name)]
    if isinstance(model, QuadraticDiscriminantAnalysis):
        parts += [rotation.size for rotation in model.rotations_]
    return sum(parts)
