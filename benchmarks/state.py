"""State folders of any size, with the same content for the same numbers; a million lines take about a second."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from lumen_tui.storage.layout import Layout

LANES = ("Core", "UI", "Docs", "Ops")
NEWEST = "newest of all signals"  # is on screen once the signals pane shows real content
_BLOCK = 20_000


def _stamps(count: int, span: float, newest: float) -> list[str]:
    """Return `count` timestamps in order, the last one `newest`, over `span` seconds; a thousand of them differ."""
    steps = min(count, 1000)
    stamps = []
    for step in range(steps):
        at = newest - span * (1 - (step + 1) / steps)
        stamps.append(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)))
    return [stamps[number * steps // count] for number in range(count)]


def signal_lines(count: int, newest: float) -> Iterator[str]:
    """Yield the lines of signals of four lanes; one in five hundred is urgent."""
    for number, at in enumerate(_stamps(count, 30 * 86400, newest)):
        message = NEWEST if number == count - 1 else f"step {number} is done, {number % 97} tests are left"
        priority = ',"priority":"P0"' if number % 500 == 7 else ""
        yield (
            f'{{"id":"sig-{number:013d}","message":"{message}","created_at":"{at}","sender":"agent-{number % 7}",'
            f'"wu_id":"WU-{number % 400:03d}","lane":"{LANES[number % 4]}"{priority}}}\n'
        )


def node_lines(count: int, newest: float) -> Iterator[str]:
    """Yield the lines of nodes of the last 90 days; one in ten is a discovery, and one in ten of those is open."""
    for number, at in enumerate(_stamps(count, 90 * 86400, newest)):
        discovery = number % 10 == 3
        kind = "discovery" if discovery else ("note", "checkpoint", "summary", "session")[number % 4]
        status = "open" if number % 100 == 3 else "archived"
        metadata = f',"metadata":{{"priority":"P{number % 4}","status":"{status}"}}' if discovery else ""
        yield (
            f'{{"id":"mem-{number:013d}","type":"{kind}","content":"Node {number} on module {number % 211}",'
            f'"created_at":"{at}","lifecycle":"wu","wu_id":"WU-{number % 400:03d}"{metadata}}}\n'
        )


def open_discoveries(nodes: int) -> int:
    """Return how many open discoveries are among so many nodes of `node_lines`."""
    return len(range(3, nodes, 100))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write a journal in large blocks."""
    with open(path, "w", encoding="utf-8") as file:
        block: list[str] = []
        for text in lines:
            block.append(text)
            if len(block) == _BLOCK:
                file.write("".join(block))
                block.clear()
        file.write("".join(block))
    path.chmod(0o600)


def make_state(root: Path, *, nodes: int, signals: int, newest: float) -> Layout:
    """Create a state folder with so many nodes and signals, whose engine sleeps for an hour between beats."""
    layout = Layout(root)
    layout.create()
    write_lines(layout.memory, node_lines(nodes, newest))
    write_lines(layout.signals, signal_lines(signals, newest))
    layout.config.write_text('[heartbeat]\nevery_minutes = 60.0\n[room]\non_quit = "stop"\n', encoding="utf-8")
    layout.config.chmod(0o600)
    return layout
