"""A secret in the words of any verb stands in no file of the state folder, nor in what an engine makes of them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from lumen_program import lumen

REPO = Path(__file__).resolve().parents[3]
KEYS = {
    "github-pat": "gh" + "p_" + "a1B2c3D4e5" * 3 + "F6g7H8",
    "stripe-secret-key": "sk" + "_live_" + "Zx9Yw8Vu7Ts6Rq5P",
    "aws-secret-access-key": "aws_secret_access_key = " + "wJ4r/Xu2" * 5,
    "azure-account-key": "AccountKey=" + "Qm7Z+p3k" * 10 + "aB1cD2==",
    "password": "password=" + "hunter2hunter2",
    "private-key-body": "MII" + "Ev9k+3Qz" * 8,
}
VALUES = {
    rule: key.rpartition(" ")[2].removeprefix("AccountKey=").removeprefix("password=") for rule, key in KEYS.items()
}
WORDS = "; ".join(KEYS.values())


class Shell:
    """The program on one state folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environ = {**os.environ, "LUMEN_STATE": str(root), "LUMEN_OPERATOR": "ana", "PYTHONPATH": str(REPO)}
        self.environ.pop("CLAUDECODE", None)
        self("init")

    def __call__(self, *words: str, stdin: str = "", code: int = 0, **environ: str) -> tuple[str, str]:
        """What it says on stdout and on stderr."""
        done = lumen([*words], env={**self.environ, **environ}, cwd=self.root.parent, stdin=stdin)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done.stdout, done.stderr

    def leaks(self) -> list[str]:
        """The files that hold one of the values. Nothing may be at work there: its unfinished files come and go."""
        files = [path for path in sorted(self.root.rglob("*")) if path.is_file() and not path.is_symlink()]
        contents = {path.relative_to(self.root): path.read_bytes() for path in files}
        return [
            f"{path}: {rule}"
            for path, content in contents.items()
            for rule, value in VALUES.items()
            if value.encode() in content or json.dumps(value)[1:-1].encode() in content
        ]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "state")


def role(text: str) -> str:
    return f'+++\npurpose = "Keeps {KEYS["github-pat"]}."\ntier = "haiku"\ntools = ["read_file"]\n+++\n\n{text}\n'


def say_it_everywhere(shell: Shell, *more: str) -> list[str]:
    """The words through every verb that writes words; what each said on stderr."""
    shell("wu", "new", "A unit", "--id", "WU-001")
    shell("start", "--wu", "WU-001")
    said = [
        shell(*words, *more)[1]
        for words in (
            ("signal", WORDS), ("create", WORDS), ("create", WORDS, "--type", "note", "--key", "k1"),
            ("task", "new", WORDS, "-c", f"Never say {KEYS['password']}"), ("decide", f"Which of {WORDS}?"),
            ("archive", "insert", WORDS, "--tag", "a"), ("blocks", "append", "persona", WORDS),
            ("fact", "add", f"It is {WORDS}"), ("checkpoint", WORDS, "--progress", WORDS, "--next-steps", WORDS),
            ("handoff", "--wu", "WU-001", WORDS), ("relay", "submit", "news", WORDS, "--base", "0"),
            ("pause", "--reason", WORDS),
            ("wu", "new", f"Rotate {WORDS}", "--id", "WU-002"),
            ("kill", "--reason", WORDS),
        )
    ]  # fmt: skip
    shell("unkill")
    said.append(shell("role", "hire", "keeper", "--file", "-", *more, stdin=role(WORDS))[1])
    return said


@pytest.mark.threat("S7", "secrets in the words of every verb, in an engine's copies and in imports")
def test_no_verb_writes_a_secret_and_each_says_what_it_masked(shell: Shell) -> None:
    said = say_it_everywhere(shell)
    assert shell.leaks() == []
    for text in said[:3]:
        assert "masked 6 secrets" in text
        assert all(rule in text for rule in KEYS)
    assert all("masked " in text for text in said)
    whole = "".join(shell("inbox", "--json"))
    assert "[masked: github-pat]" in whole
    assert "[masked: password]" in whole


@pytest.mark.threat("S7", "secrets in the words of every verb, in an engine's copies and in imports")
def test_an_engine_copies_no_secret_on(shell: Shell) -> None:
    """Not even one that was written as it is, or by another program."""
    kept = shell("signal", WORDS, "--verbatim")[0].strip()
    line = {"id": "mem-by-hand", "type": "discovery", "content": WORDS, "created_at": "2026-01-01T00:00:00Z"}
    with (shell.root / "memory" / "memory.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    task = shell("task", "new", f"What are the 5 largest files in /etc? {WORDS}")[0].strip()
    said = [shell("--engine-only", "--once")]
    while json.loads(shell("task", "show", task, "--json")[0])["status"] not in {"completed", "failed"}:
        said.append(shell("--engine-only", "--once"))  # it leaves its worker working
    assert {leak.partition(":")[0] for leak in shell.leaks()} == {"memory/memory.jsonl", "memory/signals.jsonl"}
    assert not [value for value in VALUES.values() if value in str(said)]
    assert kept


def test_the_operator_can_have_it_written_as_it_is_and_it_stays_so(shell: Shell) -> None:
    stdout, stderr = shell("create", WORDS, "--verbatim")
    assert "masked" not in stderr
    node = stdout.strip()
    shell("pin", node)
    shell("archive", node, "--reason", "old")
    assert KEYS["github-pat"] in shell("export")[0]
    assert {leak.partition(":")[0] for leak in shell.leaks()} == {"memory/memory.jsonl"}
    before = shell.leaks()
    shell("signal", "x", "--verbatim", CLAUDECODE="1", code=2)
    assert shell.leaks() == before


@pytest.mark.threat("S7", "secrets in the words of every verb, in an engine's copies and in imports")
def test_an_import_masks_counts_and_changes_nothing_the_second_time(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "other" / ".lumenflow" / "memory"
    folder.mkdir(parents=True)
    rows = [
        {
            "id": f"mem-{number}",
            "type": "note",
            "lifecycle": "wu",
            "content": WORDS,
            "created_at": "2026-01-01T00:00:00Z",
        }
        for number in range(3)
    ]
    rows[1]["verbatim"] = True  # it cannot say so of itself
    hidden = json.dumps(rows[2]).replace("ghp", "\\u0067hp")
    (folder / "memory.jsonl").write_text("\n".join([*map(json.dumps, rows[:2]), hidden]) + "\n")
    stdout, stderr = shell("import", "lumenflow", str(tmp_path / "other"))
    assert "3 added" in stdout
    assert "masked 6 secrets" in stderr
    assert shell.leaks() == []
    again = json.loads(shell("import", "lumenflow", str(tmp_path / "other"), "--json")[0])
    assert again["added"] == 0
    assert len(again["masked"]) == len(KEYS)
