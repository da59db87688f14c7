"""digits-zoo: what is bundled, that its layers agree, and that it can be made again."""

from __future__ import annotations

import re
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mdad.datasets import DATASETS, load, load_option_probabilities, names
from mdad.errors import SettingError

ROOT = Path(__file__).parents[1]
DATA = ROOT / "src" / "mdad" / "datasets" / "data"
MOST_BYTES = 2 * 2**20

# Fast, and free of linear algebra whose rounding differs between machines.
REMADE = (
    "knn-k1-train120-seed2",
    "knn-k5-train30-seed2",
    "knn-k3-top-train898-seed0",
    "centroid-plain-train250-seed2",
    "multinomial-bayes-alpha0.1-train120-seed2",
    "gaussian-bayes-smooth0.1-coarse-train898-seed0",
    "tree-depth6-train120-seed1",
)


@pytest.fixture(scope="module")
def zoo():
    return load("digits-zoo")


@pytest.fixture(scope="module")
def options():
    return load_option_probabilities("digits-zoo")


@pytest.fixture(scope="module")
def making():
    """The modules that made the files."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import digits_zoo_models  # noqa: PLC0415
        import make_digits_zoo  # noqa: PLC0415
    finally:
        sys.path.pop(0)
    return digits_zoo_models, make_digits_zoo


def test_registry_tells_the_truth():
    assert names()[0] == "digits-zoo"
    for name, info in DATASETS.items():
        scores = load(name)
        assert info.name == name
        assert (info.n_models, info.n_items) == (scores.n_models, scores.n_items)
        assert info.n_subtasks == len(scores.subtask_positions)
        assert info.simulated == scores.simulated == name.startswith("simulated-")
        assert info.summary
        assert info.licence
        assert info.options == (name == "digits-zoo")


def test_unknown_names_are_refused():
    with pytest.raises(SettingError, match="did you mean 'digits-zoo'"):
        load("digit-zoo")
    with pytest.raises(SettingError, match="nown: 'digits-zoo'"):
        load_option_probabilities("simulated-gpqa")


def test_bundled_files_are_small_and_have_a_licence():
    assert sum(path.stat().st_size for path in DATA.iterdir()) <= MOST_BYTES
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    assert "CC BY 4.0" in readme
    assert "BSD" in readme


def test_ids_are_unique_and_speak(zoo):
    assert len(set(zoo.models)) == zoo.n_models == 480
    assert all(re.fullmatch(r"[a-z0-9_.-]+-train\d+-seed\d+", model) for model in zoo.models)
    assert zoo.items[0] == "digits-0898"
    assert zoo.items[-1] == "digits-1796"
    hashes = zoo.item_info["content_hash"]
    assert hashes.is_unique
    assert hashes.str.fullmatch("[0-9a-f]{16}").all()
    assert not zoo.simulated


def test_accuracies_spread_like_those_of_a_leaderboard(zoo):
    full = zoo.full_scores()
    assert 0.15 < full.min() < 0.25
    assert 0.96 < full.max() < 0.98
    assert (full > 0.6).mean() > 0.7
    assert (full < 0.5).sum() > 20
    gaps = np.abs(full[:, None] - full)[np.triu_indices(len(full), 1)]
    assert (gaps < 0.02).sum() > 10_000
    values = zoo.values.astype(np.float32)
    nearest = [np.sort((values != row).mean(axis=1))[1] for row in values]
    assert (np.array(nearest) < 0.02).sum() > 20


def test_models_are_of_many_families_and_sizes(zoo):
    info = zoo.model_info
    families = Counter(info["family"])
    assert len(families) == 22
    assert min(families.values()) >= 6
    assert set(info["n_train"]) == {30, 60, 120, 250, 450, 898}
    assert (info["size"] > 0).all()
    assert info["size"].nunique() > 100
    assert all(model.startswith(f"{family}-") for model, family in info["family"].items())


def test_subtasks_are_the_digits(zoo):
    assert sorted(zoo.subtask_positions) == [f"digit {digit}" for digit in range(10)]
    assert all(85 <= len(part) <= 95 for part in zoo.subtask_positions.values())
    assert list(zoo.subtasks) == [f"digit {digit}" for digit in zoo.item_info["digit"]]


def test_both_layers_agree(zoo, options):
    right = zoo.values == 1
    # More than half is the largest; the largest of ten is a tenth or more.
    assert right[zoo.probabilities > 0.5].all()
    assert (zoo.probabilities[right] >= 0.1 - 1e-4).all()
    part = zoo.restrict(models=options.models)
    chosen = options.probabilities.argmax(axis=2)
    assert np.array_equal(chosen == options.right, part.values == 1)
    columns = np.arange(zoo.n_items)
    assert np.array_equal(options.probabilities[:, columns, options.right], part.probabilities)


def test_option_probabilities_are_a_spread_of_the_models(zoo, options):
    assert options.probabilities.shape == (60, 899, 10)
    assert options.probabilities.dtype == np.float32
    assert not options.probabilities.flags.writeable
    assert options.items == zoo.items
    assert options.options == tuple("0123456789")
    # Ten rounded numbers: the sum is off by at most half a step each.
    assert np.abs(options.probabilities.sum(axis=2) - 1).max() < 6 / 65534
    full = dict(zip(zoo.models, zoo.full_scores(), strict=True))
    chosen = sorted(full[model] for model in options.models)
    assert chosen[0] == min(full.values())
    assert chosen[-1] == max(full.values())
    assert max(b - a for a, b in pairwise(chosen)) < 0.2


def test_some_models_made_again_give_the_committed_rows(zoo, making):
    models, make = making
    data = models.halves()
    by_name = {recipe.name: recipe for recipe in models.recipes()}
    assert tuple(by_name) == zoo.models
    for name in REMADE:
        layer, size = models.class_probabilities(by_name[name], data)
        again = make.right_answers(layer[None], data.test_digits)[0]
        assert np.array_equal(again, zoo.values[zoo.model_position[name]]), name
        assert size == zoo.model_info.loc[name, "size"]


def test_tables_made_again_are_the_committed_ones(making):
    models, make = making
    assert make.items_table(models.halves()) == (DATA / "digits-zoo.items.csv").read_bytes()


def test_the_script_says_what_differs(making):
    _, make = making
    one, other = (make.npz(a=np.array([1, 2, x], dtype=np.uint16)) for x in (3, 7))
    assert make.difference("x.npz", one, one) == "the same bytes"
    assert make.difference("x.npz", one, other) == "a: 1 cells differ, by 4 at most"
    assert make.difference("x.npz", one, make.npz(b=np.zeros(3))) == "a: other shape"
    assert make.difference("x.csv", b"a\nb\n", b"a\nc\n") == "1 lines differ"


def test_training_sets_have_every_digit(making):
    models, _ = making
    data = models.halves()
    rows = models.training_rows(data.train_digits, 30, 1)
    assert np.bincount(data.train_digits[rows]).tolist() == [3] * 10
    assert len(set(models.training_rows(data.train_digits, 898, 1))) == 898
