"""Make the recordings anew from the real program: `python tests/providers/claude_code/record.py /path/to/claude`.

Each is a task of a worker on the local API server, with this file standing in for the program and noting what goes
over its pipes. What differs from run to run, or is long and not looked at, is taken out.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DROPPED = {
    "commands", "models", "slash_commands", "skills", "plugins", "agents", "terminal_slash_commands", "account",
    "tool_use_result", "available_output_styles", "output_styles", "memory_paths", "subagent_stats",
    "permission_denials",
}  # fmt: skip


def tee(real: str, target: str, arguments: list[str]) -> int:
    """Stand in for the program."""
    child = subprocess.Popen([real, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin and child.stdout
    lock = threading.Lock()

    def note(way: str, line: bytes) -> None:
        with lock, open(target, "a", encoding="utf-8") as log:
            log.write(json.dumps({way: json.loads(line)}) + "\n")

    def inwards() -> None:
        for line in sys.stdin.buffer:
            note("in", line)
            child.stdin.write(line)
            child.stdin.flush()
        child.stdin.close()

    threading.Thread(target=inwards, daemon=True).start()
    for line in child.stdout:
        note("out", line)
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    return child.wait()


def step_of(found: dict[str, Any], folder: str) -> Any:
    """A line of the recording; of what was sent only that it was."""
    return {"in": found["in"]["type"]} if "in" in found else cleaned(found, folder)


def cleaned(value: Any, folder: str) -> Any:
    if isinstance(value, dict):
        return {key: cleaned(inner, folder) for key, inner in value.items() if key not in DROPPED}
    if isinstance(value, list):
        return [cleaned(inner, folder) for inner in value]
    if isinstance(value, str):
        text = value.replace(folder, "/home/ann").replace(folder.replace("/", "-").replace("_", "-"), "-home-ann")
        return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "2026-03-01T07:00:00.000Z", text)
    return value


def record(real: str, name: str, script: list[Any], toml: str = "") -> None:
    sys.path[:0] = [str(HERE.parents[1] / "apiserver"), str(HERE.parents[2])]
    from lumen_apiserver import ApiServer

    from lumen_tui.storage.layout import Layout

    api = ApiServer()
    api.say(*script)
    with tempfile.TemporaryDirectory(prefix="record_") as folder:
        raw = Path(folder, "raw.jsonl")
        program = Path(folder, "claude")
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" --tee "{real}" "{raw}" "$@"\n')
        program.chmod(0o755)
        Path(folder, "notes.txt").write_text("one\ntwo\n")
        layout = Layout(Path(folder, "state"))
        layout.create()
        task = layout.task("tsk-one")
        task.mkdir()
        objective = f"read {folder}/notes.txt"
        spec = {"id": "tsk-one", "objective": objective, "role": "researcher", "model": "sonnet"}
        (task / "spec.json").write_text(json.dumps(spec))
        sandbox = f'[models]\nprovider = "claude"\ntries = 2\n[models.claude]\nprogram = "{program}"\n'
        layout.config.write_text(f'{sandbox}[sandbox]\ntier = "ask"\n{toml}')
        environ = {"PATH": os.environ["PATH"], "HOME": folder, **api.anthropic_env}
        for step in script:
            for block in step.content:
                for key, value in (block.get("input") or {}).items():
                    block["input"][key] = value.replace("FOLDER", folder)
        subprocess.run(
            [sys.executable, "-m", "lumen_tui.worker", str(task)], cwd=task, env=environ, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        steps = [step_of(json.loads(line), folder) for line in raw.read_text().splitlines()]
        text = "".join(json.dumps(step) + "\n" for step in steps)
        (HERE / f"{name}.jsonl").write_text(text)
        sys.stdout.write(f"{name}: {len(steps)} lines, {(task / 'exit.json').read_text()}\n")
    api.close()


def main(real: str) -> None:
    sys.path[:0] = [str(HERE.parents[1] / "apiserver")]
    from lumen_apiserver import fail, text, tool

    record(
        real, "whole",
        [
            tool("Read", file_path="FOLDER/notes.txt", say="I look."), tool("Read", file_path="/etc/shadow"),
            tool("mcp__lumen__list_dir", path="FOLDER"), tool("Bash", command="id"),
            tool("mcp__lumen__write_result", text="# Two lines"), text("That is all."),
        ],
    )  # fmt: skip
    record(real, "retry", [fail(529), text("Fine after all.")])
    record(real, "refused", [text("", stop="refusal")])
    record(real, "badkey", [fail(401)])
    record(real, "unknown", [fail(404)])


if __name__ == "__main__":
    if sys.argv[1] == "--tee":
        sys.exit(tee(sys.argv[2], sys.argv[3], sys.argv[4:]))
    main(sys.argv[1])
