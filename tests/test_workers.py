"""Every method gives the same bytes with one worker and with two."""

from pathlib import Path

from mdad import datasets
from mdad.experiment import Experiment
from mdad.methods import METHODS
from mdad.runner import run_experiment
from mdad.scores import Completed


def shards(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "runs").iterdir())}


def test_every_method_gives_the_same_bytes_with_one_worker_and_two(tmp_path):
    scores = datasets.load("digits-zoo-options")
    scores = scores.restrict(items=scores.items[::8])
    experiment = Experiment(
        methods=tuple(METHODS), sizes=(5, 12), runs=2, n_source=40, n_target=15, seed=3
    )
    for n_jobs in (1, 2):
        run_experiment(
            Completed(scores, (), ()), experiment, out=tmp_path / str(n_jobs), n_jobs=n_jobs
        )
    assert shards(tmp_path / "1") == shards(tmp_path / "2")
    assert len(shards(tmp_path / "1")) == 2
