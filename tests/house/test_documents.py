"""What the documents name is there."""

import re
import tomllib
from pathlib import Path

import msgspec

from lumen_tui.model.config import Config
from lumen_tui.storage.layout import Layout
from lumen_tui.store.approvals import acted_path, decision_path
from lumen_tui.store.memory import relays
from lumen_tui.store.memory.block_files import path_of
from lumen_tui.store.settings.toolservers import seen_file
from lumen_tui.tui.room_commands import COMMANDS


def layout_names(root: Path) -> set[str]:
    """Every path that the layout knows, below the state folder."""
    layout = Layout(Path("/state"))
    paths = [path for name, path in vars(layout).items() if isinstance(path, Path) and name != "root"]
    assert len(paths) > 20
    made = [
        layout.task("tsk-1"),
        layout.work_unit("WU-043"),
        layout.unit_checked("WU-043"),
        layout.role("name"),
        layout.retired_role("name"),
    ]
    made += [layout.prompt("name"), layout.themes / "name.toml"]
    made += [path_of(layout, "name"), relays.folder(layout), relays.path_of(layout, "name")]
    made += [layout.approval("tsk-1"), decision_path(layout, "tsk-1"), acted_path(layout, "tsk-1")]
    made += [layout.custom_tool("name"), layout.custom_tools / "name.py", seen_file(layout, "name")]
    made += [layout.pauses, layout.spend.with_name("spend-<month>.jsonl")]
    return {str(path.relative_to("/state")) for path in [*paths, *made, layout.lock("name")]}


def table_names(text: str) -> list[str]:
    """The first column of the tables: the paths in back-quotes."""
    files = text.partition("## The files")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", files, re.M)


def _shape(name: str) -> str:
    name = name.replace("<id>", "tsk-1").replace("<name>", "name")
    return name.rstrip("/")


def test_every_file_in_the_table_is_one_of_the_layout(root: Path) -> None:
    names = table_names((root / "docs" / "state-files.md").read_text(encoding="utf-8"))
    assert len(names) > 20
    known = layout_names(root)
    task_files = {
        "acts.jsonl",
        "begun.json",
        "changes",
        "claim.json",
        "collected.json",
        "copied.json",
        "tree.<attempt>.jsonl",
        "isolation.json",
        "lease.json",
        "home.json",
        "late.<attempt>.jsonl",
        "proxy.log",
        "put-back.json",
        "deposit.json",
        "sleep.json",
        "spec.json",
        "run.json",
        "run.lock",
        "events.jsonl",
        "result.md",
        "steps.jsonl",
        "network.jsonl",
        "parked.json",
        "wait.json",
        "steers.jsonl",
        "exit.json",
        "stop.json",
        "hold.json",
        "worker.log",
        "files",
        "outputs/<n>.txt",
        "outputs/<n>.png",
        "logs",
    }
    known |= {f"tasks/tsk-1/{name}" for name in task_files}
    assert [name for name in names if _shape(name) not in known] == []


def test_every_file_of_the_layout_is_in_the_table(root: Path) -> None:
    names = {_shape(name) for name in table_names((root / "docs" / "state-files.md").read_text(encoding="utf-8"))}
    assert sorted(layout_names(root) - names) == []


def _settings(table: dict, above: str = "") -> set[str]:
    found = set()
    for key, value in table.items():
        found |= _settings(value, f"{above}{key}.") if isinstance(value, dict) else {above + key}
    return found


def test_the_seed_names_every_setting_with_its_default(root: Path) -> None:
    text = (root / "state" / "lumen.toml").read_text(encoding="utf-8")
    assert not any(tomllib.loads(text).get(section) for section in ("agent", "heartbeat", "workers", "room"))
    live = re.sub(r"^# (?=[a-z_]+ = )", "", text, flags=re.M)
    table = tomllib.loads(live)
    table.pop("keys")
    assert msgspec.convert(table, Config) == Config()
    assert _settings(table) == _settings({k: v for k, v in msgspec.to_builtins(Config()).items() if k != "keys"})


def test_modules_that_the_architecture_names_are_there(root: Path) -> None:
    text = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:model|store|tools|providers|engine|worker|tui|cli|tests)/[\w/.]*)`", text)
    assert len(named) > 20
    assert [name for name in named if not (root / "lumen_tui" / name).exists() and not (root / name).exists()] == []


def test_the_architecture_names_every_folder(root: Path) -> None:
    text = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = [path.parent.relative_to(root / "lumen_tui") for path in (root / "lumen_tui").glob("*/**/__init__.py")]
    assert len(folders) > 15
    assert [str(folder) for folder in folders if f"`{folder}/" not in text] == []


def test_the_page_of_keys_names_that_of_every_command(root: Path) -> None:
    """Panes are a range there, and what goes the other way stands beside its partner."""
    keys = (root / "docs" / "keys.md").read_text(encoding="utf-8")
    left_out = re.compile(r"pane_|previous_pane|page_|day_|week_")
    named = set(re.findall(r"`([^`]+)`", keys))
    wanted = [command for command in COMMANDS if not left_out.match(command.action)]
    assert [command.action for command in wanted if command.shown_key not in named] == []


def test_links_between_documents_lead_somewhere(root: Path) -> None:
    documents = [root / "README.md", root / "AGENTS.md", root / "CHANGELOG.md", *(root / "docs").rglob("*.md")]
    broken = []
    for document in documents:
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
            if "://" not in link and not (document.parent / link).exists():
                broken.append(f"{document.relative_to(root)}: {link}")
    assert broken == []
