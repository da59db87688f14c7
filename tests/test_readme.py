"""What the README shows is what the commands print."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from mdad.cli import main

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(line):
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as stopped:
            main()
        assert not stopped.value.code, line
        return capsys.readouterr().out

    return run


def lines_of(text):
    return [line.rstrip() for line in text.strip().splitlines()]


def block_with(words):
    (found,) = [body for _, body in BLOCKS if words in body]
    return found


def test_the_demo_prints_what_the_readme_shows(call):
    shown = lines_of(block_with("Audit of digits-zoo"))
    printed = lines_of(call("mdad demo"))
    assert printed == shown


def test_the_walk_through_works_and_ends_as_shown(call):
    commands = block_with("mdad select digits-zoo").strip().splitlines()
    assert len(commands) == 6
    printed = [call(command) for command in commands][-1]
    shown = lines_of(block_with("extra-trees-trees30-train898-seed2 is better than"))
    assert lines_of(printed)[-len(shown) :] == shown


def test_links_lead_somewhere():
    root = Path(__file__).resolve().parents[1]
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert targets
    for target in targets:
        assert (root / target).exists(), target
