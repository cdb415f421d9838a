"""The wheel works where nothing of the checkout is at hand."""

import os
import subprocess
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of a fresh environment: the wheel, and the dependencies of the one that runs the tests."""
    home = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    site = next((home / "lib").glob("python*")) / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
        (command,) = [info for info in archive.infolist() if info.filename.endswith(".data/scripts/lumen-tui")]
        source = archive.read(command).decode()
    borrowed = sysconfig.get_paths()["purelib"]
    (site / "borrowed.pth").write_text(f"import sys; sys.path.append({borrowed!r})\n", encoding="utf-8")
    script = home / "bin" / "lumen-tui"
    assert source.startswith("#!python\n")  # what installers replace by their interpreter
    script.write_text(source.replace("#!python", f"#!{home}/bin/python", 1), encoding="utf-8")
    script.chmod(command.external_attr >> 16)
    return home / "bin"


def _run(programs: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.defpath, "HOME": str(folder), "LUMEN_STATE": str(folder / "state"), "LANG": "C.UTF-8"}
    return subprocess.run(
        [str(programs / arguments[0]), *arguments[1:]], cwd=folder, env=env, capture_output=True, text=True, timeout=60,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_the_wheel_holds_the_roles_the_styles_and_the_seed(wheel: Path, root: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for prompt in (root / "prompts").glob("*.md"):
        assert f"lumen_tui/shipped/prompts/{prompt.name}" in names
    for role in (root / "roles").glob("*.md"):
        assert f"lumen_tui/shipped/roles/{role.name}" in names
    for style in (root / "styles").rglob("*.tcss"):
        assert f"lumen_tui/shipped/styles/{style.relative_to(root / 'styles')}" in names
    assert "lumen_tui/shipped/state/lumen.toml" in names
    for shared in (path for path in (root / "share").rglob("*") if path.is_file()):
        assert any(name.endswith(f".data/data/{shared.relative_to(root)}") for name in names)
    assert not [name for name in names if name.startswith("tests/") or name.endswith((".pyc", ".jsonl"))]


def test_it_is_the_wheel_that_is_imported(programs: Path, tmp_path: Path) -> None:
    done = _run(programs, tmp_path, "python", "-c", "import lumen_tui; print(lumen_tui.__file__)")
    assert Path(done.stdout.strip()).is_relative_to(programs.parent), done.stderr


def test_a_signal_is_sent_without_the_regular_expressions_that_other_wrappers_import(
    programs: Path, tmp_path: Path
) -> None:
    assert _run(programs, tmp_path, "lumen-tui", "init").returncode == 0
    command = ["-X", "importtime", str(programs / "lumen-tui"), "signal", "the port moved"]
    done = _run(programs, tmp_path, "python", *command)
    assert done.returncode == 0, done.stderr
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "lumen_tui.hot" in imported
    assert not imported & {"re", "enum", "typing", "json", "msgspec"}


def test_help_and_the_shipped_roles(programs: Path, tmp_path: Path) -> None:
    told = _run(programs, tmp_path, "lumen-tui", "--help")
    assert told.returncode == 0, told.stderr
    assert "--state" in told.stdout
    made = _run(programs, tmp_path, "lumen-tui", "init")
    assert made.returncode == 0, made.stderr
    roles = _run(programs, tmp_path, "lumen-tui", "role", "list")
    assert roles.returncode == 0, roles.stderr
    for name in ("researcher", "builder", "reviewer", "analyst"):
        assert name in roles.stdout


def test_shipped_roles_may_be_links_to_the_cache_of_an_installer(programs: Path, tmp_path: Path) -> None:
    shipped = next(programs.parent.rglob("shipped/roles/researcher.md"))
    os.link(shipped, tmp_path / "in-the-cache.md")
    roles = _run(programs, tmp_path, "lumen-tui", "--state", str(tmp_path / "new"), "init")
    assert roles.returncode == 0, roles.stderr
    shown = _run(programs, tmp_path, "lumen-tui", "--state", str(tmp_path / "new"), "role", "show", "researcher")
    assert shown.returncode == 0, shown.stderr
    assert "List the 5 largest files" in shown.stderr
    (tmp_path / "in-the-cache.md").unlink()
