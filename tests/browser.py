"""An installed Chromium, driven by Playwright, for tests of pages."""

import os
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from shutil import which

import pytest

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None

try:
    # The package is a wrapper; what is wanted of it is the script it carries.
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
except ModuleNotFoundError:
    axe = None

FLAGS = [
    # What keeps a headless Chromium from asking the network for anything on its own behalf.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-sandbox",
]


def absent(what):
    """Skip a test whose tool is missing, or fail where everything must be there."""
    if os.environ.get("MDAD_REQUIRE_ALL"):
        pytest.fail(f"{what} is missing and MDAD_REQUIRE_ALL is set")
    pytest.skip(f"{what} is missing")


@contextmanager
def chromium():
    """A headless Chromium."""
    program = which("chromium") or which("chromium-browser") or which("google-chrome")
    if program is None:
        absent("Chromium")
    if sync_playwright is None:
        absent("playwright (the extra 'browser')")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def opened(browser, path, *, width=1280, dark=False, script=True, ready=True):
    """A page that is shown and ready; fails on a console message or a request for anything else."""
    trouble, requests = [], []
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
        java_script_enabled=script,
    )
    page = context.new_page()
    page.on("console", lambda message: trouble.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(Path(path).as_uri())
    if script and ready:
        page.wait_for_selector("html[data-ready=true]", timeout=30_000)
    yield page
    context.close()
    assert not trouble, trouble
    assert requests == [Path(path).as_uri()]


def violations(page):
    """What axe-core calls serious or critical on the page as it is shown, with where it is."""
    if axe is None:
        absent("axe-core (the extra 'browser')")
    page.evaluate(axe)
    found = page.evaluate("axe.run()")
    assert len(found["passes"]) > 10
    return [
        (rule["id"], node["target"], node["failureSummary"])
        for rule in found["violations"]
        if rule["impact"] in {"serious", "critical"}
        for node in rule["nodes"]
    ]
