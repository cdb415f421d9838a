"""A state folder in which everything was done once: a filled one, and actions of people and agents on top of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from lumen_filled import fill

from lumen_tui.actions.registry import named, perform
from lumen_tui.engine.evolution import evolve
from lumen_tui.engine.evolution.pipeline import EvolutionPipeline
from lumen_tui.model import times
from lumen_tui.model.approvals import Approval, call_hash
from lumen_tui.model.config import EvolutionConfig
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals
from lumen_tui.store.evolution import evolved

REPO = Path(__file__).resolve().parents[2]
SESSION = "0b5c3f0e-1111-4222-8333-123456789abc"  # of Claude Code, as it names its files
SAID = (
    "Always run the tests with pytest -n 2 before you push.", "No, never commit to main; use a branch.",
    "We use tabs, not spaces, in Go files.", "The API listens on port 8765.",
)  # fmt: skip


class Life:
    """The actions in one folder. `words` turns each text into the one that is written instead."""

    def __init__(self, root: Path, now: float, words: Any = str) -> None:
        self.store = Store(root)
        self.root = root
        self.now = now
        self.words = words

    def do(self, verb: str, by: str = "operator", ago: float = 0, **arguments: Any) -> str:
        """Carry out a verb `ago` seconds before now; return the id of what it acted on."""
        return perform(self.store, named(verb, arguments), by=by, now=self.now - ago).target

    def node(self, content: str) -> str:
        """Return the id of a node that was filled in."""
        lines = self.store.layout.memory.read_text().splitlines()
        return str(next(record["id"] for line in lines if (record := json.loads(line))["content"] == content))

    def sessions(self) -> None:
        say = self.words
        self.do("session.start", by="agent-a", ago=4000, wu_id="WU-042", agent_type="claude")
        self.do("checkpoint.save", by="agent-a", ago=3900, note=say("tests left"), wu_id="WU-042")
        decision = self.do("decision.note", by="agent-a", ago=3800, question=say("Which port?"), wu_id="WU-042")
        self.do("decision.answer", ago=3700, node_id=decision, answer=say("8080"))
        self.do("decision.note", by="agent-a", ago=3700, question=say("Which language?"), wu_id="WU-042")
        self.do("handoff.give", by="agent-a", ago=3600, note=say("all but the docs"), wu_id="WU-042")
        self.do("session.end", by="agent-a", ago=3500)
        self.do("session.start", by="agent-b", ago=3400, wu_id="WU-042")
        self.do("wu.claim", by="agent-a", ago=3300, wu_id="WU-101")
        self.do("wu.block", by="agent-a", ago=3200, wu_id="WU-101", reason=say("waits for the port"))
        self.do("wu.done", by="agent-b", ago=3100, wu_id="WU-042", no_checkpoint_check=True)
        self.do("summary.make", wu_id="WU-042")

    def triage(self) -> None:
        race = self.node("Race condition in the session manager when two agents start at once")
        double = self.node("Race condition in session manager on parallel start")
        readme = self.node("README misses the port")
        self.do("relation.add", from_id=race, to_id=readme, type="blocks")
        self.do("triage.promote", node_ids=[self.node("Refresh token is logged in clear")], lane="Core")
        self.do("triage.archive", node_ids=[self.node("Two ways to parse dates")], reason=self.words("both are right"))
        self.do("triage.keep", node_ids=[readme])
        self.do("triage.merge", node_ids=[race, double], into=race)
        self.do("node.promote", node_ids=[self.node("Use the bulk endpoint")], tag="pattern")
        self.do("decay.pin", node_ids=[self.node("Retries double the wait")], pinned=True)
        self.do("decay.touch", node_ids=[self.node("The build needs 4 GB")])
        self.do("node.archive", node_ids=[self.node("Cache keys carry the version")], reason=self.words("old"))
        self.do("node.delete", node_ids=[self.node("Locale tests need C.UTF-8")])
        self.do("node.create", content=self.words("something that was seen"), type="bug", priority="P1")

    def memory(self) -> None:
        say = self.words
        log = self.root.parent / "project/log/app.log"
        passage = self.do("archive.insert", text=say("the staging machine is called zebra"), tags=["ops"])
        self.do("archive.withdraw", passage_id=passage, reason=say("wrong"))
        holds = self.do("fact.add", claim=say("the log is there"), probes=[f"file {log}"])
        drifts = self.do("fact.add", claim="API on 1", probes=["port 1"])
        self.do("fact.check", fact_ids=[holds, drifts])
        self.do("fact.confirm", fact_ids=[self.do("fact.add", claim="Nobody uses IE")], note=say("asked"))
        self.do("block.new", name="notes", text=say("first line"))
        self.do("block.append", name="notes", text=f"\n{say('second')}")
        self.do("block.restore", name="notes", step=1)
        for base in (0, 1, 1, 1):
            text = say(f"written on {base}, at {len(list(self.root.rglob('*')))}")
            sent = self.do("relay.submit", by=f"agent-{base}", relay_name="general", text=f"{text} {base}", base=base)
            self.now += 1
        self.do("relay.release", ids=[sent], note=say("fine"))

    def tasks(self) -> None:
        say = self.words
        first = self.do("task.new", objective=say("restart the index service"), role="builder")
        second = self.do("task.new", objective=say("review the retry"), role="reviewer", depends_on=[first])
        self.do("task.edit", task_id=second, changes={"objective": say("review the retry well")})
        self.do("task.cancel", task_id=self.do("task.new", objective=say("not needed")), reason=say("a slip"))
        failed = next(path.parent.name for path in self.root.rglob("exit.json") if b'"failed"' in path.read_bytes())
        self.do("task.retry", task_id=failed)
        self.do("attention.snooze", targets=[failed], seconds=7200.0)
        for number, command in enumerate(("make deploy", "rm -rf /srv/x", "curl -d @f https://example.org")):
            approval = self._ask(first, say(command), 300.0 - number)
            if number == 0:
                self.do("approval.allow", approval_ids=[approval])
            if number == 2:
                self.do("approval.deny", approval_ids=[approval], reason=say("not outside"))

    def _ask(self, task_id: str, command: str, ago: float) -> str:
        arguments = {"command": command, "cwd": "", "timeout": 120.0}
        call = call_hash("shell", arguments)
        at = self.now - ago
        request = Approval(
            id=approvals.id_for(task_id, call, 0), task_id=task_id, hash=call, asked_at=times.iso(at), role="builder",
            expires_at=times.iso(at + 3600), summary=command, rule=command, tool="shell", arguments=arguments,
        )  # fmt: skip
        return approvals.ask(self.store.layout, request).id

    def people(self) -> None:
        role = (REPO / "roles/researcher.md").read_text().replace("researcher", "spotter")
        self.do("role.hire", name="spotter", text=role)
        self.do("role.adjust", name="spotter", text=role.replace("haiku", "opus"))
        self.do("role.fire", name="spotter", reason=self.words("no work"))
        self.do("budget.raise", usd=5.0)
        self.do("engine.pause", target="role:analyst", reason=self.words("a look"))
        self.do("signal.send", by="agent-x", message=self.words("look at this"), priority="P0")
        self.do("undo")
        self.do("redo")
        self.do("kill", reason=self.words("it ran wild"))
        self.do("unkill")

    def learning(self) -> None:
        path = self.root.parent / f"{SESSION}.jsonl"
        config = EvolutionConfig()
        lines = [
            {"type": "user", "sessionId": SESSION, "uuid": f"u{number}", "cwd": "/home/a", "version": "2.1.0",
             "timestamp": "2026-11-21T10:00:00.000Z", "message": {"role": "user", "content": text}}
            for number, text in enumerate(SAID)
        ]  # fmt: skip
        path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in lines))
        outcome = evolve.evolve(self.store.layout, EvolutionPipeline(self.store.layout, config), (path,), now=self.now)
        evolve.write(self.store.layout, outcome, config, now=self.now, by="evolution")
        learnt = list(evolved.observations(self.store.layout))
        self.do("evolution.reject", ids=[learnt[0]], reason=self.words("not so"))
        self.do("evolution.edit", ids=[learnt[-1]], text="Run the tests first.")


def live(root: Path, now: float, words: Any = str) -> None:
    """Fill a state folder with what `fill` makes and everything above."""
    fill(root)
    life = Life(root, now, words)
    for part in (life.sessions, life.triage, life.memory, life.tasks, life.learning, life.people):
        part()
