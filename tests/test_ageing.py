"""Ageing: a micro-benchmark checked against new models, and refitted."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import mdad
from mdad import datasets
from mdad.ageing import age, refit
from mdad.cli import app
from mdad.errors import FormatError, ScoresError, SettingError
from mdad.microbenchmark import Microbenchmark
from mdad.selecting import select
from mdad.storage import write_parquet

runner = CliRunner()


@pytest.fixture(scope="module")
def world():
    """Sources, new models of the same population, and a file made from the sources."""
    whole = datasets.simulate(n_models=160, n_items=120, seed=6, probabilities=False)
    sources = whole.restrict(models=whole.models[:80])
    return (
        sources,
        whole.restrict(models=whole.models[80:]),
        select(sources, size=15, method="c-optimal"),
    )


def turned(scores, share=0.5, seed=0):
    """The same models, right where they were wrong on some items: the benchmark means another."""
    rng = np.random.default_rng(seed)
    values = scores.values.astype(float).copy()
    flipped = rng.random(scores.n_items) < share
    values[:, flipped] = 1 - values[:, flipped]
    return mdad.ScoreMatrix(values, scores.models, scores.items)


def test_models_of_the_same_population_fit(world):
    _, fresh, micro = world
    found = age(micro, fresh)
    assert found.fits, found.reasons
    assert found.n_models == 80
    assert 0.88 <= found.covered <= 1
    assert abs(found.bias) < 0.02
    assert abs(found.predicted - found.right) < 0.06


def test_source_models_are_left_out(world):
    sources, fresh, micro = world
    both = mdad.ScoreMatrix(
        np.vstack([sources.values, fresh.values]), [*sources.models, *fresh.models], fresh.items
    )
    found = age(micro, both)
    assert found.n_known == 80
    assert found == type(found)(**{**age(micro, fresh).__dict__, "n_known": 80})
    with pytest.raises(ScoresError, match="two models or more"):
        age(micro, sources)


def test_models_that_answer_otherwise_do_not_fit(world):
    _, fresh, micro = world
    found = age(micro, turned(fresh))
    assert not found.fits
    text = " ".join(found.reasons)
    assert "answer unlike" in text
    assert "intervals hold" in text
    assert found.unlike


def test_better_models_are_beyond_the_sources(world):
    sources, fresh, _ = world
    weak = [m for m, y in zip(sources.models, sources.full_scores(), strict=True) if y < 0.55]
    micro = select(sources.restrict(models=weak), size=15, method="c-optimal")
    found = age(micro, fresh)
    assert not found.fits
    assert "beyond the full scores" in found.reasons[0]
    full = dict(zip(fresh.models, fresh.full_scores(), strict=True))
    assert np.mean([full[model] for model in found.outside]) > 0.6


def test_on_the_chosen_items_alone_errors_are_not_checked(world):
    _, fresh, micro = world
    found = age(micro, fresh.restrict(items=micro.items))
    assert np.isnan(found.covered)
    assert found.fits
    with pytest.raises(ScoresError, match="1 chosen item of 15"):
        age(micro, fresh.restrict(items=micro.items[1:]))


def test_a_random_file_has_no_population_to_leave(world):
    sources, fresh, _ = world
    micro = select(sources, size=15, method="random")
    found = age(micro, turned(fresh, share=0.3))
    assert found.fits, found.reasons
    assert found.unlike == ()


def test_refitted_items_stay_and_errors_are_those_of_the_new_models(world):
    _, fresh, micro = world
    other = turned(fresh)
    again = refit(micro, other)
    assert set(again.items) == set(micro.items)
    assert again.made.lineage == (micro.fingerprint,)
    assert again.made.settings == {"refitted": "c-optimal", "extended": 0}
    more = turned(datasets.simulate(n_models=240, n_items=120, seed=6, probabilities=False))
    more = more.restrict(models=more.models[160:])
    assert not age(micro, more).fits
    assert age(again, more).fits, age(again, more).reasons


def test_an_extended_one_knows_more(world, tmp_path):
    _, fresh, micro = world
    again = refit(micro, fresh, extend=10)
    assert again.size == 25
    assert set(micro.items) < set(again.items)
    assert again.calibration.gap.noise < refit(micro, fresh).calibration.gap.noise
    third = refit(again, fresh)
    assert third.made.lineage == (micro.fingerprint, again.fingerprint)
    assert Microbenchmark.load(third.save(tmp_path / "m.json")) == third


def test_what_cannot_be_refitted(world):
    _, fresh, micro = world
    with pytest.raises(FormatError, match="another version of the benchmark"):
        refit(micro, fresh.restrict(items=fresh.items[:100]))
    with pytest.raises(SettingError, match="nothing is left to estimate"):
        refit(micro, fresh, extend=105)


def test_commands(world, tmp_path, monkeypatch):
    _, fresh, micro = world
    monkeypatch.chdir(tmp_path)
    micro.save("m.json")
    write_parquet(fresh, tmp_path / "new.parquet")
    write_parquet(turned(fresh), tmp_path / "other.parquet")
    write_parquet(fresh.restrict(items=micro.items), tmp_path / "part.parquet")
    result = runner.invoke(app, ["show", "m.json", "--against", "new.parquet"])
    assert result.exit_code == 0, result.output
    assert "still fits" in result.output
    result = runner.invoke(app, ["show", "m.json", "--against", "other.parquet"])
    assert result.exit_code == 1
    assert "no longer fits" in result.output
    result = runner.invoke(app, ["show", "m.json", "--against", "part.parquet", "--json"])
    assert json.loads(result.output)["fits"] is True
    result = runner.invoke(app, ["show", "m.json", "--against", "part.parquet"])
    assert "errors were not checked" in result.output
    refitting = ["refit", "m.json", "new.parquet", "--out", "n.json"]
    result = runner.invoke(app, [*refitting, "--extend", "5"])
    assert result.exit_code == 0, result.output
    assert "20 of 120 items written" in result.output
    result = runner.invoke(app, ["show", "n.json"])
    assert f"refitted from {micro.fingerprint}" in result.output
    assert "linear predictor" in result.output
    assert runner.invoke(app, refitting).exit_code != 0  # n.json is there
