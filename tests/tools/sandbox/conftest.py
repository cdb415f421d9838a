"""A machine to attack: files outside, secrets at home, a repository, sockets, and another process that lives."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lumen_machine
import lumen_sweeps
import msgspec
import pytest

from lumen_tui.model.config import SandboxConfig
from lumen_tui.model.roles import ALL_TOOLS, REQUEST_HOST, Limits, Role
from lumen_tui.model.tasks import Spec
from lumen_tui.storage.store import Store
from lumen_tui.tools.base import ApprovalReply, ApprovalRequest, Context, ToolResult
from lumen_tui.tools.policy.fence import redactor
from lumen_tui.tools.sandbox import tiers
from lumen_tui.tools.toolbox import Toolbox

sys.path.append(str(Path(__file__).resolve().parent))

SECRET = "SECRET-CANARY-4711"
PYTHON = f"{sys.executable} -I -S -c"
CONTROL = ("lumen.toml", "operator.toml", "engine.lock", "commands.jsonl", "command-receipts.jsonl", "actions.jsonl",
           "approvals/apr-1.json", "roles/helper.md", "evolved/constitution.md", "personnel.jsonl")  # fmt: skip


@dataclass
class Machine:
    """Where things stand, and what an attacked machine must still look like."""

    top: Path
    tier: str
    store: Store
    victim: subprocess.Popen[bytes]
    values: dict[str, Any]
    sockets: list[socket.socket] = field(default_factory=list)
    asked: list[ApprovalRequest] = field(default_factory=list)
    answer: ApprovalReply = field(default_factory=lambda: ApprovalReply(allowed=False, reason="no"))

    @property
    def files(self) -> Path:
        return self.store.layout.task("tsk-a") / "files"

    def box(self, **role: Any) -> Toolbox:
        given = {"shell": "any", "write": True, "limits": Limits(), **role}
        spec = Spec(id="tsk-a", objective="o", roots=given.pop("roots", ()), constraints=given.pop("constraints", ()))
        tools = given.pop("tools", tuple(tool for tool in ALL_TOOLS if tool != REQUEST_HOST))
        who = Role(name="builder", purpose="p", tools=tools, **given)
        env = {"PATH": os.environ["PATH"], "HOME": str(self.top / "home")}
        context = Context(
            role=who, spec=spec, store=self.store, folder=self.store.layout.task("tsk-a"), now=time.time,
            monotonic=time.monotonic, redact=redactor(env), environ=env, ask=self._ask,
        )  # fmt: skip
        return Toolbox(who, spec, context)

    def _ask(self, request: ApprovalRequest) -> ApprovalReply:
        self.asked.append(request)
        return self.answer

    def run(self, script: str, *, cwd: str = "", seconds: float = 60, **role: Any) -> ToolResult:
        for name, value in self.values.items():
            script = script.replace(f"@{name}@", str(value))
        return self.box(**role).call("shell", {"command": script, "cwd": cwd, "timeout": seconds})

    def settings(self, **more: object) -> None:
        wanted = {"tier": self.tier, "writable": [f"{self.top}/project"], **more}
        lines = [
            f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}" for key, value in wanted.items()
        ]
        self.store.layout.config.write_text(f"# {SECRET}\n[sandbox]\n" + "\n".join(lines) + "\n")

    def kept(self) -> dict[str, bytes]:
        """Everything that no attack may change."""
        state = self.store.root
        skip = (self.files, state / "index")
        roots = [self.top / "outside", self.top / "home", state, self.top / "project" / ".git"]
        found = {}
        for root in roots:
            for path in sorted(root.rglob("*")):
                if path.is_file() and not any(path.is_relative_to(one) for one in skip):
                    found[str(path)] = path.read_bytes()
        return found

    def with_rights_of_their_owner(self) -> list[str]:
        """Programs that run as somebody else than who starts them, where commands may write."""
        found = [path for top in (self.top / "project", self.files) for path in top.rglob("*") if not path.is_dir()]
        return [str(path) for path in found if path.lstat().st_mode & 0o6000]

    def reached(self) -> list[str]:
        """The names of services here that somebody connected or wrote to."""
        found = []
        for one in self.sockets:
            try:
                one.accept() if one.type == socket.SOCK_STREAM else one.recv(9)
            except BlockingIOError:
                continue
            found.append(str(one.getsockname()))
        return found

    def survivors(self, mark: str) -> list[str]:
        """Living processes with `mark` in their command line that are not ours."""
        found = []
        for line in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if mark in line.read_text(errors="replace") and int(line.parent.name) != os.getpid():
                    found.append(line.parent.name)
            except OSError:
                continue
        return found


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> tiers.SelfTestResults:
    """What the self-test says of this machine, once for all tests."""
    return tiers.test_all(tmp_path_factory.mktemp("index"), os.environ["PATH"], SandboxConfig())


@functools.cache
def _empty_repository(beside: Path) -> Path:
    """Made once among the folders of the tests of this process, to be copied."""
    made, template = beside / "empty-repository", beside / "template-of-repositories"
    for name in ("hooks", "info"):  # without git's fourteen samples
        (template / name).mkdir(parents=True)
    quiet = {"PATH": os.environ["PATH"], "HOME": str(beside)}
    subprocess.run(["git", "init", "-q", f"--template={template}", str(made)], check=True, env=quiet)
    return made


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _furnish(top: Path, store: Store) -> None:
    _put(top / "outside" / "file", f"{SECRET} readable, not writable\n")
    for name in (".ssh/id_rsa", ".aws/credentials", ".config/gh/hosts.yml", ".netrc", ".git-credentials",
                 ".local/share/keyrings/login.keyring", ".docker/config.json"):  # fmt: skip
        _put(top / "home" / name, f"{SECRET}\n")
    for name in CONTROL:
        _put(store.root / name, f"# {SECRET}\n" if name.endswith(".toml") else f"{SECRET}\n")
    _put(top / "project" / ".env", f"TOKEN={SECRET}\n")
    _put(top / "project" / "src" / "main.c", "int main;\n")
    shutil.copytree(_empty_repository(top.parent), top / "project", symlinks=True, dirs_exist_ok=True)
    for name in ("spec.json", "run.json", "events.jsonl"):
        _put(store.layout.task("tsk-a") / name, "{}\n")


def _listen(family: int, address: Any, kind: int = socket.SOCK_STREAM) -> socket.socket:
    one = socket.socket(family, kind)
    one.bind(address)
    if kind == socket.SOCK_STREAM:
        one.listen()
    one.setblocking(False)
    return one


def _listen_as_most_do(folder: Path, name: str, kind: int) -> socket.socket:
    """Under a name that counts from the folder it was started in: no table of the kernel tells where it stands."""
    fd = os.open(folder, os.O_PATH)
    try:
        return _listen(socket.AF_UNIX, f"/proc/self/fd/{fd}/{name}", kind)
    finally:
        os.close(fd)


@pytest.fixture(params=lumen_machine.TIERS)
def machine(request: pytest.FixtureRequest, tmp_path: Path, results: tiers.SelfTestResults) -> Iterator[Machine]:
    tier = request.param
    if tier == lumen_machine.DRAWN:
        holding = [tier for tier in lumen_machine.TIERS if results.holds(tier)]
        tier = lumen_sweeps.drawn(holding or lumen_machine.TIERS, request.node.name)
    if not results.holds(tier):
        pytest.skip(f"{tier}: {results.reason(tier)}")
    yield from make_machine(tmp_path, tier, results)


@pytest.fixture
def unwalled(tmp_path: Path, results: tiers.SelfTestResults) -> Iterator[Machine]:
    """A machine where every command asks."""
    yield from make_machine(tmp_path, "ask", results)


def make_machine(tmp_path: Path, tier: str, results: tiers.SelfTestResults) -> Iterator[Machine]:
    store = Store(tmp_path / "state")
    store.layout.create()
    (store.layout.tasks / "tsk-a").mkdir()
    _furnish(tmp_path, store)
    (store.layout.index / tiers.RESULTS).write_bytes(msgspec.json.encode(results))
    victim = subprocess.Popen(["sleep", "600"], env={"KEY": SECRET}, start_new_session=True)
    abstract = f"lumen-test-{os.getpid()}-{tmp_path.name}"
    sock = tmp_path / "outside" / "docker.sock"
    open_ones = [_listen(socket.AF_UNIX, str(sock)), _listen(socket.AF_UNIX, "\0" + abstract),
                 _listen(socket.AF_INET, ("127.0.0.1", 0)),
                 _listen_as_most_do(tmp_path / "project", "app.sock", socket.SOCK_STREAM),
                 _listen_as_most_do(tmp_path / "project", "log.sock", socket.SOCK_DGRAM)]  # fmt: skip
    values = {
        "outside": tmp_path / "outside", "home": tmp_path / "home", "state": store.root, "pid": victim.pid,
        "project": tmp_path / "project", "task": store.layout.task("tsk-a"), "py": PYTHON, "sock": sock,
        "abstract": abstract, "tcp": open_ones[2].getsockname()[1], "worker": os.getpid(),
        "secret": SECRET,
    }  # fmt: skip
    made = Machine(tmp_path, tier, store, victim, values, open_ones)
    made.settings()
    yield made
    for one in open_ones:
        one.close()
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait()
