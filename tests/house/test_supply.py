"""What is installed and run is what was looked at: pinned packages, and nothing that a folder brings along."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

MOST = 10  # packages that every installation needs


@pytest.fixture(scope="module")
def lock(root: Path) -> dict:
    return tomllib.loads((root / "uv.lock").read_text())


@pytest.mark.threat("S14", "each file of each package is pinned by its hash")
def test_every_file_of_every_package_has_its_hash(lock: dict) -> None:
    packages = [package for package in lock["package"] if "registry" in package["source"]]
    files = [file for package in packages for file in [package.get("sdist"), *package.get("wheels", [])] if file]
    assert len(packages) > 50
    assert len(files) > len(packages)
    assert [file["url"] for file in files if not file["hash"].startswith("sha256:")] == []


@pytest.mark.threat("S14", "no package comes from anywhere else than the index")
def test_no_package_comes_from_a_repository_or_an_address(lock: dict, root: Path) -> None:
    sources = {next(iter(package["source"])) for package in lock["package"] if package["name"] != "lumen-tui"}
    assert sources == {"registry"}
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    named = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    assert [one for one in named if "@" in one or "://" in one] == []
    assert len(project["dependencies"]) <= MOST


@pytest.mark.threat("S14", "each package that is named is locked under that name")
def test_every_package_that_is_named_is_locked_under_that_name(lock: dict, root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    locked = {package["name"] for package in lock["package"]}
    named = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    assert {one.partition("=")[0].partition(">")[0].partition("[")[0].lower() for one in named} <= locked
