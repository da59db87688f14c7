"""Our figures on GPQA against the published ones; the same function prints the table."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

# At size 10 the two published rows, twins in all but name, are .044 apart in agreement.
SIZES = [25, 50, 100, 200]


@pytest.fixture(scope="module")
def table(shared_data):
    path = Path(__file__).parents[1] / "experiments" / "parity.py"
    spec = importlib.util.spec_from_file_location("parity", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.parity(shared_data.parent, seeds=5).set_index(["figure", "size"])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("figure", "bound"),
    [("agreement", 0.03), ("kendall_tau", 0.04), ("error_points", 0.4), ("mdad_points", 1.0)],
)
def test_mean_over_five_seeds_is_the_papers(table, figure, bound, size):
    row = table.loc[(figure, size)]
    if (figure, size) == ("mdad_points", 25):
        bound = 1.5
    assert abs(row["ours"] - row["theirs"]) <= bound
    assert row["bound"] == bound


def test_estimation_errors_at_size_10_are_the_papers_too(table):
    row = table.loc[("error_points", 10)]
    assert abs(row["ours"] - row["theirs"]) <= 0.4
