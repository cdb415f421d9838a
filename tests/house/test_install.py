"""From the wheel to a first answer, as who installs it does: `uv tool install`, then `lumen-tui run`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]
UNREACHABLE = ("No matching distribution", "Failed to fetch", "Connection", "Could not", "not found in the package")


def _run(words: list[str], home: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=home, env=env, capture_output=True, text=True, timeout=170, stdin=subprocess.DEVNULL
    )


@pytest.fixture(scope="module", params=["uv", "pipx"])
def installed(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a user who installed the wheel by the named program, with `bin/lumen-tui` in it."""
    if not (program := shutil.which(request.param)):
        pytest.skip(f"needs {request.param}")
    home = tmp_path_factory.mktemp(request.param)
    places = {
        "uv": {"UV_TOOL_DIR": str(home / "tools"), "UV_TOOL_BIN_DIR": str(home / "bin")},
        "pipx": {
            "PIPX_HOME": str(home / "tools"),
            "PIPX_BIN_DIR": str(home / "bin"),
            "PIPX_MAN_DIR": str(home / "man"),
        },
    }[request.param]
    words = {
        "uv": [program, "tool", "install", "--python", sys.executable, str(wheel)],
        "pipx": [program, "install", "--python", sys.executable, str(wheel)],
    }[request.param]
    done = _run(words, home, {**os.environ, **places})
    if done.returncode and any(words in done.stderr for words in UNREACHABLE):
        pytest.skip("the packages it depends on cannot be fetched")
    assert done.returncode == 0, done.stderr
    return home


def _lumen(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.defpath, "HOME": str(home), "LANG": "C.UTF-8"}
    return _run([str(home / "bin" / "lumen-tui"), *words], home, env)


def test_it_says_its_version(installed: Path) -> None:
    done = _lumen(installed, "--version")
    assert (done.returncode, done.stdout.split()[0]) == (0, "lumen-tui"), done.stderr


def test_the_second_command_answers(installed: Path) -> None:
    (installed / "data").mkdir(exist_ok=True)
    (installed / "data" / "large.bin").write_bytes(bytes(70_000))
    done = _lumen(installed, "run", f"What are the 5 largest files in {installed / 'data'}?")
    assert done.returncode == 0, done.stderr
    assert "large.bin" in done.stdout


def test_manual_page_and_completions_are_below_the_prefix(installed: Path) -> None:
    (environment,) = {path.parents[1] for path in (installed / "tools").rglob("bin/lumen-tui")}
    for name in (
        "man/man1/lumen-tui.1",
        "bash-completion/completions/lumen-tui",
        "zsh/site-functions/_lumen-tui",
        "fish/vendor_completions.d/lumen-tui.fish",
    ):
        assert (environment / "share" / name).is_file(), name
