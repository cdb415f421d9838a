"""The cost of the sandbox: one command that does nothing, without a sandbox and in each tier; and the self-test."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.table import Row, share
from lumen_tui.model.config import SandboxConfig
from lumen_tui.model.roles import ALL_TOOLS, Limits, Role
from lumen_tui.model.tasks import Spec
from lumen_tui.storage.store import Store
from lumen_tui.tools.base import ApprovalReply, Context
from lumen_tui.tools.sandbox import sandboxed_command, tiers
from lumen_tui.tools.toolbox import Toolbox

_RUNS = 30


def measure(folder: Path) -> Iterator[Row]:
    """Yield the rows of this part."""
    store = Store(folder / "sandbox")
    store.layout.create()
    began = time.perf_counter()
    results = tiers.test_all(store.layout.index, os.environ["PATH"], SandboxConfig())
    yield Row("", "self-test of both sandbox tiers", 1000 * (time.perf_counter() - began))
    bare = share([_bare() for _ in range(_RUNS)], 50)
    for number, tier in enumerate(sandboxed_command.TIERS):
        label = f"a shell call, sandbox tier {tier}, p50"
        if tier != sandboxed_command.ASK and not results.holds(tier):
            yield Row("", label, skipped=results.reason(tier))
            continue
        box = _box(store, f"tsk-{number}", tier)
        yield Row(
            "", label, share([_call(box, run) for run in range(_RUNS)], 50), other_name="the command alone", other=bare
        )


def _bare() -> float:
    began = time.perf_counter()
    subprocess.run(["/bin/sh", "-c", "true"], check=True)
    return 1000 * (time.perf_counter() - began)


def _call(box: Toolbox, run: int) -> float:
    """Time one call in ms; each differs a little, because identical repeated calls are stopped."""
    began = time.perf_counter()
    result = box.call("shell", {"command": f"true {run}"})
    assert result.ok, result.text
    return 1000 * (time.perf_counter() - began)


def _box(store: Store, task_id: str, tier: str) -> Toolbox:
    store.layout.config.write_text(f'[sandbox]\ntier = "{tier}"\n')
    folder = store.layout.task(task_id)
    folder.mkdir(mode=0o700)
    limits = Limits(max_steps=1000)
    role = Role(name="bench", purpose="p", tools=ALL_TOOLS, shell="any", write=True, limits=limits)
    spec = Spec(id=task_id, objective="o")
    context = Context(
        role=role, spec=spec, store=store, folder=folder, now=time.time, monotonic=time.monotonic,
        environ={"PATH": os.environ["PATH"], "HOME": str(Path.home())}, ask=lambda request: ApprovalReply(allowed=True),
    )  # fmt: skip
    return Toolbox(role, spec, context)
