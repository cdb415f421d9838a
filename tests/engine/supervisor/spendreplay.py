"""What spend.jsonl says, read without the program's own totals."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Line = dict[str, Any]
MAIN = "main"  # the main agent's role: all its loops are one


@dataclass
class Asked:
    """A request that the server got: for which job (empty: the main agent's), and how long the ledger was then."""

    job: str
    ledger: int


@dataclass
class Replay:
    """The ledger from its first line on, by day."""

    cap: int
    held: dict[str, Line] = field(default_factory=dict)
    lost: dict[str, Line] = field(default_factory=dict)
    spent: Counter[str] = field(default_factory=Counter)
    granted: Counter[str] = field(default_factory=Counter)
    most: float = 0.0  # the largest share of the cap that was ever spent or set aside
    grants: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    ended: set[str] = field(default_factory=set)

    def take(self, line: Line) -> None:
        kind, call, day = line["kind"], line["id"], line.get("day", "")
        self.kinds[kind] += 1
        if kind == "hold":
            self.held[call] = line
        elif kind in ("settle", "release"):
            self._settle(call, line.get("tokens", 0))
        elif kind == "lost" and call in self.held:
            self.lost[call] = self.held.pop(call)
            self.spent[self.lost[call]["day"]] += self.lost[call].get("tokens", 0)
        elif kind == "spent":
            self.faults.append(f"{call} was spent without a hold")
        elif kind == "grant":
            self.granted[day] += line.get("tokens", 0)
            self.grants += 1
        self._check(call, day)

    def _settle(self, call: str, tokens: int) -> None:
        if call in self.ended:
            self.faults.append(f"{call} was settled twice")
            return
        self.ended.add(call)
        assumed = self.lost.pop(call, None)
        hold = self.held.pop(call, assumed)
        if hold is None:
            self.faults.append(f"{call} was settled without a hold")
            return
        if assumed is not None:
            self.spent[hold["day"]] -= assumed.get("tokens", 0)
        self.spent[hold["day"]] += tokens

    def _check(self, call: str, day: str) -> None:
        aside = sum(line.get("tokens", 0) for line in self.held.values() if line["day"] == day)
        used, cap = self.spent[day] + aside, self.cap + self.granted[day]
        self.most = max(self.most, used / cap)
        if used > cap:
            self.faults.append(f"{call}: {used:,} of {cap:,} tokens")


def whole_lines(data: bytes) -> Iterator[tuple[int, Line]]:
    """Each line that can be read, with the offset of its end; what a kill tore is no record."""
    place = 0
    for raw in data.splitlines(keepends=True):
        place += len(raw)
        try:
            found = json.loads(raw)
        except ValueError:
            continue
        if raw.endswith(b"\n"):
            yield place, found


def replay(path: Path, cap: int) -> Replay:
    """The whole ledger."""
    found = Replay(cap)
    for _, line in whole_lines(path.read_bytes() if path.exists() else b""):
        found.take(line)
    return found


def unreserved(path: Path, asked: list[Asked], task_of: dict[str, str]) -> list[str]:
    """The requests for which no open hold of their task stood in the ledger when they came; a hold is good for one."""
    ledger = list(whole_lines(path.read_bytes() if path.exists() else b""))
    free: defaultdict[str, list[str]] = defaultdict(list)  # by task: holds that are open and were not used yet
    faults, place = [], 0
    for number, one in enumerate(sorted(asked, key=lambda one: one.ledger)):
        while place < len(ledger) and ledger[place][0] <= one.ledger:
            _follow(free, ledger[place][1])
            place += 1
        task = task_of.get(one.job, one.job) if one.job else MAIN
        if free[task]:
            free[task].pop()
        else:
            faults.append(f"request {number} of {task}: no hold stood before it")
    return faults


def _follow(free: defaultdict[str, list[str]], line: Line) -> None:
    if line["kind"] == "hold":
        free[MAIN if line["role"] == MAIN else line["task"]].append(line["id"])
    elif line["kind"] in ("settle", "release"):
        for calls in free.values():
            if line["id"] in calls:
                calls.remove(line["id"])
