"""The sheets over memory: what is alike, what was decided, what does not fade, with text that means harm."""

from __future__ import annotations

from lumen_robot import until

from lumen_tui.model.records import AuditEntry, Node, NodeRow
from lumen_tui.model.requests.discoveries import ArchiveDiscoveries
from lumen_tui.model.requests.memory import ApplyDecay, ArchiveNodes, CreateNode, PinNodes
from lumen_tui.model.times import iso
from lumen_tui.storage.store import Store
from lumen_tui.tui.screens.discoveries import SimilarScreen, TriageDecision
from lumen_tui.tui.screens.journal import DeedRows, JournalScreen
from lumen_tui.tui.screens.memory import ArchivedScreen, NodeRows, ProtectedScreen

NOW = 1_790_000_000.0


def made(port, content: str, **more: object) -> str:
    return port.submit(CreateNode(content=content, **more)).target


async def test_a_verdict_names_the_marked_ones(room, port, hostile):
    first = made(port, f"Token is logged {hostile}")
    second = made(port, f"Token is logged {hostile} twice")
    made(port, "Something else entirely")
    node = port.node(first)
    async with room(SimilarScreen(port, node, NOW), size=(80, 24)) as (app, pilot):
        await until(pilot, lambda: "2 of 2 marked" in app.shown)
        app.harmless()
        await pilot.press("asterisk", "l")
        assert "Nothing is marked" in app.shown
        await pilot.press("j", "space", "l")
        assert app.answers == [TriageDecision("later", (second,))]


async def test_one_that_was_judged_meanwhile_is_told(room, port):
    node = Node(id="mem-gone", type="discovery", content="Gone", created_at=iso(NOW))
    async with room(SimilarScreen(port, node, NOW)) as (app, pilot):
        await until(pilot, lambda: "already decided" in app.shown)
        await pilot.press("a", "escape")
        assert app.answers == [None]


async def test_the_journal_says_who_what_and_why(room, port, hostile):
    node_id = made(port, f"Race {hostile}")
    port.submit(ArchiveDiscoveries(node_ids=node_id, reason=f"known {hostile}"))
    async with room(JournalScreen(port, port.operator, NOW)) as (app, pilot):
        await until(pilot, lambda: "2 actions" in app.shown)
        assert "known" in app.shown
        app.harmless()
        await pilot.press("enter")
        assert "triage.archive" in app.shown
        assert "where" in app.shown and ("on the command line" in app.shown or "another room" in app.shown)
        app.harmless()
        await pilot.press("escape", "u")
        await until(pilot, lambda: "undone" in app.shown and "3 actions" in app.shown)
    assert port.node(node_id).status == "open"


async def test_a_room_that_only_reads_says_so(room, port):
    node_id = made(port, "Race")
    port.submit(ArchiveDiscoveries(node_ids=node_id, reason="known"))
    async with room(JournalScreen(port, port.operator, NOW, "the disk is read-only")) as (app, pilot):
        await until(pilot, lambda: "2 actions" in app.shown)
        await pilot.press("u")
        assert "the disk is read-only" in app.shown
    assert port.node(node_id).status == "archived"


async def test_what_does_not_fade_is_shown_harmlessly(room, port, hostile):
    node_id = made(port, f"Old news {hostile}", type="note", tags=("news",))
    kept = made(port, f"Secret {hostile}", type="note")
    port.submit(ArchiveNodes(node_ids=node_id, reason=f"moved {hostile}"))
    port.submit(PinNodes(node_ids=kept))
    async with room(ArchivedScreen(port, NOW), size=(80, 24)) as (app, pilot):
        await until(pilot, lambda: "1 archived node" in app.shown)
        app.harmless()
        await pilot.press("enter")
        assert "moved" in app.shown
        app.harmless()
    async with room(ProtectedScreen(port, NOW)) as (app, pilot):
        await until(pilot, lambda: "1 protected node" in app.shown)
        assert "pinned" in app.shown
        app.harmless()
        await pilot.press("K")
        await until(pilot, lambda: "Nothing is protected." in app.shown)


async def test_what_decay_archived_says_its_score(room, port):
    record = {"id": "mem-old", "type": "note", "content": "Old", "created_at": iso(NOW - 200 * 86400), "metadata": {}}
    Store(port.root).nodes.append(record)
    port.submit(ApplyDecay())
    async with room(ArchivedScreen(port, NOW)) as (app, pilot):
        await until(pilot, lambda: "below threshold" in app.shown)
        assert "200 d" in app.shown


def test_a_column_takes_no_more_than_its_longest_word_needs() -> None:
    node = Node(id="mem-1", type="discovery", content="Health page shows yesterday's figures", created_at=iso(NOW))
    rows = NodeRows(now=NOW)
    rows.widest = len("open discovery")
    drawn = "".join(part.text for part in rows.line(NodeRow(node, NOW - 3600, "open discovery"), 76, False, False))
    assert "yesterday's figures" in drawn and drawn.endswith("  open discovery     1 h")
    deed = AuditEntry(id="a", at=iso(NOW), by="ann", verb="approval.deny", summary="x" * 46, reason="no")
    deeds = DeedRows(now=NOW)
    deeds.widest = len("no")
    assert deed.summary in "".join(part.text for part in deeds.line(deed, 76, False, False))


async def test_the_lists_know_their_longest_word(room, port):
    made(port, "Health page shows yesterday's figures")
    port.submit(ArchiveDiscoveries(node_ids=made(port, "Race"), reason="no"))
    async with room(ProtectedScreen(port, NOW), size=(80, 24)) as (app, pilot):
        await until(pilot, lambda: "yesterday's figures   open discovery" in app.shown)
    async with room(JournalScreen(port, port.operator, NOW), size=(80, 24)) as (app, pilot):
        await until(pilot, lambda: "3 actions" in app.shown)
        assert app.screen.rows.view.widest == 2
