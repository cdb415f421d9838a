"""One task from its spec to its exit: the conversation between a provider and the toolbox."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from lumen_tui.model import agent
from lumen_tui.model.config import Config
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.isolation import Isolation
from lumen_tui.model.prompts import Request, text_of
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Run, Spec
from lumen_tui.model.text import one_line
from lumen_tui.model.transcript import session_id
from lumen_tui.providers.base import (
    BuiltinToolResult,
    Conversation,
    ConversationOutcome,
    CutOffCall,
    EndpointClosed,
    Job,
    PermissionRequest,
    ProviderError,
    Reply,
    Reserve,
    Spent,
    TextUpdate,
    ToolCall,
)
from lumen_tui.providers.choose import choose_provider, targets, tuning
from lumen_tui.providers.conversation.history import Entry
from lumen_tui.providers.errors import ModelCallError
from lumen_tui.storage import files
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution import abtests, champions
from lumen_tui.store.sessions import chats
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.roles import load_role
from lumen_tui.tools.agent import escalation, report
from lumen_tui.tools.agent.escalation import reason_of
from lumen_tui.tools.agent.notes import acts_so_far
from lumen_tui.tools.agent.tools import earlier
from lumen_tui.tools.base import BadRules, Context, ToolError, ToolResult
from lumen_tui.tools.isolation.base import Unfit
from lumen_tui.tools.outputs import load_media
from lumen_tui.tools.policy.verdict import CallHistory
from lumen_tui.tools.sandbox.admission import tier_in_force
from lumen_tui.tools.toolbox import Handling, StepLimit, Toolbox
from lumen_tui.worker import apart
from lumen_tui.worker.accepted import unit_checks
from lumen_tui.worker.acting import performer
from lumen_tui.worker.chat_turn import TurnTranscript, history, turn_role
from lumen_tui.worker.closing import Closing
from lumen_tui.worker.control import Control
from lumen_tui.worker.engine_link import handling_of
from lumen_tui.worker.handover import Handover
from lumen_tui.worker.limits import TaskLimits
from lumen_tui.worker.partial import partial_result
from lumen_tui.worker.prompt import build
from lumen_tui.worker.questions import QuestionClient
from lumen_tui.worker.record import Recorder, Transcript, calls_made
from lumen_tui.worker.sandboxed_backend import launch
from lumen_tui.worker.skills import problems_of
from lumen_tui.worker.spending import NoRoom, Spending
from lumen_tui.worker.subtasks import TaskWaiter
from lumen_tui.worker.summaries import summary_order
from lumen_tui.worker.surroundings import apart_words
from lumen_tui.worker.world import TaskTally, World, rules_for_record


class CannotBegin(Exception):
    """The task cannot begin; the text says what a person must fix."""


def read_spec(folder: Path) -> Spec:
    """Read spec.json. Raises CannotBegin if it cannot be used."""
    try:
        data = files.read(folder / "spec.json")
        if data is None:
            raise CannotBegin(f"{folder.name}/spec.json is missing")
        spec = msgspec.json.decode(data, type=Spec)
    except UNDECODABLE as error:
        raise CannotBegin(f"{folder.name}/spec.json cannot be read: {error}") from error
    if spec.id != folder.name:
        raise CannotBegin(f"{folder.name}/spec.json is of another task ({one_line(spec.id, 80)})")
    return spec


def read_attempt(folder: Path) -> int:
    """Return the attempt number in run.json; 1 if there is none."""
    try:
        return msgspec.json.decode(files.read(folder / "run.json") or b"", type=Run).attempt
    except (*UNDECODABLE, files.StoreError):
        return 1


def role_of(store: Store, spec: Spec, environ: Mapping[str, str]) -> Role:
    """Return the role of a task, whose worker has this environment. Raises CannotBegin where it cannot be used."""
    name = spec.role
    if (name == agent.ROLE) != agent.is_own(spec.id):
        raise CannotBegin(f"role {agent.ROLE} and ids such as {agent.task_id(1)} are the engine's own: choose others")
    try:
        role = abtests.with_edits(store.layout, load_role(store.layout, name), spec.id)
        if agent.turn_of(spec.id):
            return turn_role(role, offline=_is_offline(store, role, spec, environ))
        return agent.with_tools(role) if name == agent.ROLE else role
    except FileNotFoundError:
        raise CannotBegin(f"there is no role {one_line(name, 80)!r}: hire it, or give the task another") from None
    except (BadFile, ValueError) as error:
        raise CannotBegin(f"role {one_line(name, 80)!r} cannot be used: {error}") from error


def _is_offline(store: Store, role: Role, spec: Spec, environ: Mapping[str, str]) -> bool:
    """Return whether no model serves a task; where it cannot be known the provider says why."""
    try:
        return targets(load_config(store.layout)[0].models, role, spec, environ)[0].endpoint.name == "offline"
    except ProviderError:
        return False


class Task:
    """One task: its role, its toolbox, and the conversation that does it."""

    def __init__(self, world: World, tally: TaskTally) -> None:
        store = world.store
        self._world, self._tally = world, tally
        self.spec = read_spec(world.folder)
        tally.attempt = read_attempt(world.folder)
        self._role = role_of(store, self.spec, world.environ)
        tally.has_checks = bool(self.spec.accept or unit_checks(store.layout, self.spec, self._role))
        tally.session = session_id(self.spec, tally.attempt)
        self._config, self._problems = load_config(store.layout)
        self._events = Recorder(
            Journal(world.folder / "events.jsonl"), tally.attempt, world.now, world.redact, world.stopper.guard
        )
        session = store.layout.transcript(tally.session), world.folder, world.now, world.redact, world.stopper.guard
        turn = agent.turn_of(self.spec.id)
        self._transcript = TurnTranscript(store.layout, turn, tally, *session) if turn else Transcript(*session)
        given = self.spec  # what the engine compares the record of the steps with
        self.spec, self._isolation = place_of(world, given, self._role, self._config)
        self._closing = Closing(world, self.spec, self._role, self._config.models, self._events, tally)
        self._handover = Handover(world, given, tally)
        self._steps = self._handover.steps
        self.limits = TaskLimits(world.stopper, self._role, self.spec, tally.seconds)
        self._spending = Spending(
            world, tally, self.spec, self._events, reached=lambda: self.limits.reached(self._toolbox)
        )
        self._handover.counts(self.limits, self._spending)
        self._control = Control(
            world, self.spec, self._events, tally.attempt, known=self._steps.said,
            apply=lambda spec: self.limits.change(spec, self._toolbox, self._spending, self._config),
        )  # fmt: skip
        self._questions = QuestionClient(
            world, self.spec, self._events, tally.attempt, stays=lambda: not self._resumes, hear=self._control.hear,
            park=self._handover.park,
        )  # fmt: skip
        self._waiter = TaskWaiter(world, self.spec, self._events, lambda: not self._resumes, self._handover)
        self._approvals = self._handover.approvals(
            self._events, lambda: not self._resumes or self._role.name == agent.ROLE
        )
        self._resumes = False
        self._context = self._make_context()
        before = self._steps.history(calls_made(world.folder, tally.attempt))
        self._toolbox = toolbox_of(self._role, self.spec, self._context, before, handling_of(world.link))
        self._written = False
        self._tier = ""
        self._prompt = Request((), ())

    def _make_context(self) -> Context:
        world = self._world
        return Context(
            role=self._role,
            spec=self.spec,
            store=world.store,
            folder=world.folder,
            now=world.now,
            monotonic=world.monotonic,
            stopped=world.stopper.stopped,
            redact=world.redact,
            environ=world.environ,
            guard=world.stopper.guard,
            progress=lambda text: self._events.event("note", text),
            begins=self._handover.begins,
            ask=self._approvals.ask,
            perform=performer(world),
            question=self._questions.ask,
            wait=self._waiter.wait,
            memo=self._handover.memo,
        )

    def keep_partial(self, reason: str) -> None:
        """Keep what there is as the result, where the task was stopped after a step and has written none."""
        path = self._world.folder / report.RESULT
        if self._role.name != agent.ROLE and not path.exists():
            files.replace(path, self._world.redact(partial_result(self._world.folder, reason)).encode())

    def run(self) -> ConversationOutcome:
        """Do the task. Raises Stopped and PutBack; everything else that goes wrong becomes a failed outcome."""
        began = f"role {self._role.name}: {one_line(self.spec.objective, 200)}"
        self._tier = self._sandbox()
        self._events.event("started", began, session=self._tally.session, sandbox=self._tier)
        if self._isolation is not None:
            self._events.event("note", apart_words(self._isolation))
        for problem in self._problems:
            self._events.event("note", f"{problem.where}: {problem.what}")
        for text in (*rules_for_record(self._toolbox.rules), *problems_of(self._context)):
            self._events.event("note", text)
        try:
            outcome = self._converse()
        except (ProviderError, StepLimit) as error:
            self._tally.unanswered = isinstance(error, ModelCallError)
            self._closing.take(error)
            outcome = ConversationOutcome(ok=False, reason=str(error))
        finally:
            self._toolbox.close()
        return self._settle(outcome)

    def _sandbox(self) -> str:
        """Return the sandbox tier of its commands. Raises CannotBegin if it needs commands and none may run."""
        try:
            return tier_in_force(self._context, self._toolbox.rules.shell)
        except ToolError as error:
            raise CannotBegin(str(error)) from error

    def finished(self, status: str, reason: str) -> None:
        """Record the last event."""
        if self._control.was_told:
            self._control.close("it has ended")
        claimed = status == "done" and self._tally.has_checks
        words = one_line(reason, 160) or ("says that it is done" if claimed else status)
        self._events.event("finished", words, ok=status == "done", status=status)
        self._transcript.end(status, reason)

    def _converse(self) -> ConversationOutcome:
        """Have the model of the spec do it; a loop that began on a cheaper tier may go on with its own."""
        if not (agent.loop_of(self.spec.id) and self.spec.model):
            return self._ask(self.spec)
        if reason_of(acts_so_far(self._context)):  # an attempt before this one was cut off behind that
            return self._ask(replace(self.spec, model=""))
        try:
            outcome = self._ask(self.spec)
            failure = outcome.reason
        except ModelCallError as error:
            if error.closed:
                raise
            outcome, failure = ConversationOutcome(ok=False), str(error)
        handed_over = reason_of(acts_so_far(self._context))
        if outcome.ok and not handed_over:
            return outcome
        reason = handed_over or one_line(f"{self.spec.model} could not do it: {failure}", 200)
        if not handed_over:
            escalation.note_failure(self._context, reason)
        self._events.event("note", f"goes on with the role's own tier: {reason}")
        return self._ask(replace(self.spec, model=""), reason)

    def _ask(self, spec: Spec, escalated: str = "") -> ConversationOutcome:
        """Ask the model of this spec, from the beginning. `escalated`: why the one before does not go on."""
        provider = choose_provider(self._config.models, self._role, spec, self._world.environ)
        self._tally.brain, self._resumes = provider.brain, provider.resumes
        job = self._job(spec, escalated)
        job = self._handover.begin(type(provider).__name__, job, self._events)
        self._transcript.begin(spec, provider.brain, self._prompt.templates)
        self._handover.go_on(self._questions, self._control.hear, self._transcript)
        if provider.deaf:
            self._control.close(provider.deaf)
        conversation = provider.converse(job)
        try:
            return self._drive(conversation)
        finally:
            self._tally.brain = provider.brain
            conversation.close()

    def _drive(self, conversation: Conversation) -> ConversationOutcome:
        reply: Reply | None = None
        while True:
            try:
                step = conversation.send(reply)
            except StopIteration as end:
                return _as_outcome(end.value)
            reply = None
            if isinstance(step, ToolCall):
                reply = self._call(step)
                if reply.ok and _ends(step, self._toolbox) and not (self._resumes and self._control.waits(step.name)):
                    return ConversationOutcome(ok=True)
            elif isinstance(step, CutOffCall):
                reply = self._handover.cut_off(step.call, self._toolbox, self._events)
            elif isinstance(step, PermissionRequest):
                reply = self._permit(step)
            elif isinstance(step, Reserve):
                reply = self._reserve(step)
            elif isinstance(step, EndpointClosed):
                reply = self._closing.wait(step)
            else:
                self._take(step)

    def _reserve(self, step: Reserve) -> ToolResult | None:
        self._world.stopper.pass_step()
        self._control.keep_limits()
        try:
            output = self._spending.reserve(step)
        except NoRoom as short:
            return ToolResult(str(short), ok=False)
        if not step.purpose:
            self._transcript.reserved(step.model)
        return ToolResult("", data={"output": output}) if output else None

    def _take(self, step: TextUpdate | Spent | BuiltinToolResult) -> None:
        """Record a step of the back end that needs no reply."""
        if isinstance(step, TextUpdate):
            self._events.event(step.kind, step.text, **step.data)
            self._transcript.said(step.kind, step.text)
        elif isinstance(step, BuiltinToolResult):
            self._ran(step)
        else:
            if not step.purpose:
                self._transcript.spent(step.usage, ok=step.ok)
            self._spending.spent(step.usage, step.purpose, step.window)

    def _call(self, call: ToolCall) -> ToolResult:
        name = one_line(call.name, 60)
        described = self._toolbox.describe(call.name, call.arguments)
        self._events.event("call", described, tool=name)
        self._handover.calls(call, described)
        self._transcript.called(call.name, call.arguments)
        result = self._toolbox.call(call.name, call.arguments)
        self._transcript.answered(result)
        self._events.result(name, result)
        self._written = self._written or (call.name in ("write_result", report.NAME) and result.ok)
        return result

    def _permit(self, step: PermissionRequest) -> ToolResult:
        """Decide whether a back end may use a tool of its own."""
        if step.foreign:
            self._toolbox.adopt(step.call.name, asks=step.asks)
        described = self._toolbox.describe(step.call.name, step.call.arguments)
        self._events.event("call", described, tool=step.name, counts_as=step.call.name)
        self._handover.calls(step.call, described)
        result = self._toolbox.permit(step.call.name, step.call.arguments)
        if not result.ok:
            self._ran(BuiltinToolResult(step.call, step.name, result.text, ok=False), refused=True)
        return result

    def _ran(self, step: BuiltinToolResult, **more: object) -> None:
        """Record what a back end's own tool returned."""
        text = f"{step.text.count(chr(10)) + 1:,} lines" if step.ok else one_line(step.text, 300)
        self._transcript.called(step.name, step.call.arguments)
        self._transcript.answered(ToolResult(step.text, step.ok, summary=text))
        output = step.text if step.call.name == "shell" else ""
        self._events.event("result", text, tool=step.name, ok=step.ok, output=output, **more)

    def _settle(self, outcome: ConversationOutcome) -> ConversationOutcome:
        """Check the end: the final answer becomes the result if none was written."""
        self._transcript.answer(outcome.text)
        if not outcome.ok:
            self._events.event("error", outcome.reason, ok=False)
            return outcome
        if not self._written and outcome.text.strip():
            self._keep(outcome.text)
            self._written = True
        if not self._written:
            return ConversationOutcome(ok=False, reason="it ended without a result")
        if missing := self._toolbox.unmet():
            return ConversationOutcome(ok=False, reason=f"it ended too early: {missing}")
        return outcome

    def _keep(self, text: str) -> None:
        """Keep the final answer as the result, or as the deposit of a loop that ended without one."""
        if agent.loop_of(self.spec.id):
            report.deposit_last_words(self._context, text)
        else:
            files.replace(self._world.folder / "result.md", self._world.redact(text).encode())

    def _job(self, spec: Spec, escalated: str) -> Job:
        context = msgspec.structs.replace(self._context, rules=self._toolbox.rules)
        before = earlier(acts_so_far(context)) if self._tally.attempt > 1 or escalated else ""
        self._prompt, problems = build(
            context, self._config, tier=self._tier, seconds=self.limits.seconds, earlier=before
        )
        summary, damaged = summary_order(context, self._toolbox)
        for problem in [*problems, *([damaged] if damaged else [])]:
            self._events.event("note", f"{problem.where}: {problem.what}; {problem.hint}")
        earlier_turns, opening = self._conversation(text_of(self._prompt.first))
        return Job(
            system=text_of(self._prompt.system),
            history=earlier_turns,
            opening=opening,
            standing=self._prompt.standing,
            objective=self.spec.objective,
            synonyms=champions.synonyms(context.store.layout),
            folder=self.spec.folder,
            context=self.spec.context,
            constraints=self.spec.constraints,
            advice=context.rules.advice,
            tools=tuple(self._toolbox.declarations()),
            tuning=tuning(self._config.models, self._role, spec),
            last=report.NAME if agent.loop_of(self.spec.id) else "",
            now=self._world.now,
            sent=self._spending.sent,
            keep=self._handover.keep,
            news=self._control.news,
            load=partial(load_media, self._world.folder),
            summary=summary,
            launch=partial(launch, context),
        )

    def _conversation(self, opening: str) -> tuple[tuple[Entry, ...], str]:
        """Return what was said before and the message that is sent now; nothing before but in a turn of the chat."""
        if not isinstance(self._transcript, TurnTranscript):
            return (), opening
        sent = self._transcript.told(opening)
        return history(chats.read(self._world.store.layout), agent.turn_of(self.spec.id)), sent


def place_of(world: World, spec: Spec, role: Role, config: Config) -> tuple[Spec, Isolation | None]:
    """Give the task a folder of its own where it is to have one. Raises CannotBegin."""
    try:
        return apart.begin(world, spec, role, config)
    except Unfit as error:
        raise CannotBegin(str(error)) from error


def _ends(call: ToolCall, toolbox: Toolbox) -> bool:
    """Return whether the task is over after this call, which went well."""
    if call.name in (report.NAME, escalation.NAME):
        return True
    return call.name == report.WRITE_RESULT.name and call.alone and not toolbox.unmet()


def toolbox_of(role: Role, spec: Spec, context: Context, before: CallHistory, how: Handling | None = None) -> Toolbox:
    try:
        return Toolbox(role, spec, context, before, how)
    except BadRules as error:
        raise CannotBegin(str(error)) from error


def _as_outcome(value: object) -> ConversationOutcome:
    return (
        value
        if isinstance(value, ConversationOutcome)
        else ConversationOutcome(ok=False, reason="the provider ended without an answer")
    )
