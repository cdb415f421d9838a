"""Shells that give commands, are killed in the middle of half of them, and ask for the same again under the same key.

In the end each text stands in the folder exactly once, whether or not the first command that said so was killed.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lumen_tui.storage.layout import Layout

# What is written, each with how often; the text comes behind it.
WRITES = {
    "signal": 6, "create": 4, "fact add --no-suggest": 2, "archive insert": 2, "wu new": 1, "checkpoint --wu WU-900": 2,
}  # fmt: skip
# What reads, rewrites and mends beside that; one that was killed is not asked for again.
OTHERS = {
    "inbox": 3, "status": 2, "ready --wu WU-900": 2, "search more": 1, "task list": 1, "events": 1, "doctor": 1,
    "doctor --fix": 2, "signal cleanup --ttl 60s": 2, "cleanup": 1, "decay": 1,
}  # fmt: skip
KILLED, SHARE = 0.5, 0.25  # of the commands, and of those which only read, rewrite or mend
FINE = (0, 1, 3)  # exit codes of commands that are not asked for again
_TOKEN = re.compile(rb"\b(7777\d-\d+)\b")
JOB = "Job #{}: what are the 5 largest files in /usr/lib?"


def token(writer: int, number: int) -> str:
    """A text that stands nowhere else; typed into a room that has no form open, it only goes from pane to pane."""
    return f"{77770 + writer}-{number}"


class Shell(threading.Thread):
    """One of them."""

    def __init__(self, number: int, root: Path, seed: int) -> None:
        super().__init__(daemon=True)
        self.number, self.root = number, root
        self.random = random.Random(seed)  # noqa: S311
        self.over = threading.Event()
        self.said: list[str] = []  # the texts of commands that were acknowledged at last
        self.jobs: dict[str, str] = {}  # a number that stands in the objective -> the task
        self.ran: Counter[str] = Counter()
        self.kills = 0
        self.faults: list[str] = []
        self._takes = 0.3  # seconds that a command takes, as seen so far

    def run(self) -> None:
        while not self.over.is_set():
            self._one()
            time.sleep(self.random.uniform(0, 0.4))

    def _one(self) -> None:
        if self.random.random() < SHARE:
            self._try(self._drawn(OTHERS).split(), FINE)
        elif self.random.random() < 0.04:
            self._give_a_task()
        else:
            text = token(self.number, len(self.said))
            if self._insist([*self._drawn(WRITES).split(), f"{text} and no more", "--key", text]):
                self.said.append(text)

    def _give_a_task(self) -> None:
        job = f"{self.number}{len(self.jobs):05}"
        if task_id := self._insist(["task", "new", JOB.format(job), "--key", f"job-{job}"]):
            self.jobs[job] = task_id.split()[-1]

    def _drawn(self, words: dict[str, int]) -> str:
        return self.random.choices(list(words), list(words.values()))[0]

    def _insist(self, words: list[str]) -> str:
        """Give a command until it is acknowledged; return what it prints."""
        while True:
            code, printed = self._try(words, (0,))
            if code >= 0:
                return printed if code == 0 else ""

    def _try(self, words: list[str], fine: tuple[int, ...]) -> tuple[int, str]:
        """Give a command and kill it or not; return its exit code, negative where it was killed, and what it prints."""
        began = time.monotonic()
        command = subprocess.Popen(
            [sys.executable, "-m", "lumen_tui", "--state", str(self.root), *words], text=True, env=self._environment(),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.root.parent,
        )  # fmt: skip
        if self.random.random() < KILLED:
            time.sleep(self.random.uniform(0, self._takes * 1.2))
            command.kill()
        printed, errors = command.communicate()
        code = command.returncode
        self.ran[words[0]] += 1
        if code < 0:
            self.kills += 1
            return code, ""
        self._takes += (time.monotonic() - began - self._takes) / 20
        if code not in fine or "Traceback" in errors:
            self.faults.append(f"{' '.join(words)}: exit code {code}: {errors[-400:]}")
        return code, printed

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "LUMEN_OPERATOR": f"shell{self.number}"}


class Shells:
    """All of them."""

    def __init__(self, count: int, root: Path, seed: int) -> None:
        self.layout = Layout(root)
        self.shells = [Shell(number, root, seed + number) for number in range(count)]

    def start(self) -> None:
        for shell in self.shells:
            shell.start()

    def end(self) -> None:
        """Let each finish what it is at."""
        for shell in self.shells:
            shell.over.set()
        for shell in self.shells:
            shell.join()

    @property
    def jobs(self) -> dict[str, str]:
        return {job: task for shell in self.shells for job, task in shell.jobs.items()}

    @property
    def kills(self) -> int:
        return sum(shell.kills for shell in self.shells)

    @property
    def ran(self) -> Counter[str]:
        return sum((shell.ran for shell in self.shells), Counter())

    def acknowledged(self) -> list[str]:
        return [text for shell in self.shells for text in shell.said]

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Give one command that nobody kills."""
        program = [sys.executable, "-m", "lumen_tui", "--state", str(self.layout.root), *words]
        return subprocess.run(program, capture_output=True, text=True, check=False)

    def found(self) -> Counter[str]:
        """How many records have each text."""
        return Counter(text for text, _ in set(self._records()))

    def _records(self) -> Iterator[tuple[str, str]]:
        """Each text with the id of the record that has it: a change is another line, and a signal moves."""
        for path in self.layout.memory.parent.rglob("*.jsonl"):
            for line in path.read_bytes().splitlines():
                if (found := _TOKEN.search(line)) and (name := _name(line)):
                    yield found[1].decode(), name
        for path in self.layout.work.glob("*.md"):
            if found := _TOKEN.search(path.read_bytes()):
                yield found[1].decode(), path.name

    def written_faults(self, when: str) -> list[str]:
        found = self.found()
        wrong = {text: found[text] for text in self.acknowledged() if found[text] != 1}
        wrong |= {text: count for text, count in found.items() if count > 1}
        return [f"{text} is there {count} times, {when}" for text, count in wrong.items()]

    def faults(self) -> list[str]:
        """What does not hold: now, and once the doctor has mended what kills left; then it finds nothing more."""
        told = [fault for shell in self.shells for fault in shell.faults]
        told += self.written_faults("as the kills left it")
        fixed = self.command("doctor", "--fix")
        after = self.command("doctor")
        told += [f"doctor: {one.returncode} {one.stdout}{one.stderr}" for one in (fixed, after) if one.returncode]
        return told + self.written_faults("as the doctor mended it")


def _name(line: bytes) -> str:
    """The id of a record; empty for a line that a kill tore."""
    try:
        return str(json.loads(line)["id"])
    except (ValueError, KeyError, TypeError):
        return ""
