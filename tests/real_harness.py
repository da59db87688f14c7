"""Running the harnesses themselves, offline, with a Python that has them.

That is the Python of ``MDAD_HARNESS_PYTHON``, or this one (``pip install '.[harness]'``). Where it
has none, tests skip with that reason; where ``MDAD_REQUIRE_ALL`` is set they fail.
"""

import os
import subprocess
import sys
from functools import cache

import pytest

PYTHON = os.environ.get("MDAD_HARNESS_PYTHON", sys.executable)
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "INSPECT_DISPLAY": "none",
    "INSPECT_LOG_LEVEL": "error",
}


def needs(package):
    """Skip, saying what to install, where the harness is not there."""
    if _has(package):
        return
    reason = f"{package} is not installed for {PYTHON}; set MDAD_HARNESS_PYTHON"
    if os.environ.get("MDAD_REQUIRE_ALL"):
        pytest.fail(reason)
    pytest.skip(reason)


@cache
def _has(package):
    command = [PYTHON, "-c", f"import {package}"]
    return not subprocess.run(command, capture_output=True, check=False).returncode


def attempt(*arguments, folder):
    """Run Python on arguments in a folder, without a network."""
    return subprocess.run(
        [PYTHON, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **OFFLINE, "HF_HOME": str(folder / "hf")},
        capture_output=True,
        text=True,
        check=False,
    )


def run(*arguments, folder):
    """The same, which must succeed."""
    found = attempt(*arguments, folder=folder)
    assert found.returncode == 0, found.stderr[-3000:]
    return found
