"""Fixtures for all tests."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """A cache of logs that no other run has written and no user sees."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MDAD_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shared_formats():
    """The folder of genuine evaluation logs beside the checkout; skips where there is none."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "formats"
    if not folder.is_dir():
        pytest.skip("the folder of genuine evaluation logs is not here")
    return folder


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real score matrices beside the checkout; skips where there is none."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the folder of real score matrices is not here")
    return folder
