"""What a worker claims, checked: the context of its task once more, without a model, and what follows."""

from __future__ import annotations

import time

import msgspec

from lumen_tui.model import acceptance, times
from lumen_tui.model.acceptance import Acceptance, Verdict
from lumen_tui.model.tasks import Exit
from lumen_tui.model.text import one_line
from lumen_tui.storage.journal import Journal
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks import claims
from lumen_tui.store.work import unit_checks as checks
from lumen_tui.tools.base import Context
from lumen_tui.tools.policy.verdict import CallHistory
from lumen_tui.tools.shell.tool import SHELL
from lumen_tui.worker.accepted import unit_checks
from lumen_tui.worker.asking import ApprovalClient
from lumen_tui.worker.checking import Checker
from lumen_tui.worker.record import Recorder, calls_made
from lumen_tui.worker.task import place_of, read_spec, role_of, toolbox_of
from lumen_tui.worker.world import World


def recorder(world: World, attempt: int) -> Recorder:
    """Return what appends to the task's events."""
    return Recorder(Journal(world.folder / "events.jsonl"), attempt, world.now, world.redact, world.stopper.guard)


def check(world: World, claim: Exit) -> Acceptance:
    """Run the checks of the task; what was found before a kill counts. Raises Stopped and CannotBegin."""
    if claim.acceptance is not None:
        return claim.acceptance
    spec, events, config = read_spec(world.folder), recorder(world, claim.attempt), load_config(world.store.layout)[0]
    role = role_of(world.store, spec, world.environ)
    spec, _ = place_of(world, spec, role, config)
    context = Context(
        role=role,
        spec=spec,
        store=world.store,
        folder=world.folder,
        now=world.now,
        monotonic=world.monotonic,
        stopped=world.stopper.stopped,
        redact=world.redact,
        environ=world.environ,
        guard=world.stopper.guard,
        progress=lambda text: events.event("note", text),
        ask=ApprovalClient(world, spec, events, claim.attempt).ask,
    )
    before = [name for name in calls_made(world.folder, claim.attempt + 1) if name != SHELL.name]
    # A worker cannot use up the calls that check it.
    toolbox = toolbox_of(role, spec, context, CallHistory(called=tuple(before)))
    seconds = config.workers.check_minutes * 60
    checker = Checker(msgspec.structs.replace(context, rules=toolbox.rules), toolbox, events, seconds)
    try:
        judgement = checker.run(spec.accept)
        if judgement.verdict is not Verdict.DISPROVED:
            _check_unit(context, checker, judgement)
        return judgement
    finally:
        toolbox.close()


def _check_unit(context: Context, checker: Checker, judgement: Acceptance) -> None:
    """Run the checks of the work unit, too: they say nothing of the task, but whether the unit can be closed."""
    spec, layout = context.spec, context.store.layout
    wanted = unit_checks(layout, spec, context.role)
    if not wanted:
        return
    known = {result.check: result for result in judgement.results}
    more = checker.run([text for text in wanted if text not in known])
    results = (*(known[text] for text in wanted if text in known), *more.results)
    judged = acceptance.judge(results, times.iso(context.now()))
    checks.write(layout, checks.UnitChecked(spec.wu_id, spec.id, judged))


def not_checked(reason: str) -> Acceptance:
    """Return the verdict on what could not be checked at all."""
    return Acceptance(Verdict.CLAIMED, why=one_line(reason, 300))


def conclude(world: World, claim: Exit, judgement: Acceptance) -> str:
    """Write what follows: a disproved task goes back once to a worker, every other end is final. Returns the status."""
    now = time.time()
    events = recorder(world, claim.attempt)
    refuted = [earlier for earlier in claims.refuted(world.folder) if earlier.attempt != claim.attempt]
    if judgement.verdict is Verdict.DISPROVED and len(refuted) < acceptance.SENT_BACK:
        events.event("note", f"sent back to a worker, disproved: {judgement.reason}")
        claims.send_back(world.folder, msgspec.structs.replace(claim, acceptance=judgement))
        return "queued"
    words = f"{judgement.verdict}: {judgement.reason}" if judgement.reason else str(judgement.verdict)
    events.event(
        "finished", one_line(words, 300), ok=judgement.verdict is not Verdict.DISPROVED, verdict=str(judgement.verdict)
    )
    return claims.settle(world.folder, claim, judgement, now).status
