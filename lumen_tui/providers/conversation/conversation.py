"""A conversation between a task and a model: ask, make the calls, ask again, until there is an answer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, closing
from functools import partial

from msgspec.structs import replace

from lumen_tui.model.config import ModelsConfig
from lumen_tui.model.tasks import DECLINED, Usage
from lumen_tui.model.text import one_line
from lumen_tui.providers.base import (
    Conversation,
    ConversationOutcome,
    CutOffCall,
    Job,
    ProviderError,
    Reply,
    Step,
    TextUpdate,
    ToolCall,
    ask,
)
from lumen_tui.providers.conversation.attachments import without_media
from lumen_tui.providers.conversation.calling import Answered, ModelCaller
from lumen_tui.providers.conversation.compaction import Compaction
from lumen_tui.providers.conversation.false_ends import announces, holds_call, without_thinking
from lumen_tui.providers.conversation.history import (
    AssistantMessage,
    CallVerdict,
    Entry,
    ModelCall,
    Prompt,
    RepetitionGuard,
    ResultMessage,
    ResultMessages,
    Said,
    UserMessage,
    refusal_of,
    without_native,
)
from lumen_tui.providers.conversation.steps import UNFINISHED, Answer, CallEnded, ConversationState, Rewritten
from lumen_tui.providers.conversation.summing_up import Summariser
from lumen_tui.providers.conversation.window import ContextWindow
from lumen_tui.providers.errors import ModelCallError
from lumen_tui.providers.vendors.endpoints import Target
from lumen_tui.providers.vendors.sdk_client import ModelClient

_CONTINUE = {
    "length": "Your answer reached its length limit. Go on from where it ended, in smaller parts.",
    "empty": "Your answer was empty. Go on: make the next tool call, or give the result.",
    "tool": "Your answer announced a tool call and held none. Make the call again, or give the result.",
    "astext": "You wrote a tool call as plain text, and it was not made. Call the tool itself, or give the result.",
    "announced": "You announced a step and did not take it. Call the tool now, or give the result.",
}
_MAX_UNFINISHED = 3  # unfinished answers between two tool calls before the task is given up
_ASKED_ONCE = ("astext", "announced")  # of these, the second one ends the task
_STOP_REASONS = {
    "length": "the model's answers were cut at the length limit again and again: ask for less at a time",
    "pause": "the model paused again and again",
    "refusal": DECLINED,
    "window": "the conversation no longer fits the model: give a narrower objective",
    "tool": "the model said that it calls a tool, and called none",
    "empty": "the model's answers were empty again and again",
    "astext": "the model writes its tool calls as plain text: choose a model, or a server, that can call tools",
    "announced": "the model announced what it would do, twice, and did nothing",
}
_MAX_REPAIRS = 2
_NOT_LAST = "Not done: another call of the same answer failed. Look at its result first, then call {} again."
_RESULT = "write_result"  # the tool; whoever has written the result may end without a word


def connect(target: Target, config: ModelsConfig, environ: Mapping[str, str], now: Callable[[], float]) -> ModelClient:
    """Return the client for the API that the target's endpoint speaks. ProviderError where a key is missing.

    Nothing is sent yet.
    """
    if target.endpoint.kind == "openai":
        from lumen_tui.providers.vendors.openai import OpenAIClient

        return OpenAIClient(target, config, environ, now)
    from lumen_tui.providers.vendors.anthropic import AnthropicClient

    return AnthropicClient(target, config, environ, now)


class ModelProvider:
    """A provider: the first of its targets answers, the others stand by."""

    resumes = True
    deaf = ""

    def __init__(self, targets: tuple[Target, ...], config: ModelsConfig, environ: Mapping[str, str]) -> None:
        self._targets, self._config, self._environ = targets, config, environ
        self._used = [targets[0].label]
        for target in targets[:1]:
            target.endpoint.check(environ)

    @property
    def brain(self) -> str:
        """Which models have answered: `anthropic claude-sonnet-5-5, then ollama qwen3`."""
        return ", then ".join(self._used)

    def converse(self, job: Job) -> Conversation:
        """Work on one task. Raises ProviderError."""
        wires, missing = self._wires(job)
        yield from missing
        with ExitStack() as stack:
            for wire in wires:
                stack.enter_context(closing(wire))
            caller = ModelCaller(wires, self._config, job)
            self._used = caller.used
            summariser = Summariser(job, self._config, partial(self._connect, job))
            return (yield from _ModelConversation(caller, job, ContextWindow(caller, job, summariser)).run())

    def _connect(self, job: Job, target: Target) -> ModelClient:
        return connect(target, self._config, self._environ, job.now)

    def _wires(self, job: Job) -> tuple[list[ModelClient], list[TextUpdate]]:
        """The models that can be asked, and what those lack that cannot stand by. ProviderError for the first one."""
        wires, missing = [], []
        for target in self._targets:
            try:
                wires.append(self._connect(job, target))
            except ProviderError as error:
                if not wires:
                    raise
                missing.append(TextUpdate(f"{target.label} cannot stand by: {error}", kind="note"))
        return wires, missing


def opening(job: Job) -> str:
    """Return the first message of a conversation."""
    return job.opening or "\n\n".join(part for part in (job.objective, job.context) if part.strip())


def opening_with_history(job: Job) -> str:
    """Return the first message for a back end that takes one alone: what was said before stands in it as text."""
    passages = [
        f"## {'Earlier message' if isinstance(entry, UserMessage) else 'Your answer'}\n\n{entry.text}"
        for entry in job.history
        if isinstance(entry, (UserMessage, AssistantMessage)) and entry.text.strip()
    ]
    return "\n\n".join([*passages, "## The newest message\n\n" * bool(passages) + opening(job)])


class _GoesInCircles(Exception):
    """The model goes round in circles; the text says how."""


class _ModelConversation:
    """One conversation under way."""

    def __init__(self, caller: ModelCaller, job: Job, window: ContextWindow) -> None:
        self._caller, self._job, self._window = caller, job, window
        self._before = before = ConversationState(job.earlier)
        self._entries = before.entries
        self._summary = before.summary
        self._repeats = repeats_so_far(before)
        self._ids = set(before.ids)
        self._unfinished_count = len(before.since)
        self._unfinished = "".join(map(_part, before.since))  # of the answer, where its end is still to come
        self._delivered = any(result.ok and result.name == _RESULT for result in before.calls)
        self._asked = {turn.stop for turn in before.since} & {*_ASKED_ONCE}  # after which it was asked once more
        caller.answered = self._answered
        if not before.entries and before.turn is None:
            opened = UserMessage(opening(job), job.standing)
            self._job.keep(*([Rewritten(job.history)] if job.history else []), opened)
            self._entries = (*job.history, opened)

    def run(self) -> Conversation:
        turn = self._before.turn  # of the attempt before
        while True:
            if turn is None:
                self._add(*map(UserMessage, self._job.news()))
                turn = yield from self._ask()
            if turn.makes_calls:
                try:
                    results = yield from self._make_calls(turn)
                except _GoesInCircles as circles:
                    return ConversationOutcome(ok=False, text=turn.text, reason=str(circles))
                self._entries += (turn, ResultMessages(tuple(results)))
                self._unfinished_count, self._unfinished = 0, ""
            elif not ((yield from self._continue(turn)) or self._is_told_more(turn)):
                return _outcome(turn, self._unfinished)
            turn = None

    def _answered(self, turn: AssistantMessage, usage: Usage) -> AssistantMessage:
        """Keep an answer as it is used, before anything else is done with it."""
        turn = self._checked(self._unique(turn))
        self._job.keep(Answer(turn, usage))
        return turn

    def _add(self, *entries: UserMessage | AssistantMessage) -> None:
        """Add what is no call to the conversation, and to its record."""
        if entries:
            self._job.keep(*entries)
            self._entries += entries

    def _rewrite(self, entries: tuple[Entry, ...]) -> None:
        if entries is not self._entries:
            self._job.keep(Rewritten(entries))
            self._entries = entries

    def _is_told_more(self, turn: AssistantMessage) -> bool:
        """Return whether a message came in that an answer which would be the last one does not know of."""
        if turn.stop != "end" or not (news := self._job.news()):
            return False
        last = replace(turn, calls=()) if turn.text.strip() else AssistantMessage("(nothing more)")
        self._add(last, *map(UserMessage, news))
        return True

    def _checked(self, turn: AssistantMessage) -> AssistantMessage:
        """Return the answer, with another `stop` where it claims to be complete and is not."""
        turn = without_thinking(turn)
        if turn.stop != "end":
            return turn
        names = {tool.name for tool in self._job.tools}
        if holds_call(turn.text, names):
            return replace(turn, stop="astext")
        if names and not self._delivered and announces(turn.text):
            return replace(turn, stop="announced")
        nothing = not (self._delivered or self._unfinished or turn.text.strip())
        return replace(turn, stop="empty") if nothing else turn

    def _continue(self, turn: AssistantMessage) -> Generator[Step, Reply | None, bool]:
        """Prepare for another answer after one without calls. Return whether the conversation goes on."""
        if turn.stop == "refusal" and (
            notice := self._caller.hand_over(ModelCallError(_reason(turn), other_model_helps=True))
        ):
            yield notice
            return True
        if turn.stop == "window" and (compaction := self._window.halve(self._prompt())).pieces:
            yield self._use(compaction)
            return True
        if turn.stop not in UNFINISHED or self._unfinished_count >= _MAX_UNFINISHED:
            return False
        if turn.stop in _ASKED_ONCE:
            if turn.stop in self._asked:
                return False
            self._asked.add(turn.stop)
        self._unfinished_count += 1
        self._unfinished += _part(turn)
        self._add(*_continuation(turn))
        return True

    def _prompt(self) -> Prompt:
        return Prompt(self._job.system, self._job.tools, self._entries, self._job.tuning, self._job.load)

    def _fit(self) -> Generator[Step, Reply | None, None]:
        """Let the conversation fit its model's window."""
        fitted = yield from self._window.fit(self._prompt(), self._summary)
        self._entries, self._summary = fitted.entries, fitted.summary

    def _ask(self) -> Answered:
        """Return the next answer, from the first model that gives one.

        A conversation that is refused as it is gets another form, at most twice for one answer.
        """
        repairs = 0
        while True:
            yield from self._fit()
            try:
                return (yield from self._caller.call(self._prompt()))
            except ModelCallError as error:
                notice, repairs = self._caller.hand_over(error), repairs + 1
                if notice is not None:
                    repairs = 0
                elif repairs > _MAX_REPAIRS or not (notice := self._repaired(error)):
                    raise
                yield notice

    def _repaired(self, error: ModelCallError) -> TextUpdate | None:
        """Repair a conversation that its server refuses and return a notice of it; None where nothing can be done."""
        if error.too_long and (compaction := self._window.halve(self._prompt())).pieces:
            return self._use(compaction)
        if error.thinking_refused and (entries := without_native(self._entries)) != self._entries:
            self._rewrite(entries)
            return TextUpdate(
                "the server no longer takes the model's earlier thinking: it goes on without it", kind="note"
            )
        if error.form_refused and (entries := without_media(self._entries, error.advice)) != self._entries:
            self._rewrite(without_native(entries))
            return TextUpdate(f"it goes on without images and PDF files: {error}", kind="note")
        return None

    def _use(self, compaction: Compaction) -> TextUpdate:
        self._entries = compaction.entries
        return self._window.use(compaction)

    def _unique(self, turn: AssistantMessage) -> AssistantMessage:
        """Rename calls so that no id comes twice in the conversation: some servers number them again in each answer."""
        renamed = []
        for call in turn.calls:
            number, new = 1, call.id
            while new in self._ids:
                number, new = number + 1, f"{call.id}_{number}"
            self._ids.add(new)
            renamed.append(call if new == call.id else replace(call, id=new))
        calls = tuple(renamed)
        return turn if calls == turn.calls else replace(turn, calls=calls, native=None)

    def _make_calls(self, turn: AssistantMessage) -> Generator[Step, Reply | None, list[ResultMessage]]:
        """Make the calls of one answer, in order, but those that the attempt before has made. Raises _GoesInCircles."""
        before = self._before if turn is self._before.turn else ConversationState()
        results = dict(before.results)
        for call in sorted(turn.calls, key=lambda call: call.name == self._job.last):
            if call.id in results:
                continue
            if call.id in before.begun:
                reply = yield from ask(CutOffCall(ToolCall(call.name, call.arguments, id=call.id)))
                results[call.id] = ResultMessage(call.id, call.name, reply.text, reply.ok, reply.media)
            elif call.name == self._job.last and not all(result.ok for result in results.values()):
                results[call.id] = ResultMessage(call.id, call.name, _NOT_LAST.format(call.name), ok=False)
            else:
                results[call.id] = yield from self._call(call, alone=len(turn.calls) == 1)
            self._job.keep(CallEnded(results[call.id]))
        known = {tool.name for tool in self._job.tools}
        if self._repeats.count_bad_answer(all(call.bad or call.name not in known for call in turn.calls)):
            name = one_line(turn.calls[-1].name, 60)
            raise _GoesInCircles(f"the model keeps calling unknown tools, or without arguments (last: {name})")
        return [results[call.id] for call in turn.calls]

    def _call(self, call: ModelCall, *, alone: bool) -> Generator[Step, Reply | None, ResultMessage]:
        verdict = self._repeats.judge(call)
        name = one_line(call.name, 60)
        if verdict is CallVerdict.END:
            raise _GoesInCircles(f"the model made the same call of {name} again and again, although it was told")
        if verdict is CallVerdict.REFUSE:
            yield TextUpdate(f"the model repeats the same call of {name} and is told so", kind="note")
            return ResultMessage(call.id, call.name, refusal_of(call, self._repeats.times), ok=False)
        if call.bad:
            text = f"the arguments of {name} are no JSON object: {one_line(call.bad, 200)}"
            yield TextUpdate(text, kind="note")
            self._repeats.add_result(text)
            return ResultMessage(call.id, call.name, text, ok=False)
        reply = yield from ask(ToolCall(call.name, call.arguments, alone and call.name == _RESULT, call.id))
        self._repeats.add_result(reply.text)
        self._delivered = self._delivered or (reply.ok and call.name == _RESULT)
        return ResultMessage(call.id, call.name, reply.text, reply.ok, reply.media)


def repeats_so_far(before: ConversationState) -> RepetitionGuard:
    """Return the guard as it was after the rounds of the attempts before."""
    guard = RepetitionGuard()
    for turn, results in before.rounds:
        for call, result in zip(turn.calls, results, strict=True):
            if guard.judge(call) is CallVerdict.GO:
                guard.add_result(result.text)
    return guard


def _part(turn: AssistantMessage) -> str:
    """Return what an unfinished answer adds to the whole one."""
    return turn.text if turn.stop in ("length", "pause") and not turn.calls else ""


def _continuation(turn: AssistantMessage) -> tuple[UserMessage | AssistantMessage, ...]:
    """Return the entries that let an unfinished answer go on. A tool call that was cut is not repeated."""
    if turn.stop == "pause" and turn.native:
        return (replace(turn, calls=()),)
    partial = turn.text.rstrip() or "(nothing that was complete)"
    return (AssistantMessage(partial), UserMessage(_CONTINUE.get(turn.stop, _CONTINUE["length"]), kind=Said.NUDGE))


def _outcome(turn: AssistantMessage, before: str) -> ConversationOutcome:
    """Return the outcome. `before` is the parts of the answer that came before this one."""
    text = before + turn.text
    if turn.stop == "end":
        return ConversationOutcome(ok=True, text=text)
    return ConversationOutcome(ok=False, text=text, reason=_reason(turn))


def _reason(turn: AssistantMessage) -> str:
    reason = _STOP_REASONS.get(turn.stop) or f"the model stopped with {one_line(turn.stop, 60)}"
    return f"{reason}: {turn.stop_detail}" if turn.stop_detail else reason
