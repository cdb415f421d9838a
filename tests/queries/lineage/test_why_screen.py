"""The chain on the screen, walked along and back; and what is looked up by which id, on hand-made files."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from lumen_robot import until
from lumen_stage import Stage

from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.port import RemotePort
from lumen_tui.model import lineage as shape
from lumen_tui.model import times
from lumen_tui.model.approvals import ASK, Approval, Decision
from lumen_tui.model.records import Node, Signal
from lumen_tui.model.tasks import Exit, Spec, Usage
from lumen_tui.model.text import is_safe
from lumen_tui.queries.lineage.trace import resolve, trace
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals
from lumen_tui.store.memory import nodes
from lumen_tui.store.tasks import task_files
from lumen_tui.tui.screens.lineage import WhyScreen

AT = "2027-01-15T07:00:00Z"
NOW = times.epoch(AT) + 3600
EVIL = "\x1b[2J[/]evil\u202e"


class Chain:
    """Signal -> (answer), task -> retry, discovery, approval."""

    def __init__(self, root: Path) -> None:
        self.store = Store(root)
        self.layout = layout = self.store.layout
        layout.create()
        self.task, self.again = "tsk-0000000000001", "tsk-0000000000002"
        self.signal, self.answer = "sig-0000000000001", "sig-0000000000002"
        self.node, self.asked = "mem-0000000000001", "apr-0000000000001"
        task_files.add(layout, Spec(self.task, f"look {EVIL}", created_at=AT, wu_id="WU-001"))
        ended = Exit(self.task, "failed", AT, usage=Usage(900, 100, 0.5))
        (layout.task(self.task) / "exit.json").write_bytes(msgspec.json.encode(ended))
        event = msgspec.json.encode({"at": AT, "kind": "waiting", "data": {"approval": self.asked}})
        (layout.task(self.task) / "events.jsonl").write_bytes(event + b"\n")
        task_files.add(layout, Spec(self.again, "look again", created_at=AT, retry_of=self.task))
        self.store.signals.append(Signal(self.signal, f"found it {EVIL}", AT, sender="researcher", task_id=self.task))
        self.store.signals.append(Signal(self.answer, "thanks", AT, sender="ana", reply_to=self.signal))
        self.store.nodes.append(Node(self.node, "discovery", "a leak", AT, metadata={"task_id": self.task}))
        approvals.ask(layout, Approval(self.asked, self.task, "shell", "h", AT, AT, summary="rm -r x", role="builder"))

    def links(self, name: str) -> tuple[dict[str, str], dict[str, str]]:
        found = trace(self.layout, name, NOW)
        return {hop.id: hop.link for hop in found.up}, {hop.id: hop.link for hop in found.down}


@pytest.fixture
def chain(tmp_path: Path) -> Chain:
    return Chain(tmp_path / "state")


def test_every_kind_of_thing_knows_what_is_beside_it(chain):
    up, down = chain.links(chain.task)
    assert up == {"WU-001": "for"}
    assert down == {chain.signal: "sent", chain.node: "noted", chain.again: "tried again as", chain.asked: "asked"}
    assert chain.links(chain.signal) == ({chain.task: "sent by"}, {chain.answer: "answered by"})
    assert chain.links(chain.asked)[0] == {chain.task: "asked by"}
    assert chain.links(chain.again)[0] == {chain.task: "tries again"}
    assert chain.links("WU-001")[1] == {chain.task: "worked on in"}


def test_cost_and_status_stand_with_each_thing(chain):
    found = trace(chain.layout, chain.answer, NOW)
    hops = {row.hop.id: row.hop for row in shape.rows(found)}
    task = hops[chain.task]
    assert (task.kind, task.status, task.tokens, task.usd) == ("task", "failed", 1000, 0.5)
    assert found.spent == (1000, 0.5)
    assert trace(chain.layout, chain.asked, NOW).node.status == "waits"
    assert all(is_safe(line) for line in shape.lines(found))


def test_a_question_is_answered_and_not_allowed(chain):
    question = Approval(
        "apr-0000000000009", chain.task, ASK, "h", AT, AT, summary="which port?", question="which port?"
    )
    approvals.ask(chain.layout, question)
    asked = trace(chain.layout, question.id, NOW).node
    assert (asked.kind, asked.status) == ("question", "waits")
    answer = msgspec.json.encode(Decision(True, "h", AT, "ann", answer="8080"))
    approvals.decision_path(chain.layout, question.id).write_bytes(answer)
    assert trace(chain.layout, question.id, NOW).node.status == "answered"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("sig-0000000000001", "sig-0000000000001"), ("apr-0000", "apr-0000000000001"), ("mem-0", "mem-0000000000001"),
        ("wu-001", "WU-001"), ("7", "loop-000007"), ("loop 7", "loop-000007"), ("loop-000007", "loop-000007"),
        ("tsk-0000000000002", "tsk-0000000000002"),
    ],
)  # fmt: skip
def test_what_an_id_means(chain, text, name):
    assert resolve(chain.layout, text) == name


@pytest.mark.parametrize("text", ["", "tsk-zzz", "sig-zzz", "apr-zzz", "pkt-1", "../../etc/passwd", "*", "mem-zz"])
def test_what_is_not_there_is_said_to_be(chain, text):
    with pytest.raises((LookupError, ValueError)):
        resolve(chain.layout, text)


def test_a_beginning_of_several_names_them(chain):
    with pytest.raises(nodes.Ambiguous) as caught:
        resolve(chain.layout, "tsk-")
    assert caught.value.candidates == (chain.task, chain.again)


def test_a_ring_ends(chain):
    one, two = "tsk-000000000000a", "tsk-000000000000b"
    task_files.add(chain.layout, Spec(one, "a", depends_on=(two,)))
    task_files.add(chain.layout, Spec(two, "b", depends_on=(one,)))
    found = trace(chain.layout, one, NOW)
    assert found.up[0].id == two
    assert found.up[0].steps[0].again


def test_links_to_hostile_names_are_only_told(chain):
    chain.store.signals.append(Signal("sig-000000000000e", "x", AT, task_id="../../../etc", reply_to=EVIL))
    found = trace(chain.layout, "sig-000000000000e", NOW)
    assert [hop.kind for hop in found.up] == ["", ""]
    assert all(is_safe(line) for line in shape.lines(found))


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_walking_along_the_chain_and_back(chain, size):
    app = Stage(WhyScreen(RemotePort(chain.store.root), chain.signal, NOW))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: "Trace of signal found it" in app.shown)
        assert "sent by" in app.shown and "answered by" in app.shown and "1,000 tokens" in app.shown
        await pilot.press("j", "enter")
        await until(pilot, lambda: "Trace of signal thanks" in app.shown)
        await pilot.press("backspace")
        await until(pilot, lambda: "Trace of signal found it" in app.shown)
        await pilot.press("backspace")
        await until(pilot, lambda: "where you began" in app.shown)
        await pilot.press("Y")
        assert chain.task in app.copied[0]
        assert is_safe(app.copied[0])
        app.harmless()


async def test_the_cursor_stays_on_its_thing_when_others_come(chain):
    port = RemotePort(chain.store.root)
    screen = WhyScreen(port, chain.task, NOW)
    async with Stage(screen).run_test() as pilot:
        await until(pilot, lambda: "Trace of task" in pilot.app.shown)
        await pilot.press("G")
        place, last = screen.rows.model.cursor, screen.rows.selected[1].hop.id
        for number in range(3, 6):
            sent = Signal(f"sig-000000000000{number}", "more", AT, sender="researcher", task_id=chain.task)
            chain.store.signals.append(sent)
        screen.show(port.snapshot())
        await until(pilot, lambda: pilot.app.shown.count("more") == 3)
        assert (screen.rows.selected[1].hop.id, screen.rows.model.cursor) == (last, place + 3)


async def test_nothing_of_that_id_is_said(chain):
    app = Stage(WhyScreen(RemotePort(chain.store.root), "tsk-nothing", NOW))
    async with app.run_test() as pilot:
        await until(pilot, lambda: "nothing with the id tsk-nothing" in app.shown)


def test_the_port_refuses_what_is_not_there(chain):
    with pytest.raises(ActionError):
        RemotePort(chain.store.root).why("nothing-at-all")
