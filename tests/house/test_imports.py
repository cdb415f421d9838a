"""The engine does not know that it is watched, and no front end but the room pays for Textual."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import lumen_tui
from lumen_tui.engine.supervisor import zygote
from lumen_tui.model import requests as model_requests
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store

HEAVY = ("textual", "rich", "anthropic", "openai")

PROBE = """
import importlib, pkgutil, sys
for name in sys.argv[2:]:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
print(*[name for name in sys.argv[1].split(",") if name in sys.modules])
"""


def loaded_by(*packages: str) -> str:
    """Which of HEAVY a fresh interpreter holds after importing the packages with all their modules."""
    command = [sys.executable, "-c", PROBE, ",".join(HEAVY), *packages]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


BELOW_THE_ROOM = [
    path.parent.name for path in Path(lumen_tui.__path__[0]).glob("*/__init__.py") if path.parent.name != "tui"
]


@pytest.mark.parametrize("package", sorted(BELOW_THE_ROOM))
def test_no_front_end_library_and_no_vendor_sdk(package: str) -> None:
    assert loaded_by(f"lumen_tui.{package}") == ""


def test_the_probe_sees_what_is_loaded() -> None:
    assert "textual" in loaded_by("lumen_tui.tui.screens")


def test_the_stamp_of_a_zygotes_code_covers_all_that_a_worker_loads(sources: list) -> None:
    """Also what it imports inside functions: a zygote of older code is dropped for a newer one."""
    loaded = {
        parts[1]
        for source in sources
        if Path(source.name).parts[1] in zygote.PACKAGES
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ImportFrom)
        and (parts := (node.module or "").split("."))[0] == "lumen_tui"
        and parts[1:]
    }
    assert {"worker", "storage"} <= loaded
    assert loaded <= set(zygote.PACKAGES)


BIG = (
    "asyncio", "dataclasses", "hashlib", "http", "json", "multiprocessing", "random", "selectors", "shutil", "socket",
    "sqlite3", "subprocess", "tempfile", "threading", "tomllib", "rapidfuzz", "lumen_tui.model.snapshot",
    "lumen_tui.model.config", "lumen_tui.model.evolution", "lumen_tui.queries.snapshot_reader", *HEAVY,
)  # fmt: skip
READERS: dict[tuple[str, ...], set[str]] = {  # what is asked again and again, and what of these it has a use for
    ("status",): {
        "tomllib", "random", "lumen_tui.model.snapshot", "lumen_tui.model.config", "lumen_tui.queries.snapshot_reader",
    },
    ("why", "mem-0001"): {"tomllib", "sqlite3", "lumen_tui.model.evolution"},
    ("triage",): set(),
    ("recall", "port"): {"json", "sqlite3", "threading"},
    ("decay", "--dry-run"): {"tomllib", "lumen_tui.model.config"},
}  # fmt: skip
AFTER = """
import sys
from lumen_tui.engine import near_doubles
from lumen_tui.storage import kept
kept.KeptIndex.LEAST = near_doubles.LEAST = 1  # as over a long history
from lumen_tui.__main__ import main
code = main(sys.argv[2:])
print(*[name for name in sys.argv[1].split(",") if name in sys.modules], file=sys.stderr)
sys.exit(code not in (0, 3))
"""


@pytest.mark.parametrize("words", READERS, ids=lambda words: words[0])
def test_a_command_that_reads_loads_only_what_it_has_a_use_for(words: tuple[str, ...], tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    layout.create()
    layout.config.write_text("[heartbeat]\nevery_minutes = 60.0\n")
    node = {"id": "mem-0001", "type": "discovery", "content": "port 8080", "created_at": "2026-09-01T00:00:00Z"}
    Store(layout.root).nodes.append_all([node, {**node, "id": "mem-0002"}])
    command = [sys.executable, "-c", AFTER, ",".join(BIG), "--state", str(layout.root), *words]
    subprocess.run(command, capture_output=True, timeout=60)  # keeps what is counted
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert set(done.stderr.splitlines()[-1].split()) <= READERS[words]


# What takes a command a millisecond and more to load, and what few commands have a use for. A package stands for all
# that is below it.
COSTLY = (
    "ast", "asyncio", "cryptography", "dataclasses", "email", "gettext", "hashlib", "inspect", "json", "locale",
    "msgspec._json_schema", "msgspec.inspect", "random", "rapidfuzz", "shutil", "signal", "socket", "sqlite3", "ssl",
    "subprocess", "tempfile", "textwrap", "threading", "tomllib", "typing_extensions", "urllib.parse",
    "lumen_tui.actions.fact_readings", "lumen_tui.actions.facts", "lumen_tui.actions.promotion",
    "lumen_tui.cli.lumenflow.mem", "lumen_tui.engine.evolution", "lumen_tui.engine.supervisor",
    "lumen_tui.model.asks", "lumen_tui.model.attention", "lumen_tui.model.config", "lumen_tui.model.evolution",
    "lumen_tui.model.mail", "lumen_tui.model.snapshot", "lumen_tui.model.spendreport", "lumen_tui.model.trials",
    "lumen_tui.providers", "lumen_tui.queries.documents", "lumen_tui.queries.happenings", "lumen_tui.queries.search",
    "lumen_tui.queries.snapshot_reader", "lumen_tui.store.evolution.champions", "lumen_tui.store.settings.loading",
    "lumen_tui.tools.sandbox", "lumen_tui.tools.sandbox.sandboxed_command", "lumen_tui.tools.toolbox",
    "lumen_tui.worker", *HEAVY,
)  # fmt: skip
SETTINGS = {"tomllib", "lumen_tui.model.config", "lumen_tui.store.settings.loading"}
LEARNING = {"lumen_tui.model.evolution", "lumen_tui.model.trials", "lumen_tui.store.evolution.champions"}
PICTURE = {  # of the room, or of a part of it
    *SETTINGS, "lumen_tui.model.attention", "lumen_tui.model.snapshot", "lumen_tui.queries.snapshot_reader",
}  # fmt: skip
ANSWERS: dict[str, set[str]] = {  # a command, and which of these its answer takes
    "approvals list": set(),
    "at yesterday --diff": {*SETTINGS, "lumen_tui.model.attention", "lumen_tui.model.snapshot"},
    "attention aside tsk-x": PICTURE,
    "attention list": PICTURE,
    "attention snooze tsk-x": PICTURE,
    "archive mem-x": {"rapidfuzz"},
    "archive list": set(),
    "blocks list": set(),
    "changes list": {"lumen_tui.tools.sandbox"},
    "evolve --session none": {"lumen_tui.model.evolution"},
    "evolve sleep": {"lumen_tui.engine.evolution", *LEARNING, "signal"},
    "evolve cases --collect": {"lumen_tui.engine.evolution", "lumen_tui.model.evolution"},
    "fact list": set(),
    "fact suggest nothing": set(),
    "fork tsk-x --at 1": set(),
    "health --ready": {*PICTURE, "random", "lumen_tui.providers"},
    "hosts add attic": {"lumen_tui.model.asks", "lumen_tui.model.config", "signal", "socket"},
    "mail log": {"lumen_tui.model.mail", "threading"},
    "mail test": {*SETTINGS, "lumen_tui.model.mail"},
    "operator here": set(),
    "prompt show researcher --task tsk-x": {"tomllib"},
    "relay list": set(),
    "role fire builder": {*SETTINGS, "sqlite3"},
    "role list": {"tomllib"},
    "search port": {"lumen_tui.queries.search", "sqlite3", "threading", "tomllib"},
    "session list": set(),
    "skills show none": {*SETTINGS, "json", *LEARNING, "lumen_tui.tools.sandbox", "signal"},
    "status": {*PICTURE, "random", "lumen_tui.providers", "lumen_tui.queries.documents"},
    "status -q": PICTURE,
    "task cancel tsk-x": set(),
    "task log tsk-x": set(),
    "task new hello": SETTINGS,
    "undo": set(),
    "wu list": set(),
}
LOADED = """
import sys
from lumen_tui.__main__ import main
main(sys.argv[2:])
costly = sys.argv[1].split(",")
print(*[name for name in costly if any(f"{loaded}.".startswith(f"{name}.") for loaded in sys.modules)], file=sys.stderr)
"""


@pytest.mark.parametrize("words", ANSWERS)
def test_a_command_loads_what_its_answer_takes_and_no_more(words: str, tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    layout.create()
    layout.config.write_text("[heartbeat]\nevery_minutes = 60.0\n")
    Store(layout.root).nodes.append({"id": "mem-0001", "type": "note", "content": "port", "created_at": "2026-09-01"})
    command = [sys.executable, "-c", LOADED, ",".join(COSTLY), "--state", str(layout.root), *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr, done.stderr
    assert set(done.stderr.splitlines()[-1].split()) <= ANSWERS[words]


def test_a_child_that_makes_probes_of_facts_loads_nothing_of_tasks() -> None:
    names = ("json", "lumen_tui.store.settings.roles", "lumen_tui.store.tasks.task_files", "lumen_tui.model.agent")
    probe = f"import sys, lumen_tui.tools.probes.__main__; print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


# What the parser asks for the types of, and what nearly every command decodes.
TYPED = (
    "archive", "constitution", "facts", "records", "roles", "schedule_runs", "schedules", "schema", "spendbook",
    "tasks", "work",
)  # fmt: skip


def test_types_that_every_command_asks_for_are_no_texts() -> None:
    """msgspec compiles each that is one, which takes 10 µs: 3 ms of a picture of the room."""
    requests = [f"requests.{module.name}" for module in pkgutil.iter_modules(model_requests.__path__)]
    texts = [
        f"{module}.{record.__name__}.{name}"
        for module in (*TYPED, *requests)
        for record in vars(importlib.import_module(f"lumen_tui.model.{module}")).values()
        if isinstance(record, type) and issubclass(record, msgspec.Struct) and record.__module__.endswith(module)
        for name, kind in vars(record).get("__annotations__", {}).items()
        if isinstance(kind, str) and record.__name__ != "DeclaredField"
    ]
    assert texts == []


BORN = """
import sys
from pathlib import Path
from lumen_tui.worker import zygote
zygote.load_program("offline")
from lumen_tui.storage.layout import Layout
from lumen_tui.store.settings.config import load_config
before = set(sys.modules)
load_config(Layout(Path(sys.argv[1])))
print(*set(sys.modules) - before)
"""


def test_a_worker_is_born_with_what_it_reads_settings_by(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "state")
    layout.create()
    layout.config.write_text("[heartbeat]\nevery_minutes = 60.0\n")
    done = subprocess.run([sys.executable, "-c", BORN, str(layout.root)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


def test_a_worker_without_servers_loads_nothing_for_them() -> None:
    probe = "import sys, lumen_tui.worker.task; print([name for name in sys.modules if '.tools.mcp.' in name])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
