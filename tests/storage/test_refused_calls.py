"""What the system refuses of one file, a verb says in a sentence, and it acknowledges nothing that was not written."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lumen_program import lumen

pytestmark = [
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is missing: it lets single calls fail"),
    pytest.mark.xdist_group("strace"),
]
MOST = 8  # points of the short form; each starts Python under strace
REFUSALS = (
    ("openat", "EMFILE"), ("openat", "EIO"), ("flock", "ENOLCK"), ("write,pwrite64", "ENOSPC"), ("read,pread64", "EIO"),
    ("openat", "EACCES"), ("write,pwrite64", "EROFS"),
)  # fmt: skip
VERBS = (
    "checkpoint more --wu WU-100", "role hire scout --like researcher", "wu claim WU-100", "signal hello",
    "create again", "signal cleanup", "fact list", "ready --wu WU-100", "status", "inbox", "search words",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def traceable() -> None:
    if subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode:
        pytest.skip("strace may not trace here (ptrace is forbidden)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A state folder with a little of everything that the verbs touch."""
    root = tmp_path / "kept"
    for words in (
        ["init"], ["wu", "new", "Sessions survive", "--id", "WU-100", "--lane", "Core"], ["signal", "words"],
        ["checkpoint", "half done", "--wu", "WU-100"], ["create", "words"], ["fact", "add", "API", "-p", "port 1"],
    ):  # fmt: skip
        ran = lumen(["--state", str(root), *words], env=dict(os.environ), cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
    return root


def traced(options: list[str], root: Path, verb: str) -> subprocess.CompletedProcess[str]:
    """Run the verb on a fresh copy of the folder `kept` at `root`, under strace."""
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(root.with_name("kept"), root)
    program = [sys.executable, "-m", "lumen_tui", "--state", str(root), *verb.split()]
    return subprocess.run(
        ["strace", "-f", *options, *program], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def opened(root: Path, verb: str) -> list[str]:
    """The state files that the verb opens."""
    log = root.with_name("log")
    traced(["-o", str(log), "-e", "trace=openat"], root, verb)
    found = re.findall(rf'openat\([^"]*"({re.escape(str(root))}/[^"]*)"', log.read_text())
    return [path for path in dict.fromkeys(found) if not path.endswith(".tmp")]


@pytest.mark.fault("R3", "one file refuses a call (EMFILE, EIO, ENOLCK, ENOSPC, EACCES, EROFS), eleven commands")
def test_a_refused_call_ends_in_a_sentence(folder: Path, sampled) -> None:
    root = folder.with_name("state")
    points = [
        (verb, path, call, error)
        for verb in sampled(list(VERBS), 4)
        for path in opened(root, verb)
        for call, error in REFUSALS
    ]
    assert len(points) > 60
    for verb, path, call, error in sampled(points, MOST):
        ran = traced(["-o", os.devnull, "-P", path, "-e", f"inject={call}:error={error}"], root, verb)
        assert "Traceback" not in ran.stderr, (verb, path, call, error, ran.stderr[-500:])
        assert ran.returncode in (0, 1, 3), (verb, path, call, error, ran.stderr[-500:])
        assert ran.returncode == 0 or (ran.stdout + ran.stderr).strip(), (verb, path, call, error)


def test_a_library_that_cannot_be_opened_ends_in_a_sentence(folder: Path) -> None:
    root, log = folder.with_name("state"), folder.with_name("log")
    traced(["-o", str(log), "-e", "trace=openat"], root, "checkpoint more --wu WU-100")
    loaded = [
        line for line in log.read_text().splitlines() if "sqlite3" in line and ".so" in line and " = -1" not in line
    ]
    libraries = dict.fromkeys(re.findall(r'"([^"]*)"', "\n".join(loaded)))
    assert libraries
    for library in libraries:
        refused = ["-o", os.devnull, "-P", library, "-e", "inject=openat:error=EMFILE"]
        ran = traced(refused, root, "checkpoint more --wu WU-100")
        assert "Traceback" not in ran.stderr, ran.stderr
        assert (ran.returncode, "ulimit -n" in ran.stderr) == (1, True), ran.stderr
