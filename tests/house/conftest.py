"""The package as source trees, parsed once, and as a wheel, built once."""

import ast
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "lumen_tui"
NEEDED = (  # for the wheel
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "lumen_tui",
    "roles",
    "prompts",
    "styles",
    "share",
    "state/lumen.toml",
    "state/README.md",
    "state/evolved/constitution.md",
)


@dataclass(frozen=True)
class Source:
    """One module."""

    name: str  # its path below the repository
    lines: list[str]
    tree: ast.Module


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes seconds; `-m 'not slow'` leaves it out while you work")


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def needed() -> tuple[str, ...]:
    """What of the repository a wheel is built of."""
    return NEEDED


@pytest.fixture(scope="session")
def sources() -> list[Source]:
    """Every module of the package."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found.append(Source(str(path.relative_to(ROOT)), text.splitlines(), ast.parse(text)))
    assert found
    return found


def _copy(root: Path, target: Path) -> Path:
    """Only what is versioned: a state folder in use must not slip into the wheel that is looked at."""
    for name in NEEDED:
        source = root / name
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target / name)
    return target


def _build_command(target: Path) -> list[str]:
    if uv := shutil.which("uv"):
        return [uv, "build", "--wheel", "--out-dir", str(target)]
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0:
        return [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(target), "."]
    base = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    return [str(base), "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(target), "."]


@pytest.fixture(scope="session")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = _copy(root, folder / "source")
    built = subprocess.run(
        _build_command(folder), cwd=source, capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL
    )
    wheels = list(folder.glob("*.whl"))
    missing = "hatchling" in built.stderr and ("No matching distribution" in built.stderr or "fetch" in built.stderr)
    if not wheels and missing:
        pytest.skip("the build backend hatchling cannot be fetched: no network")
    assert wheels, built.stderr
    return wheels[0]
