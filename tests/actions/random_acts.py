"""Random acts of an operator: for each verb of the registry arguments that are plausible in the present state."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from lumen_repository import Repository

from lumen_tui.actions import agentfile, evals, promotion
from lumen_tui.model import times
from lumen_tui.model.agentfile import AfBlock, AfPassage, AgentFile
from lumen_tui.model.approvals import SCOPES, Approval, call_hash
from lumen_tui.model.chat import ChatLine
from lumen_tui.model.evals import SUITE, EvalCase, Expectation, case_id
from lumen_tui.model.evolution import DOMAIN, Observation, ObservationKind, Source, Trust
from lumen_tui.model.hosting import HostEntry
from lumen_tui.model.tasks import Exit
from lumen_tui.model.toolservers import ServerTools, definition
from lumen_tui.storage import files
from lumen_tui.store import approvals
from lumen_tui.store.evolution import candidates, evolved
from lumen_tui.store.sessions import chats
from lumen_tui.store.settings import hosts, toolservers
from lumen_tui.tools.isolation import living, records
from tests.actions.conftest import ActionsFolder
from tests.actions.test_importing import ISSUE, folder, issues
from tests.actions.test_promotion import passed

Arguments = dict[str, Any]
PATH = os.environ["PATH"]
ROLE = '+++\npurpose = "{}"\ntier = "haiku"\ntools = ["read_file"]\n+++\n\nKeep them.\n'
MARKS: tuple[Arguments, ...] = ({"must": True}, {"must": False}, {"dropped": True}, {"dropped": False})
LANES = ("Core", "UI", "Docs", "QA")


class Stage:
    """A folder with something for every verb, and the chance that picks among it."""

    def __init__(self, desk: ActionsFolder, beside: Path, seed: int) -> None:
        self.desk, self.beside = desk, beside
        self.chance = random.Random(seed)  # noqa: S311 - a sample
        self.made = 0
        self.known: dict[str, list[str]] = {}
        folder(beside)
        issues(beside, {**ISSUE, "dependencies": []})
        (beside / "README.md").write_text("# The shop\n\nIt sells lamps.\n")
        self._fill()

    def _fill(self) -> None:
        """What others did before."""
        for number in range(5):
            self._keep("node", "node.create", content=f"a thing seen, number {number}", tags=["odd"])
            self._keep("signal", "signal.send", message=f"note {number}", wu_id="")
            self.desk.do("node.create", by="bo", content=f"tried without a result, number {number}", type="note")
        for number, lane in enumerate(LANES):
            self._keep("unit", "wu.new", title=f"work {number}", lane=lane)
        for number in range(3):
            self._keep("task", "task.new", objective=f"count to {number}")
            self._keep("block", "block.new", name=f"plan{number}", text=f"the plan is\nplan {number}\n")
            self._keep("fact", "fact.add", claim=f"the port is 80{number}")
            self._keep("passage", "archive.insert", text=f"an older wish, number {number}")
        failed = self.known["task"][0]
        end = Exit(failed, "failed", times.iso(self.desk.now), reason="no model")
        files.replace(self.desk.store.layout.task(failed) / "exit.json", msgspec.json.encode(end))
        self._keep("decision", "decision.note", question="which port?", wu_id=self.known["unit"][0])
        self.desk.do("checkpoint.save", by="bo", note="the lamp is new", wu_id=self.known["unit"][2])
        self._keep("summary", "summary.make", wu_id=self.known["unit"][2])
        self.desk.do("handoff.give", by="bo", note="go on there", wu_id=self.known["unit"][1])
        self.desk.do("relay.submit", by="bo", relay_name="box", text="the first word", base=0)
        self._keep("held", "relay.submit", relay_name="box", text="said on an old state", base=0)
        self.desk.do(
            "relation.add", by="bo", from_id=self.known["node"][0], to_id=self.known["node"][1], type="related"
        )
        for number in range(2):
            self._keep("schedule", "schedule.add", name=f"look{number}", text="look", when="0 9 * * *", makes="wake")
        for name in ("attic", "cellar"):
            entry = HostEntry(name, times.iso(self.desk.now), "bo")
            hosts.change(self.desk.store.layout, name, lambda _, entry=entry: entry)
            self.known.setdefault("host", []).append(name)
        self._ask()
        self._learn()
        self._collect()
        self._talk()
        self._change()
        self._offer()

    def _offer(self) -> None:
        """An MCP server that was asked what it offers, and a Python tool."""
        layout = self.desk.store.layout
        layout.config.write_text('[mcp.servers.small]\ncommand = ["small"]\n')
        (layout.custom_tools / "look.py").write_text('@tool\ndef look_up():\n    "Look it up."\n')
        offered = definition({"name": "echo", "inputSchema": {"type": "object"}})
        toolservers.keep_seen(layout, ServerTools("small", tools=(offered,), at=times.iso(self.desk.now)))
        self.desk.do("tool.accept", by="bo", name="look_up")

    def _keep(self, kind: str, verb: str, **arguments: Any) -> None:
        self.known.setdefault(kind, []).append(self.desk.do(verb, by="bo", **arguments).target)

    def _ask(self) -> None:
        for command in ("make deploy", "git push", "make publish"):
            given = {"command": command, "cwd": "", "timeout": 120.0}
            task, call, now = self.known["task"][1], call_hash("shell", given), self.desk.now
            asked = Approval(
                id=approvals.id_for(task, call, 0), task_id=task, tool="shell", hash=call, asked_at=times.iso(now),
                expires_at=times.iso(now + 9000), arguments=given, summary=command, rule=command, role="builder",
            )  # fmt: skip
            self.known.setdefault("approval", []).append(approvals.ask(self.desk.store.layout, asked).id)
        for number in range(3):
            asked = Approval(
                id=f"apr-question{number}", task_id=task, tool="ask_operator", hash=f"{number}", role="builder",
                asked_at=times.iso(now), expires_at=times.iso(now + 9000), summary="Which?", question="Which?",
                options=("one", "the other"), default="one",
            )  # fmt: skip
            self.known.setdefault("question", []).append(approvals.ask(self.desk.store.layout, asked).id)

    def _change(self) -> None:
        """A task that worked apart in a repository, and handed in what it changed there."""
        repository = Repository(self.beside / "repository")
        repository.commit(a__txt="one\n", b__txt="two\n", c__txt="three\n")
        repository("remote", "add", "origin", f"ssh://box{self.beside}/server/shop.git")
        store = self.desk.store
        task_id = self.desk.do("task.new", by="bo", objective="better files").target
        order = living.IsolationRequest(
            store.layout, store.layout.task(task_id), "worktree", str(repository.root), (), PATH
        )
        living.take(order, lambda: None)
        for name in ("a.txt", "b.txt", "c.txt"):
            (order.task / living.TREE / name).write_text("better\n")
        living.settle(store.layout, order.task, times.iso(self.desk.now))
        self.known["changed"] = [task_id]
        self.edited = records.keep_bytes(order.task, b"by hand\n", mode=0o644).sha256

    def with_ssh(self) -> None:
        """Let `ssh box` be this machine."""
        folder = self.beside / "ssh"
        if not folder.exists():
            folder.mkdir()
            (folder / "ssh").write_text('#!/bin/sh\nfor last; do :; done\nexec env -i PATH="$PATH" sh -c "$last"\n')
            (folder / "ssh").chmod(0o755)
            Repository(self.beside / "server")("init", "-q", "--bare", str(self.beside / "server" / "shop.git"))
        if str(folder) not in os.environ["PATH"]:
            os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"

    def _talk(self) -> None:
        """One turn of a conversation."""
        said = self.desk.do("chat.send", by="bo", text="Does anything run?").target
        lines = (ChatLine("turn", turn=1, answers=(said,)), ChatLine("end", turn=1, status="done"))
        chats.append(self.desk.store.layout, *lines)

    def _learn(self) -> None:
        texts = ("Write tests before code", "Ask before a migration", "Name branches after issues")
        learnt = [
            Observation(
                id=f"evo-{number}",
                at=times.iso(self.desk.now),
                kind=ObservationKind.RULE,
                text=text,
                target=DOMAIN,
                quote=text,
                sources=(Source("s1", number),),
                trust=Trust.PERSON,
                confidence=0.9,
            )
            for number, text in enumerate(texts)
        ]
        evolved.add(self.desk.store.layout, learnt)
        self.known["observation"] = [one.id for one in learnt]
        self.desk.do("evolution.accept", by="bo", ids="evo-0")
        self.desk.do("evolution.accept", by="bo", ids="evo-1")

    def _collect(self) -> None:
        at, layout = times.iso(self.desk.now), self.desk.store.layout
        cases = [
            EvalCase(case_id(task, 1, 0), at, "WU-001", task, 1, 0, Expectation.HOLD, Trust.AGENT, role="builder")
            for task in self.known["task"]
        ]
        evals.keep(layout, SUITE, cases, by="bo", now=self.desk.now)
        self.known["case"] = [case.id for case in cases]
        for text in ("Say what you ran.", "Look twice."):
            self._keep("candidate", "evolution.propose", role="builder", why="it may help", text=text)
        first, second = (promotion.find(layout, name) for name in self.known["candidate"])
        candidates.report(layout, passed(layout, first.edit))
        self.desk.do("evolution.promote", by="bo", candidate=first.id)
        candidates.report(layout, passed(layout, second.edit))
        words = {"kind": "order", "text": "Inbox; Open discoveries"}
        self.known["order"] = [self.desk.do("evolution.propose", by="bo", why="it may help", **words).target]

    def any(self, kind: str) -> str:
        """One of what there is, or was made meanwhile."""
        return self.chance.choice(self.known[kind])

    def fresh(self, what: str) -> str:
        """Words that were not used yet."""
        self.made += 1
        return f"{what} {self.made}"

    def note(self, kind: str, name: str) -> None:
        """Remember what an act made, for those that follow."""
        if kind and name:
            self.known[kind].append(name)


def _nodes(stage: Stage, **more: Any) -> Arguments:
    return {"node_ids": stage.any("node"), **more}


def _unit(stage: Stage, **more: Any) -> Arguments:
    """A work unit that there is, or one that the verb makes by its mention, or refuses."""
    new = stage.chance.random() < 0.2
    return {"wu_id": f"WU-{stage.chance.randrange(700, 703)}" if new else stage.any("unit"), **more}


def _relation(stage: Stage) -> Arguments:
    kind = stage.chance.choice(["related", "blocks", "discovered_from"])
    return {"from_id": stage.any("node"), "to_id": stage.any("node"), "type": kind}


def _setting(stage: Stage) -> Arguments:
    key, values = stage.chance.choice([
        ("memory.decay.threshold", [0.2, 0.3, None]), ("memory.decay.half_life_days", [10.0, 20.0, None]),
        ("agent.name", ["Ada", "Lux", None]),
    ])  # fmt: skip
    return {"changes": {key: stage.chance.choice(values)}}


def _edit(stage: Stage) -> Arguments:
    change = stage.chance.choice([{"priority": "P0"}, {"priority": "P3"}, {"objective": stage.fresh("look at")}])
    return {"task_id": stage.any("task"), "changes": change}


def _block(stage: Stage, **more: Any) -> Arguments:
    return {"name": stage.any("block"), **more}


def _agent_file(stage: Stage) -> Arguments:
    found = AgentFile(
        name="Ann", shape="new", blocks=(AfBlock(stage.fresh("human").replace(" ", ""), "Likes lamps."),),
        passages=(AfPassage(stage.fresh("a passage")),),
    )  # fmt: skip
    return {"plan": agentfile.plan(stage.desk.store, found, str, by="ana", now=stage.desk.now + 1)}


def _role(stage: Stage) -> str:
    return stage.chance.choice(["builder", "researcher", "keeper1", "keeper2"])


VERBS: dict[str, Callable[[Stage], Arguments]] = {
    "task.new": lambda stage: {
        "objective": stage.fresh("look at"),
        "wu_id": stage.chance.choice(["", stage.any("unit")]),
        "accept": stage.chance.choice([[], ["command: make test", "fact: port 8080"]]),
        **stage.chance.choice([{}, {"host": "any", "resources": ["gpu=2"]}]),
    },
    "task.cancel": lambda stage: {"task_id": stage.any("task")},
    "task.retry": lambda stage: {"task_id": stage.any("task")},
    "task.edit": _edit,
    "task.tell": lambda stage: {"task_id": stage.any("task"), "text": stage.fresh("look at")},
    "task.limit": lambda stage: {"task_id": stage.any("task"), "steps": stage.chance.randrange(1, 99), "usd": 2.0},
    "signal.send": lambda stage: {
        "message": stage.fresh("hello"),
        "reply_to": stage.chance.choice(["", stage.any("signal")]),
    },
    "signal.read": lambda stage: {"signal_ids": stage.any("signal")},
    "signal.read_all": lambda _: {},
    "node.create": lambda stage: {
        "content": stage.fresh("a race"),
        "discovered_from": stage.chance.choice(["", stage.any("node")]),
    },
    "node.archive": lambda stage: _nodes(stage, reason="old"),
    "node.unarchive": _nodes,
    "triage.promote": lambda stage: _nodes(stage, lane=stage.chance.choice(LANES)),
    "triage.archive": lambda stage: _nodes(stage, reason="no"),
    "triage.keep": lambda stage: _nodes(stage, days=stage.chance.randrange(1, 9)),
    "triage.merge": lambda stage: _nodes(stage, into=stage.any("node")),
    "triage.edit": lambda stage: _nodes(stage, priority=stage.chance.choice(["P0", "P3"]), type="idea"),
    "decay.pin": lambda stage: _nodes(stage, pinned=stage.chance.random() < 0.7),
    "decay.touch": _nodes,
    "decay.apply": lambda stage: {"half_life_days": 0.001, "threshold": 0.9, "force": True},
    "setting.change": _setting,
    "summary.make": lambda stage: _unit(stage),
    "summary.rewrite": lambda stage: {"node_id": stage.any("summary"), "text": stage.fresh("all was done")},
    "cleanup.nodes": lambda stage: {"ttl": "1s", "force": True},
    "cleanup.signals": lambda stage: {"ttl": "1s", "unread_ttl": "1s", "force": True},
    "node.promote": lambda stage: _nodes(stage, tag="pattern"),
    "node.delete": _nodes,
    "memory.index": lambda stage: {"folder": str(stage.beside)},
    "archive.insert": lambda stage: {"text": stage.fresh("kept for good")},
    "archive.withdraw": lambda stage: {"passage_id": stage.any("passage")},
    "fact.add": lambda stage: {"claim": stage.fresh("the port is")},
    "fact.check": lambda stage: {"fact_ids": stage.any("fact")},
    "fact.confirm": lambda stage: {"fact_ids": stage.any("fact")},
    "fact.probe": lambda stage: {"fact_id": stage.any("fact"), "probe": f"file {stage.beside}/README.md"},
    "fact.retire": lambda stage: {"fact_ids": stage.any("fact")},
    "role.hire": lambda stage: {
        "name": stage.chance.choice(["keeper1", "keeper2"]),
        "text": ROLE.format("Keeps things."),
    },
    "role.adjust": lambda stage: {"name": _role(stage), "text": ROLE.format(stage.fresh("Keeps"))},
    "role.fire": lambda stage: {"name": _role(stage), "reason": "no work"},
    "role.rehire": lambda stage: {"name": _role(stage)},
    "wu.new": lambda stage: {
        "title": stage.fresh("work"), "lane": stage.chance.choice(LANES),
        "depends_on": stage.chance.choice([[], [stage.any("unit")]]),
    },
    "wu.split": lambda stage: {
        "wu_id": stage.any("unit"), "in_order": stage.chance.random() < 0.5,
        "parts": [{"title": stage.fresh("part"), "acceptance": ["it runs"]}] * 2,
    },
    "wu.claim": _unit,
    "wu.block": lambda stage: _unit(stage, reason="waits"),
    "wu.unblock": _unit,
    "wu.release": _unit,
    "wu.done": lambda stage: _unit(stage, no_checkpoint_check=True),
    "import.lumenflow": lambda stage: {"path": str(stage.beside / "project")},
    "import.beads": lambda stage: {"path": str(stage.beside / ".beads" / "issues.jsonl")},
    "relation.add": _relation,
    "relation.remove": _relation,
    "session.start": _unit,
    "session.end": lambda _: {},
    "decision.note": lambda stage: _unit(stage, question=stage.fresh("which")),
    "decision.answer": lambda stage: {"node_id": stage.any("decision"), "answer": "the first"},
    "checkpoint.save": lambda stage: _unit(stage, note=stage.fresh("half way")),
    "handoff.give": lambda stage: _unit(stage, note=stage.fresh("go on")),
    "handoff.take": _unit,
    "budget.raise": lambda stage: {"tokens": 1000, "usd": stage.chance.choice([0.0, 1.0])},
    "kill": lambda _: {},
    "unkill": lambda _: {},
    "engine.beat": lambda _: {},
    "engine.pause": lambda stage: {"reason": "backup"},
    "engine.resume": lambda _: {},
    "engine.stop": lambda _: {},
    "attention.dismiss": lambda stage: {"targets": stage.any("task")},
    "attention.snooze": lambda stage: {"targets": stage.any("task")},
    "attention.back": lambda stage: {"targets": stage.any("task")},
    "operator.claim": lambda stage: {"targets": stage.any("task")},
    "operator.release": lambda stage: {"targets": stage.any("task")},
    "operator.note": lambda stage: {"text": stage.fresh("the deploy waits for bo")},
    "approval.allow": lambda stage: {"approval_ids": stage.any("approval")},
    "approval.deny": lambda stage: {"approval_ids": stage.any("approval")},
    "approval.allow_always": lambda stage: {
        "approval_id": stage.any("approval"), "scope": stage.chance.choice(SCOPES),
    },
    "approval.forget": lambda _: {"number": 1},
    "question.answer": lambda stage: {"question_id": stage.any("question"), "answer": "2"},
    "evolution.accept": lambda stage: {"ids": stage.any("observation")},
    "evolution.reject": lambda stage: {"ids": stage.any("observation"), "reason": "no"},
    "evolution.edit": lambda stage: {"ids": stage.any("observation"), "text": stage.fresh("Write tests first")},
    "evolution.mark": lambda stage: {"ids": stage.any("case"), **stage.chance.choice(MARKS)},
    "evolution.propose": lambda stage: {"role": "builder", "why": "it may help", "text": stage.fresh("Look twice")},
    "evolution.withdraw": lambda stage: {"candidate": stage.any("candidate")},
    "evolution.promote": lambda stage: {"candidate": stage.any("candidate")},
    "evolution.take": lambda stage: {"candidate": stage.any("order")},
    "evolution.split": lambda stage: {
        "candidate": stage.chance.choice(["", stage.any("candidate")]), "tasks": stage.chance.randrange(10, 50),
    },
    "evolution.rollback": lambda stage: {"version": stage.chance.choice(["", "root"])},
    "evolution.restore": lambda stage: {"version": stage.chance.randrange(1, 5)},
    "constitution.approve": lambda _: {},
    "af.import": _agent_file,
    "block.new": lambda stage: {"name": stage.fresh("block").replace(" ", ""), "text": "a plan"},
    "block.append": lambda stage: _block(stage, text=stage.fresh("and")),
    "block.replace": lambda stage: _block(stage, old="plan is", new="idea is"),
    "block.patch": lambda stage: _block(stage, diff="@@ -1 +1 @@\n-the plan is\n+the goal is\n"),
    "block.rethink": lambda stage: _block(stage, text=stage.fresh("all new")),
    "block.adjust": lambda stage: _block(stage, limit=stage.chance.randrange(2000, 3000)),
    "block.lock": _block,
    "block.unlock": _block,
    "block.restore": lambda stage: _block(stage, step=1),
    "relay.submit": lambda stage: {
        "relay_name": "box",
        "text": stage.fresh("a word"),
        "base": stage.chance.randrange(2),
    },
    "schedule.add": lambda stage: {
        "name": stage.fresh("nightly").replace(" ", ""), "text": "run the tests", "when": "every 90m", "zone": "UTC",
    },
    "chat.send": lambda stage: {"text": stage.fresh("what about")},
    "chat.stop": lambda _: {},
    "chat.fresh": lambda _: {},
    "changes.accept": lambda stage: _changed(stage, paths=[stage.chance.choice(["a.txt", "b.txt"])]),
    "changes.drop": lambda stage: _changed(stage, paths=[stage.chance.choice(["a.txt", "b.txt"])]),
    "changes.write": lambda stage: _changed(stage, path="c.txt", sha256=stage.edited),
    "changes.commit": lambda stage: _changed(stage, branch=stage.fresh("better").replace(" ", "-")),
    "changes.push": lambda stage: _pushed(stage),
    "changes.give": lambda stage: _changed(stage, paths=["c.txt"]),
    "schedule.remove": lambda stage: {"name": stage.any("schedule")},
    "schedule.pause": lambda stage: {"name": stage.any("schedule"), "reason": "a release"},
    "schedule.resume": lambda stage: {"name": stage.any("schedule")},
    "schedule.run": lambda stage: {"name": stage.any("schedule")},
    "tool.accept": lambda stage: {"name": stage.chance.choice(["small", "look_up"])},
    "tool.withdraw": lambda stage: {"name": stage.chance.choice(["small", "look_up"])},
    "relay.release": lambda stage: {"ids": stage.any("held")},
    "relay.drop": lambda stage: {"ids": stage.any("held")},
    "host.cordon": lambda stage: {"name": stage.any("host"), "reason": stage.fresh("new disk")},
    "host.drain": lambda stage: {"name": stage.any("host")},
    "host.uncordon": lambda stage: {"name": stage.any("host")},
    "host.remove": lambda stage: {"name": stage.any("host")},
}  # fmt: skip


def _changed(stage: Stage, **more: Any) -> Arguments:
    return {"task_id": stage.any("changed"), **more}


def _pushed(stage: Stage) -> Arguments:
    stage.with_ssh()
    return _changed(stage)


NEEDS_ENGINE = ("engine.beat", "engine.stop")  # refused where none drives; tests/actions/test_newest.py has them
BACK = {
    "role.fire": "role.rehire", "wu.block": "wu.unblock", "session.start": "session.end", "wu.claim": "wu.release",
    "block.lock": "block.unlock", "relation.add": "relation.remove", "node.archive": "node.unarchive",
    "approval.allow_always": "approval.forget", "engine.pause": "engine.resume", "kill": "unkill",
    "block.rethink": "block.restore", "schedule.pause": "schedule.resume",
    "chat.send": "chat.stop", "tool.accept": "tool.withdraw", "host.cordon": "host.uncordon",
}  # fmt: skip
_TAKES = {
    "role.rehire": ("name",), "wu.unblock": ("wu_id",), "wu.release": ("wu_id",), "block.unlock": ("name",),
    "chat.stop": (), "schedule.resume": ("name",), "tool.withdraw": ("name",), "host.uncordon": ("name",),
    "relation.remove": ("from_id", "to_id", "type"), "node.unarchive": ("node_ids",),
}  # fmt: skip


def next_act(stage: Stage, verb: str, arguments: Arguments) -> tuple[str, Arguments]:
    """A verb with its arguments: one of all, or the way back from the one before."""
    if verb in BACK and stage.chance.random() < 0.3:
        return BACK[verb], way_back(stage, BACK[verb], arguments)
    chosen = stage.chance.choice([name for name in VERBS if name not in NEEDS_ENGINE])
    return chosen, VERBS[chosen](stage)


def way_back(stage: Stage, verb: str, arguments: Arguments) -> Arguments:
    """Arguments of a verb that goes back from what another did with these."""
    if verb in _TAKES:
        return {name: arguments[name] for name in _TAKES[verb]}
    return VERBS[verb](stage)


MAKES = {
    "task.new": "task", "task.retry": "task", "signal.send": "signal", "node.create": "node", "wu.new": "unit",
    "wu.split": "unit", "triage.promote": "unit", "archive.insert": "passage", "fact.add": "fact",
    "decision.note": "decision", "block.new": "block", "schedule.add": "schedule",
    "summary.make": "summary",
}  # fmt: skip
