"""Hostile text and planted secrets that come in by every way at once, under a real engine with real workers.

What the next prompt holds of them, what is remembered, what asks, and what terminals, logs, servers, backups, phones
and exports get.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import re
import signal
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lumen_machine
import pytest
from lumen_hostile import LOOK, TOPIC, WAYS, HostileSite, left, mark
from lumen_served import Served
from lumen_terminal import Terminal

from lumen_tui.__main__ import main
from lumen_tui.model.access import Scope
from lumen_tui.model.approvals import Approval
from lumen_tui.model.text import is_safe
from lumen_tui.servers.catalogue import OPERATIONS
from lumen_tui.store import approvals
from tests.cli.test_hostile_words import ALWAYS, words_for
from tests.servers.test_mcp_stdio import Wire

# What tools return, and so what stands in their results alone.
RETURNED = ("page", "pipes", "address", "skill", "file", "output")
# Files that a person writes by hand, and their last good copy.
BY_HAND = ("lumen.toml", "index/last-good-lumen.toml", "work/WU-001.md")
_FENCED = re.compile(r"<(data|conventions|order) [^\n]*>\n.*?\n</\1>", re.DOTALL)
# Panes, their rows and zoomed lists; screens of schedules, needs, history, units, charts and keys.
_KEYS = "1zz2zz3z\r\x1b4z\r\x1b5zz6n\r\x1bC\x1b!H\x1b\x1bW\r\x1b\x1b%\x1b?\x1b"
_TAG = re.compile(r"<\W{0,3}(?:data|order|conventions)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HostileSite, Approval]]:
    """The folder in which everything came in once, and the call that a page had asked for."""
    if lumen_machine.choice().tier == "ask":
        pytest.skip("no sandbox holds here: commands and servers ask before they say anything")
    site = HostileSite(tmp_path_factory.mktemp("ways"))
    try:
        yield site, site.live()
    finally:
        site.close()


@pytest.fixture
def site(lived: tuple[HostileSite, Approval]) -> HostileSite:
    return lived[0]


def texts(request: Any) -> Iterator[tuple[str, str]]:
    """The kind of each block that the model did not write itself, with its text."""
    for message in request.messages:
        if message["role"] == "user":
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            yield from ((block["type"], block.get("text") or json.dumps(block.get("content"))) for block in blocks)


def ways_in(text: str) -> set[str]:
    return {way for way in WAYS if mark(way) in text}


# ---- prompts, memory, approvals


@pytest.mark.threat("S3", "hostile text by every way, live: prompts, memory, approvals", attempts=len(WAYS))
def test_each_way_stands_where_it_belongs_and_closes_nothing(site: HostileSite) -> None:
    asked, met = site.model.asked, set[str]()
    for request in asked:
        assert ways_in(request.system_text) == set()
        for kind, text in texts(request):
            met |= ways_in(text)
            if kind == "tool_result":
                continue
            assert all(map(is_safe, text.split("\n")))
            assert ways_in(text).isdisjoint(RETURNED)
            outside = _FENCED.sub("", text)
            assert _TAG.findall(outside) == [], outside
            # What is not between marks: a task's objective, and what the agent wrote for itself.
            assert ways_in(outside) <= {"task-schedule", "wake-state"}, outside
            orders = re.findall(r'<order from="([^"]*)"', text)
            assert set(orders) <= {"lumen.toml", "schedule signal"}, orders
    assert met == set(WAYS) - {"words"}, "each was met"


@pytest.mark.threat("S3", "hostile text by every way, live: prompts, memory, approvals")
def test_what_a_worker_keeps_after_it_read_is_not_trusted_and_nothing_is_promoted(site: HostileSite) -> None:
    kept = [node for node in _nodes(site) if node.get("created_by") == "scout"]
    assert [node["metadata"]["trust"] for node in kept] == ["untrusted", "untrusted"]
    assert all(len(node["metadata"]["read_from"]) == 3 for node in kept)
    assert all(node["metadata"].get("status", "open") == "open" for node in kept)
    learnt = [path for path in site.layout.read_sessions.parent.rglob("*") if path.is_file()]
    assert [path.name for path in learnt if b"zebra" in path.read_bytes()] in ([], [site.layout.read_sessions.name])


@pytest.mark.threat("S3", "hostile text by every way, live: prompts, memory, approvals")
def test_a_call_that_a_page_asked_for_asked_and_was_answered_by_the_operator_alone(
    lived: tuple[HostileSite, Approval],
) -> None:
    site, asked = lived
    assert asked.tool == "shell" and mark("page") in str(asked.arguments["command"])
    said = approvals.decision(site.layout, asked.id)
    assert said is not None and (said.allowed, said.by) == (False, "ana")
    worker = [request for request in site.model.asked if request.first_text.startswith(LOOK)]
    assert any("no" in str(request.results[-1]) for request in worker if request.results)
    actions = [json.loads(line) for line in site.layout.actions.read_bytes().splitlines()]
    answers = [line for line in actions if str(line.get("kind", line.get("verb", ""))).startswith("approval.")]
    assert {line.get("by", "ana") for line in answers} <= {"ana"}


# ---- terminals


@pytest.mark.threat("S1", "hostile text by every way, live: the room, commands, logs, journals")
def test_no_log_and_no_journal_acts_on_the_terminal_of_whoever_reads_it(site: HostileSite) -> None:
    wrong = []
    for path in [site.log, *site.root.rglob("*")]:
        if not path.is_file() or path.suffix not in (".log", ".err", ".jsonl", ".json", ".md"):
            continue
        if str(path.relative_to(site.root) if path.is_relative_to(site.root) else path) in BY_HAND:
            continue
        wrong += [(path, line[:200]) for line in path.read_text().split("\n") if not is_safe(line)]
    assert wrong == []


@pytest.mark.threat("S1", "hostile text by every way, live: the room, commands, logs, journals")
def test_no_command_prints_what_acts_on_a_terminal_or_a_secret(
    site: HostileSite, capfd: pytest.CaptureFixture[str], sampled: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.delenv("CLAUDECODE", raising=False)
    points = list(words_for(site.root))
    exports = [
        ["export", "--all"], ["export", "lumenflow", str(tmp_path / "flow")],
        ["export", "beads", str(tmp_path / "beads")],
        ["af", "export", "-"], ["traces", "export"], ["traces", "export", "--dry-run"], ["at", "1m ago"],
        ["at", "1m ago", "--json"], ["since", "--at", "1h"], ["prompt", "show", "scout"],
    ]  # fmt: skip
    wrong, leaked, shown = [], [], 0
    for words in [*exports, *(line.split() for line in ALWAYS), *sampled(points, 100)]:
        code = main(["--state", str(site.root), *words])
        printed = "".join(capfd.readouterr())
        shown += "zebra-" in printed
        wrong += [(words, line[:100]) for line in printed.split("\n") if not is_safe(line)]
        leaked += [(words, one) for one in left(printed.encode()) if one[0] != "unit"]
        assert code in (0, 1, 2, 3), words
    assert (wrong, leaked) == ([], [])
    assert shown > 10
    assert list(_leaks(tmp_path)) == []
    assert [one for body in site.traces for one in left(body)] == []


@pytest.mark.threat("S1", "hostile text by every way, live: the room, commands, logs, journals")
def test_a_room_on_a_terminal_sends_its_own_sequences_and_no_secret(site: HostileSite) -> None:
    terminal = Terminal(site.root)
    try:
        terminal.wait_for("lumen")
        terminal.answer("\x1b")  # what came in since the last look
        terminal.wait_for("zebra-")
        for key in _KEYS:
            terminal.answer(key)
        assert terminal.foreign() == ""
        assert list(left(terminal.sent)) == []
        terminal.press("q")
        assert terminal.end() == 0
    finally:
        os.close(terminal.fd)


# ---- secrets


def _unpacked(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """The files that are packed in one, each with its bytes; one that holds no others is there as it is."""
    if data.startswith(b"\x1f\x8b"):
        yield from _unpacked(f"{name}, unpacked", gzip.decompress(data))
    elif data[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                if (inner := archive.extractfile(member)) is not None:
                    yield from _unpacked(member.name, inner.read())
    else:
        yield name, data
        with contextlib.suppress(zlib.error):  # an object of git
            yield f"{name}, inflated", zlib.decompress(data)


def _leaks(folder: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    for path in folder.rglob("*"):
        if path.is_file():
            for name, data in _unpacked(str(path), path.read_bytes()):
                if not name.endswith(BY_HAND):
                    yield from ((name, one) for one in left(data))


EVERYWHERE = pytest.mark.threat("S7", "secrets by every way, live: state, backups, servers, phones, exports, crashes")


@EVERYWHERE
def test_no_byte_of_the_state_of_a_backup_or_of_what_is_sent_holds_one(site: HostileSite, tmp_path: Path) -> None:
    assert main(["--state", str(site.root), "backup", str(tmp_path / "backup.tar.gz")]) == 0
    assert list(_leaks(site.root)) == []
    assert list(_leaks(tmp_path)) == []
    assert len(list(_unpacked("backup", (tmp_path / "backup.tar.gz").read_bytes()))) > 30
    sent = json.dumps([site.phone.messages(TOPIC), site.phone.requests])
    assert mark("page") in sent and list(left(sent.encode())) == []
    assert list(left(site.log.read_bytes())) == []


@EVERYWHERE
def test_no_prompt_holds_one_but_what_the_model_said_itself(site: HostileSite) -> None:
    for request in site.model.asked:
        for _, text in texts(request):
            assert list(left(text.encode())) == [], text[:500]


@EVERYWHERE
def test_no_answer_of_the_http_server_holds_one(site: HostileSite) -> None:
    served = Served(site.root).start()
    try:
        client = served.client("all", *Scope)
        answers = [
            client.get(path).text for path in ("/openapi.json", "/metrics", "/health", "/v1/approvals", *_reads(site))
        ]
        assert sum("zebra-" in answer for answer in answers) > 5
        with client.stream("GET", "/v1/events", headers={"last-event-id": "0"}) as stream:
            answers.append(next(stream.iter_text()))
        assert [one for answer in answers for one in left(answer.encode())] == []
        assert list(left(served.log.read_bytes())) == []
    finally:
        served.close()


def _reads(site: HostileSite) -> Iterator[str]:
    yield from (f"/v1/{name}" for name in ("status", "attention", "budget", "roles", "inbox", "signals?limit=100",
                                           "tasks", "discoveries", "units", "units/WU-001", "search?query=zebra",
                                           "briefing?work=WU-001"))  # fmt: skip
    yield from (f"/v1/tasks/{path.parent.name}" for path in site.layout.archive.rglob("exit.json"))
    yield from (f"/v1/memory/{node['id']}" for node in _nodes(site))


def _nodes(site: HostileSite) -> list[dict[str, Any]]:
    return [json.loads(line) for line in site.layout.memory.read_bytes().splitlines()]


@EVERYWHERE
def test_no_answer_of_the_mcp_server_holds_one(site: HostileSite) -> None:
    wire = Wire(site.root)
    tasks = [path.parent.name for path in site.layout.archive.rglob("exit.json")]
    given: dict[str, dict[str, object]] = {
        "search": {"query": "zebra"}, "briefing": {"work": "WU-001"}, "read_unit": {"wu_id": "WU-001"},
        "read_task": {"task_id": tasks[0]}, "recall": {"id": _nodes(site)[0]["id"]},
    }  # fmt: skip
    try:
        wire.begin()
        names = [name for name, one in OPERATIONS.items() if one.scope is Scope.READ and name != "read_approval"]
        answers = [json.dumps(wire.ask("tools/call", name=name, arguments=given.get(name, {}))) for name in names]
    finally:
        wire.close()
    assert sum("zebra-" in answer for answer in answers) > 5
    assert [one for answer in answers for one in left(answer.encode())] == []


@EVERYWHERE
def test_an_engine_that_is_ended_from_outside_says_none(site: HostileSite) -> None:
    """The last test of the module: it takes the engine away."""
    engine = site.engine
    assert engine is not None
    for number in (signal.SIGABRT, signal.SIGQUIT, signal.SIGSEGV):
        if engine.poll() is None:
            engine.send_signal(number)
        engine.wait(30)
        site.start()
        engine = site.engine
    said = site.log.read_bytes()
    assert list(left(said)) == [] and all(map(is_safe, said.decode().split("\n")))
    assert list(_leaks(site.root)) == []
