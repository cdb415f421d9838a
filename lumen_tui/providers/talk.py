"""A conversation between a task and a model: ask, make the calls, ask again, until there is an answer."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, closing
from typing import Any

from msgspec.structs import replace

from lumen_tui.model.modelsconfig import ModelsConfig
from lumen_tui.model.text import one_line
from lumen_tui.providers.base import Conversation, Job, Outcome, Reply, Said, Step, ToolCall, ask
from lumen_tui.providers.calling import Answered, Caller
from lumen_tui.providers.connecting import connect
from lumen_tui.providers.endpoints import Target
from lumen_tui.providers.failing import Failure
from lumen_tui.providers.fitting import Fitting
from lumen_tui.providers.history import Asked, Call, Entry, Prompt, Result, Results, Turn
from lumen_tui.providers.repeating import Repeats, Verdict, told

_GO_ON = "Your answer reached its length limit. Go on from where it ended, in smaller parts."
_MOST_CUTS = 3  # answers cut by the length limit before the task is given up
_WHY = {
    "length": "the model's answers were cut at the length limit again and again: ask for less at a time",
    "pause": "the model paused again and again",
    "refusal": "the model declined to do this",
    "window": "the conversation no longer fits the model: give a narrower objective",
    "tool": "the model said that it calls a tool, and called none",
}


class Talking:
    """A provider: the first of its targets answers, the others stand by."""

    def __init__(self, targets: tuple[Target, ...], config: ModelsConfig, environ: Any) -> None:
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
        wires = [connect(target, self._config, self._environ, job.now) for target in self._targets]
        with ExitStack() as stack:
            for wire in wires:
                stack.enter_context(closing(wire))
            caller = Caller(wires, self._config, job)
            self._used = caller.used
            return (yield from _Talk(caller, job).run())


def opening(job: Job) -> str:
    """The first message: what to do, what is known (fenced by whoever made the job), and the rules."""
    parts = [job.objective]
    if job.context.strip():
        parts.append(job.context)
    if job.constraints:
        parts.append("Constraints:\n" + "\n".join(f"- {text}" for text in job.constraints))
    return "\n\n".join(parts)


class _Circles(Exception):
    """The model goes round in circles; the text says how."""


class _Talk:
    """One conversation under way."""

    def __init__(self, caller: Caller, job: Job) -> None:
        self._caller, self._job = caller, job
        self._entries: tuple[Entry, ...] = (Asked(opening(job)),)
        self._fitting = Fitting(caller)
        self._repeats = Repeats()
        self._ids: set[str] = set()

    def run(self) -> Conversation:
        cuts = 0
        while True:
            turn = self._unique((yield from self._ask()))
            if turn.stop == "tool" and turn.calls:
                try:
                    results = yield from self._make_calls(turn)
                except _Circles as circles:
                    return Outcome(ok=False, text=turn.text, reason=str(circles))
                self._entries += (turn, Results(tuple(results)))
            elif turn.stop in ("length", "pause") and cuts < _MOST_CUTS:
                cuts += 1
                self._entries += _continued(turn)
            else:
                return _outcome(turn)

    def _prompt(self) -> Prompt:
        return Prompt(self._job.system, self._job.tools, self._entries)

    def _ask(self) -> Answered:
        """The next answer. A conversation that is too long is cut, at most twice for one answer."""
        self._entries = yield from self._fitting.fit(self._prompt())
        for _ in range(2):
            try:
                return (yield from self._caller.call(self._prompt()))
            except Failure as error:
                if not error.overlong:
                    raise
                shrunk = self._fitting.halved(self._prompt())
                if not shrunk.pieces:
                    raise
                yield Said(shrunk.said, kind="note")
                self._entries = shrunk.entries
        return (yield from self._caller.call(self._prompt()))

    def _unique(self, turn: Turn) -> Turn:
        """The ids of calls made so that none comes twice in the conversation, as some servers number them anew."""
        renamed = []
        for call in turn.calls:
            number, new = 1, call.id
            while new in self._ids:
                number, new = number + 1, f"{call.id}_{number}"
            self._ids.add(new)
            renamed.append(call if new == call.id else replace(call, id=new))
        calls = tuple(renamed)
        return turn if calls == turn.calls else replace(turn, calls=calls, native=None)

    def _make_calls(self, turn: Turn) -> Generator[Step, Reply | None, list[Result]]:
        """Make the calls of one answer, in order. Raises _Circles."""
        results = []
        for call in turn.calls:
            results.append((yield from self._make(call)))
        known = {tool.name for tool in self._job.tools}
        if self._repeats.nonsense(all(call.bad or call.name not in known for call in turn.calls)):
            name = one_line(turn.calls[-1].name, 60)
            raise _Circles(f"the model goes on calling tools that there are not, or without arguments (last: {name})")
        return results

    def _make(self, call: Call) -> Generator[Step, Reply | None, Result]:
        verdict = self._repeats.look(call)
        name = one_line(call.name, 60)
        if verdict is Verdict.END:
            raise _Circles(f"the model made the same call of {name} again and again, although it was told")
        if verdict is Verdict.TELL:
            yield Said(f"the model repeats the same call of {name} and is told so", kind="note")
            return Result(call.id, call.name, told(call, self._repeats.times), ok=False)
        if call.bad:
            text = f"the arguments of {name} are no JSON object: {one_line(call.bad, 200)}"
            yield Said(text, kind="note")
            self._repeats.seen(text)
            return Result(call.id, call.name, text, ok=False)
        reply = yield from ask(ToolCall(call.name, call.arguments))
        self._repeats.seen(reply.text)
        return Result(call.id, call.name, reply.text, reply.ok)


def _continued(turn: Turn) -> tuple[Entry, ...]:
    """What lets an unfinished answer go on. A tool call that was cut is not repeated."""
    if turn.stop == "pause" and turn.native:
        return (replace(turn, calls=()),)
    said = turn.text.rstrip() or "(nothing that was complete)"
    return (Turn(said), Asked(_GO_ON))


def _outcome(turn: Turn) -> Outcome:
    if turn.stop == "end":
        return Outcome(ok=True, text=turn.text)
    why = _WHY.get(turn.stop) or f"the model stopped with {one_line(turn.stop, 60)}"
    return Outcome(ok=False, text=turn.text, reason=why)
