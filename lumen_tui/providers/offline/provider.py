"""The provider without a model: deterministic playbooks that make the calls a model would make."""

from __future__ import annotations

from lumen_tui.providers.base import Conversation, ConversationOutcome, Job, ProviderError, TextUpdate, ToolCall, ask
from lumen_tui.providers.offline.playbook_router import CAN_ANSWER, NoMatch, PlaybookPlan, choose
from lumen_tui.providers.offline.playbooks import PLAYBOOKS
from lumen_tui.providers.offline.report import PlaybookFailed, PlaybookReport, line

HELP = (
    "Set ANTHROPIC_API_KEY (or [models] provider) to give this to a model, or ask for one of the things it can do "
    f"without one: {'; '.join(CAN_ANSWER)}. For example: What are the 5 largest files in /tmp?"
)


class OfflineProvider:
    """Plays the playbook that matches the objective; fails clearly where none does."""

    def __init__(self) -> None:
        self.brain = "offline"

    def converse(self, job: Job) -> Conversation:
        """Work on one task. Raises ProviderError where no playbook fits, and never answers by guessing."""
        plan = choose(job.objective, job.constraints)
        if isinstance(plan, NoMatch):
            raise ProviderError(f"The offline provider {plan.reason}. {HELP}")
        self.brain = f"offline: {plan.playbook}"
        yield TextUpdate(f"playbook {plan.playbook}, {_parameters(plan)}", kind="note")
        if job.context.strip():
            yield TextUpdate("the task's context is not read by playbooks", kind="note")
        return (yield from _play(plan, job))


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
    parts = [f"path {plan.path}", f"number {plan.number}"]
    parts += [f"pattern {plan.pattern!r}"] * bool(plan.pattern) + [f"names {plan.name}"] * bool(plan.name)
    return ", ".join([*parts, *([f"last {plan.days:g} days"] if plan.days else [])])


def _finish(report: PlaybookReport, plan: PlaybookPlan, job: Job, started: float) -> str:
    """Return the result: title, body, what limits it, and how it came about."""
    notes = [f"- {line(note)}" for note in report.notes]
    notes += [f"- Constraint not applied by this playbook: {line(text)}" for text in job.advice]
    seconds = max(0.0, job.now() - started)
    origin = f"Found without a model by the playbook `{plan.playbook}` in {seconds:.1f} s."
    parts = [f"# {report.title}", report.body, "\n".join(notes), origin]
    return "\n\n".join(part for part in parts if part) + "\n"
