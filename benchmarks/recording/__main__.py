"""`make demo-data`: record what a demo opens with, and pack it beside `lumen_tui/headless/recording.py`.

An engine, its workers and the verbs really do everything. Workers ask a model that is a script, over the real protocol.
Between two sessions the whole folder is moved back in time by the pause that two weeks would have had there.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

for _folder in ("apiserver", "support"):
    sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / _folder))

import msgspec  # noqa: E402 - the folders above hold what follows
from lumen_apiserver import ApiServer  # noqa: E402
from lumen_origin import forget_agents  # noqa: E402

from benchmarks.recording import world  # noqa: E402
from benchmarks.recording.mind import Mind  # noqa: E402
from lumen_tui.actions.registry import named, perform  # noqa: E402
from lumen_tui.engine.engine import Engine  # noqa: E402
from lumen_tui.engine.evolution import evolve  # noqa: E402
from lumen_tui.engine.evolution.pipeline import EvolutionPipeline  # noqa: E402
from lumen_tui.engine.runner import Runner, RunOptions  # noqa: E402
from lumen_tui.headless import demo, recording  # noqa: E402
from lumen_tui.model.config import EvolutionConfig  # noqa: E402
from lumen_tui.model.times import DAY, HOUR, MINUTE  # noqa: E402
from lumen_tui.storage.store import Store  # noqa: E402
from lumen_tui.store.memory import facts  # noqa: E402

_SETTINGS = """[heartbeat]
settle_seconds = 0.2
gather_seconds = 0.2

[workers]
limit = 5

[models]
provider = "script"
haiku = "script-small"
sonnet = "script-medium"
opus = "script-large"
routine = {{ main = "" }}
tries = 1

[evolution]
versions = "copies"
"""
_SESSION = "0b5c3f0e-1111-4222-8333-123456789abc"
_BEATS = 400  # of one session: by then it is idle


def ages() -> list[float]:
    """Return how long before the end each session begins, in seconds: three a day, and one in 35 minutes at last."""
    days = [DAY * day + HOUR * hour for day in range(13, 0, -1) for hour in (16.3, 10.6, 2.4)]
    return [*days, *(35 * MINUTE * step for step in range(17, 0, -1))]


class Recorder:
    """The folder, and the time that its next session stands for."""

    def __init__(self, base: Path) -> None:
        self.base, self.project = base, base / "project"
        self.store = Store(base / "state")
        self.server = ApiServer()
        self.server.otherwise(Mind(str(self.project)).answer)
        self.store.layout.create()
        self.store.layout.config.write_text(f"{_SETTINGS}{demo.SCRIPT}".format(url=self.server.url))

    def do(self, verb: str, by: str = "ana", ago: float = 0.0, **arguments: Any) -> str:
        """Carry out a verb `ago` seconds before now; return the id of what it acted on."""
        return perform(self.store, named(verb, arguments), by=by, now=time.time() - ago).target

    def order(self, order: world.ShopOrder, by: str = "ana") -> str:
        """ShopOrder a task of the world."""
        wu_id = order.wu_id if order.wu_id in self.units() else ""
        return self.do("task.new", by=by, objective=order.objective, role=order.role, folder=str(self.project),
                       wu_id=wu_id, isolate=order.isolate, steps=6 if order.fails == "steps" else 0)  # fmt: skip

    def units(self) -> set[str]:
        return {path.stem for path in self.store.layout.work.glob("WU-*.md")}

    def work(self) -> None:
        """Let an engine work until nothing is left to do."""
        options = RunOptions(until_idle=True, beats=_BEATS, signals=False)
        asyncio.run(Runner(Engine.open(self.store.layout.root), options).run())

    def rest(self, seconds: float) -> None:
        """Move all that was done so far back in time."""
        for path in self.store.layout.root.rglob("*"):
            if path.is_file() and not path.name.endswith(".lock") and "index" not in path.parts:
                status = path.stat()
                path.write_bytes(recording.move_file(path.name, path.read_bytes(), -seconds))
                os.utime(path, (status.st_mtime - seconds, status.st_mtime - seconds))
        shutil.rmtree(self.store.layout.index, ignore_errors=True)


def found_shop(recorder: Recorder) -> None:
    """Write down what there is on the first day."""
    for number, (wu_id, title, lane, priority) in enumerate(world.UNITS):
        after = ("WU-061",) if wu_id == "WU-088" else ()
        recorder.do("wu.new", ago=3600 - number, id=wu_id, title=title, lane=lane, priority=priority,
                    acceptance=world.ACCEPTANCE, depends_on=after)  # fmt: skip
    for content, days in world.NOTES:
        recorder.do("node.create", ago=max(0.0, days - 14) * DAY, content=content, type="note")
    recorder.do("block.new", name="notes", text="The shop is small; its customers are patient.")
    log = recorder.project / "log/app.log"
    recorder.do("fact.add", claim="The log of the shop is there", probes=[f"file {log}"])
    export = recorder.project / world.EXPORT
    recorder.do("fact.add", claim="The export of last week is in data/", probes=[f"file {export}"])
    recorder.do("fact.add", claim="Nobody uses the old export")
    recorder.do("schedule.add", name="nightly-errors", text="Count the errors of the last night by component",
                when="0 3 * * *", zone="UTC", role="analyst", folder=str(recorder.project), missed="skip")  # fmt: skip


def live_day(recorder: Recorder, number: int) -> None:
    """Do what belongs to the session of that number: an order or two, signals, what is noticed, and work on units."""
    recorder.order(world.ORDERS[number % len(world.ORDERS)])
    if number % 4 == 1:
        recorder.order(world.ORDERS[(number + 5) % len(world.ORDERS)], by="ben")
    sender, message, wu_id, priority = world.SIGNALS[number % len(world.SIGNALS)]
    recorder.do("signal.send", by=sender, message=message, wu_id=wu_id, priority=priority)
    for content, kind, priority, wu_id in noticed()[number * 2 : number * 2 + 2]:
        by = ("builder", "agent-a", "agent-b")[number % 3]
        recorder.do("node.create", by=by, content=content, type=kind, priority=priority, wu_id=wu_id)
    if turn := _TURNS.get(number):
        turn(recorder)


def noticed() -> list[tuple[str, str, str, str]]:
    """Return everything that is noticed in two weeks: single things, doubles of some, and one defect in many places."""
    doubles = [(text, *world.NOTICED[of][1:]) for text, of in world.DOUBLES]
    spread = [
        (text.format(component.capitalize()), kind, priority, "")
        for component in world.COMPONENTS
        for text, kind, priority in world.DEFECTS
    ]
    mixed = [*spread[:40], *doubles, *spread[40:], *world.NOTICED]
    return [mixed[place * 37 % len(mixed)] for place in range(len(mixed))]


def _sessions(recorder: Recorder) -> None:
    recorder.do("session.start", by="agent-a", wu_id="WU-042", agent_type="claude")
    recorder.do("checkpoint.save", by="agent-a", note="the store is read at the start", wu_id="WU-042", progress="60%")
    decision = recorder.do("decision.note", by="agent-a", question="Which store?", wu_id="WU-042")
    recorder.do("decision.answer", node_id=decision, answer="the one that is there")
    recorder.do("handoff.give", by="agent-a", note="all but the docs", wu_id="WU-042")
    recorder.do("session.end", by="agent-a")


def _units(recorder: Recorder) -> None:
    recorder.do("session.start", by="agent-b", wu_id="WU-093", agent_type="codex")
    recorder.do("checkpoint.save", by="agent-b", note="form and tests; review is next", wu_id="WU-093", progress="80%")
    recorder.do("wu.claim", by="agent-a", wu_id="WU-101")
    recorder.do("wu.block", by="agent-a", wu_id="WU-101", reason="waits for the validation port")
    recorder.do("session.start", by="agent-c", wu_id="WU-061", agent_type="claude")
    recorder.do("checkpoint.save", by="agent-c", note="budget counts; the pause is open", wu_id="WU-061",
                progress="45%")  # fmt: skip


def _done(recorder: Recorder) -> None:
    recorder.do("wu.claim", by="agent-c", wu_id="WU-074")
    recorder.do("wu.done", by="agent-c", wu_id="WU-074", no_checkpoint_check=True)
    recorder.do("budget.raise", usd=2.0)


def _triage(recorder: Recorder) -> None:
    """Judge some of what was noticed, so that there is an earlier decision about most kinds."""
    rows = [msgspec.json.decode(line) for line in recorder.store.layout.memory.read_bytes().splitlines()]
    open_ids = [row["id"] for row in rows if row["type"] == "discovery"]
    recorder.do("triage.archive", node_ids=open_ids[1:4], reason="wontfix")
    recorder.do("triage.archive", node_ids=open_ids[4:6], reason="stale")
    recorder.do("triage.promote", node_ids=[open_ids[6]], lane="Core")
    recorder.do("triage.merge", node_ids=open_ids[7:9], into=open_ids[7])
    recorder.do("triage.keep", node_ids=open_ids[9:11], days=30)


def _learning(recorder: Recorder) -> None:
    path, config = recorder.base / f"{_SESSION}.jsonl", EvolutionConfig(versions="copies")
    lines = [
        {"type": "user", "sessionId": _SESSION, "uuid": f"u{number}", "cwd": "/home/ana", "version": "2.1.0",
         "timestamp": "2026-11-21T10:00:00.000Z", "message": {"role": "user", "content": text}}
        for number, text in enumerate(world.TAUGHT)
    ]  # fmt: skip
    path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in lines))
    layout = recorder.store.layout
    outcome = evolve.evolve(layout, EvolutionPipeline(layout, config), (path,), now=time.time())
    evolve.write(layout, outcome, config, now=time.time(), by="evolution")
    path.unlink()


def _relay(recorder: Recorder) -> None:
    for base, writer in ((0, "agent-a"), (1, "agent-b"), (1, "agent-c")):
        text = f"Port of the validation service: {8800 + len(writer) + base}, said by {writer}"
        recorder.do("relay.submit", by=writer, relay_name="validation-port", text=text, base=base)


def _last_night(recorder: Recorder) -> None:
    """Leave what an operator finds in the morning: failures, a change list, an urgent signal."""
    for order in (*world.FAILURES, *world.CHANGES):
        recorder.order(order)
    (recorder.project / world.EXPORT).unlink()
    known = [state.fact.id for state in facts.states(recorder.store.layout)]
    recorder.do("fact.check", fact_ids=known)
    sender, message, wu_id, priority = world.URGENT
    recorder.do("signal.send", by=sender, message=message, wu_id=wu_id, priority=priority)


def _snooze(recorder: Recorder) -> None:
    failed = recorder.order(world.FAILURES[0], by="ben")
    recorder.work()
    recorder.do("attention.snooze", by="ben", targets=[failed], seconds=2 * DAY)


_TURNS = {8: _sessions, 16: _triage, 20: _units, 26: _done, 30: _learning, 38: _relay, 46: _snooze, 54: _last_night}


def record(base: Path) -> bytes:
    """Live through all sessions in the empty folder `base`; return the archive."""
    world.make_project(base / "project")
    recorder = Recorder(base)
    found_shop(recorder)
    all_ages = [*ages(), 0.0]
    for number, (age, following) in enumerate(itertools.pairwise(all_ages)):
        began = time.time()
        live_day(recorder, number)
        recorder.work()
        if following:
            recorder.rest(max(0.0, age - following - (time.time() - began)))
        print(f"\r{number + 1} of {len(all_ages) - 1} sessions", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return recording.pack(base, time.time())


def main() -> int:
    """Record, pack, and say how large it is."""
    forget_agents()
    began = time.monotonic()
    state = demo.make_folder()  # its name is as long as that of every demo
    try:
        data = record(state.parent)
    finally:
        shutil.rmtree(state.parent)
    recording.ARCHIVE.write_bytes(data)
    print(f"{recording.ARCHIVE}: {len(data):,} bytes, recorded in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
