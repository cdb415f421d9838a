"""The provider without a model: deterministic playbooks that make the calls a model would make.

In the chat it also says what the program itself knows, and else what is missing.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Generator

import msgspec

from lumen_tui.model.patterns import lazy_re
from lumen_tui.providers.base import (
    Conversation,
    ConversationOutcome,
    Job,
    ProviderError,
    Reply,
    Step,
    TextUpdate,
    ToolCall,
    ask,
)
from lumen_tui.providers.offline.going_on import GoingOn
from lumen_tui.providers.offline.grammar import NoMatch, PlaybookPlan
from lumen_tui.providers.offline.objective_parser import SearchRoot, bare_names
from lumen_tui.providers.offline.playbook_router import CAN_ANSWER, choose, reread
from lumen_tui.providers.offline.playbooks import PLAYBOOKS
from lumen_tui.providers.offline.report import PlaybookFailed, PlaybookReport, line

HELP = (
    "Set ANTHROPIC_API_KEY (or [models] provider) to give this to a model, or ask for one of the things it can do "
    f"without one: {'; '.join(CAN_ANSWER)}. For example: What are the 5 largest files in /tmp?"
)
_ABSOLUTE = lazy_re(r"(?<![\w:/.~*-])/[^\s\"'`,;?!]+")
_ABOUT_STATE = lazy_re(
    r"\b(?:status|going on|happening|happened|up to|doing|running|runs|waits?|waiting|queued?|open tasks?|budget"
    r"|spent|last loop|wake-state|news)\b",
    re.IGNORECASE,
)
_DATA_TAGS = lazy_re(r"^</?data\b[^\n]*\n?", re.MULTILINE)
_OFFLINE = "I am offline: no model is configured."
_CAN_DO = (
    "Without a model I can say what is going on here, and answer questions such as these: {}. I cannot plan, write, "
    "weigh something up or give out work. Set ANTHROPIC_API_KEY (or [models] provider) and say it again; for one piece "
    "of work there is `lumen-tui task new`."
)


class OfflineProvider:
    """Plays the playbook that matches the objective; fails clearly where none does."""

    resumes = True
    deaf = ""  # it takes none either, but is over within seconds

    def __init__(self) -> None:
        self.brain = "offline"

    def converse(self, job: Job) -> Conversation:
        """Work on one task. Raises ProviderError where no playbook fits, and never answers by guessing."""
        before = GoingOn(job)
        return (yield from before.play(self._work(job, before.started)))

    def _work(self, job: Job, started: float) -> Conversation:
        objective = reread(job.objective, job.synonyms)
        plan = yield from _planned(msgspec.structs.replace(job, objective=objective, now=lambda: started))
        if isinstance(plan, NoMatch):
            raise ProviderError(f"The offline provider {plan.reason}. {HELP}")
        self.brain = f"offline: {plan.playbook}"
        yield TextUpdate(f"playbook {plan.playbook}, {_parameters(plan)}", kind="note")
        if job.context.strip():
            yield TextUpdate("the task's context is not read by playbooks", kind="note")
        return (yield from _play(plan, job))


def _planned(job: Job) -> Generator[Step, Reply | None, PlaybookPlan | NoMatch]:
    """Return the plan: from absolute paths alone, else with the names in the folder where the task was given.

    A folder that the objective names in full is tried last as the place of other names in it.
    """
    plan = choose(job.objective, job.constraints, now=job.now())
    named = tuple(dict.fromkeys(path.rstrip("./)") for path in _ABSOLUTE.findall(job.objective)))
    if isinstance(plan, PlaybookPlan) and not plan.terms and (named or not job.folder):
        return plan
    for folder in (job.folder, *named):
        if not folder or (isinstance(plan, PlaybookPlan) and not ((folder == job.folder and not named) or plan.terms)):
            continue
        local_plan = yield from _planned_at(job, folder)
        plan = local_plan if isinstance(local_plan, PlaybookPlan) or folder == job.folder else plan
    return plan


def _planned_at(job: Job, folder: str) -> Generator[Step, Reply | None, PlaybookPlan | NoMatch]:
    """Return the plan where names count from a folder; a file that is not directly in it is looked for below it."""
    place = yield from _place(folder)
    if not place.names:
        return NoMatch(f"needs a whole path: {line(folder)} cannot be listed, or is empty")
    below: list[tuple[str, str]] = []
    for name in bare_names(job.objective):
        if name in place.names:
            continue
        reply = yield from ask(ToolCall("glob", {"pattern": name, "path": folder, "limit": 50}))
        paths = [hit["path"] for hit in reply.data["matches"] if "/.git/" not in hit["path"]] if reply.ok else []
        if len(paths) > 1:
            return NoMatch(f"needs to know which {line(name)} is meant: {', '.join(line(path) for path in paths[:5])}")
        below += [(name, os.path.relpath(path, reply.data["path"])) for path in paths]
    return choose(job.objective, job.constraints, msgspec.structs.replace(place, below=tuple(below)), job.now())


def _place(folder: str) -> Generator[Step, Reply | None, SearchRoot]:
    """Return what is in a folder; nothing where it cannot be listed."""
    reply = yield from ask(ToolCall("list_dir", {"path": folder, "limit": 5000}))
    names = tuple(reply.data["names"]) if reply.ok else ()
    return SearchRoot(os.path.normpath(folder), names)


def _play(plan: PlaybookPlan, job: Job) -> Conversation:
    started = job.now()
    try:
        report = yield from PLAYBOOKS[plan.playbook](plan)
    except PlaybookFailed as error:
        return ConversationOutcome(ok=False, reason=str(error))
    text = _finish(report, plan, job, started)
    reply = yield from ask(ToolCall("write_result", {"text": text}))
    if not reply.ok:
        return ConversationOutcome(ok=False, reason=f"the result could not be written: {reply.text}")
    return ConversationOutcome(ok=True, text=text)


def _parameters(plan: PlaybookPlan) -> str:
    """Return what was understood: each parameter that is not as it would be by itself."""
    usual = PlaybookPlan(playbook="", path="")
    parts = [f"path {plan.path}", f"number {plan.number}"]
    for name, value in msgspec.structs.asdict(plan).items():
        if name not in ("playbook", "path", "number", "period", "days") and value != getattr(usual, name):
            parts.append(f"{name} {value!r}")
    return ", ".join([*parts, *([f"period {plan.period.text}"] if plan.period.text else [])])


def _finish(report: PlaybookReport, plan: PlaybookPlan, job: Job, started: float) -> str:
    """Return the result: title, body, what limits it, and how it came about."""
    notes = [f"- {line(note)}" for note in report.notes]
    notes += [f"- Constraint not applied by this playbook: {line(text)}" for text in job.advice]
    seconds = max(0.0, job.now() - started)
    origin = f"Found without a model by the playbook `{plan.playbook}` in {seconds:.1f} s."
    parts = [f"# {report.title}", report.body, "\n".join(notes), origin]
    return "\n\n".join(part for part in parts if part) + "\n"


class OfflineChat(OfflineProvider):
    """Answers one turn of the chat. The job's context is the state of the agent as its engine knows it."""

    def converse(self, job: Job) -> Conversation:
        try:
            return (yield from super().converse(job))
        except ProviderError as error:
            reason = str(error).partition(". ")[0]
        if _ABOUT_STATE.search(job.objective) and job.context.strip():
            self.brain = "offline: state"
            state = _DATA_TAGS.sub("", job.context).strip()
            return ConversationOutcome(ok=True, text=f"{_OFFLINE} This is what the program itself knows.\n\n{state}")
        text = f"{_OFFLINE} {reason}. {_CAN_DO.format('; '.join(CAN_ANSWER))}"
        return ConversationOutcome(ok=False, text=text, reason="no model is configured, and no playbook answers this")
