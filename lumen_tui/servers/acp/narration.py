"""A task's events as an editor shows them: words, thoughts, tool calls with what they touch, what was spent.

The arguments of a call are not among the events: they come from the transcript, a moment before or after. The same
records always give the same updates, so that a conversation is told again as it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from msgspec import UNSET

from lumen_tui.model.tasks import TaskEvent
from lumen_tui.model.text import safe
from lumen_tui.model.transcript import shortened
from lumen_tui.servers.acp.shapes import (
    AgentChunk,
    CallBegins,
    CallChanges,
    CallContent,
    CallDiff,
    CallLocation,
    CallStatus,
    CallText,
    Cost,
    TextContent,
    ThoughtChunk,
    ToolKind,
    Update,
    UsageUpdate,
)

_THOUGHTS = frozenset({"note", "wait", "summary", "uncertain", "check", "checked", "steered", "error"})
_KINDS: dict[str, ToolKind] = {
    **dict.fromkeys(("read_file", "list_dir", "disk_usage", "recall", "read_skill", "Read"), "read"),
    **dict.fromkeys(("glob", "grep", "memory_search", "Glob", "Grep"), "search"),
    **dict.fromkeys(("write_file", "edit_file", "apply_patch", "Edit", "MultiEdit", "Write"), "edit"),
    **dict.fromkeys(("shell", "shell_start", "shell_output", "shell_stop", "Bash"), "execute"),
    **dict.fromkeys(("web_fetch", "WebFetch", "WebSearch"), "fetch"),
}
_RESULT = "write_result"  # its text is told as words when the task is over
_PATHS = ("path", "file_path")
_OLD, _NEW = ("old_string",), ("new_string", "content")
_MOST_INPUT = 4_000  # characters of one argument as it is handed on
_MOST_DIFF = 100_000  # characters of one side
_MOST_EARLY = 50  # arguments that are held until their call is known

Arguments = dict[str, object]


def kind_of(tool: str) -> ToolKind:
    """Return the kind of call that an editor shows for a tool."""
    return _KINDS.get(tool, "other")


class _NarratedCall:
    """One call as far as it is known. Names of files in it count from `start`."""

    def __init__(self, call_id: str, event: TaskEvent, start: str) -> None:
        self.id = call_id
        self.tool = event.tool
        self.text = event.text or event.tool
        self.kind = kind_of(event.tool)
        self.arguments: Arguments = {}
        self.output = ""
        self.waits = False
        self._start = start

    @property
    def path(self) -> str:
        """The whole path that it names; empty where it names none."""
        path = self._text(_PATHS)
        whole = os.path.join(self._start, os.path.expanduser(path)) if path else ""
        return whole if os.path.isabs(whole) else ""

    @property
    def content(self) -> tuple[CallContent, ...]:
        """The change that it makes, and what it gave, as far as they are known."""
        output = (CallText(content=TextContent(text=safe(self.output))),) if self.output else ()
        return (*self._diff(), *output)

    def _diff(self) -> tuple[CallDiff, ...]:
        """Return the part of a file that an edit replaces, as its arguments name it; none for any other call."""
        path, old, new = self.path, self._text(_OLD), self._text(_NEW)
        if self.kind != "edit" or not path or new is None or max(len(new), len(old or "")) > _MOST_DIFF:
            return ()
        return (CallDiff(path=path, new_text=new, old_text=UNSET if old is None else old),)

    def _text(self, names: Iterable[str]) -> str | None:
        """Return the argument of one of these names that is a text."""
        return next((value for name in names if isinstance(value := self.arguments.get(name), str)), None)


class Narrator:
    """Tells of one task. Names of what it reads count from `folder`, of what it writes from `own`."""

    def __init__(
        self, task_id: str, folder: str, own: str, send: Callable[[Update], None], known: int = 0, spent: float = 0.0
    ) -> None:
        self._task_id = task_id
        self._spent = spent  # dollars, in the session before
        self._folder, self._own = folder, own
        self._sink = send
        self._known = known  # events at the beginning that the client was told of before
        self._muted = False
        self.heard = 0  # events
        self._calls = self._messages = 0  # so that each has an id of its own
        self._message = ""  # id of the message that is being written
        self._early: list[tuple[str, Arguments]] = []
        self._unmatched: list[_NarratedCall] = []
        self._open: _NarratedCall | None = None
        self.last_words = ""  # of the model since its last call

    @property
    def open_call(self) -> str:
        """The id of the call that has begun and not ended; empty for none."""
        return self._open.id if self._open else ""

    def tell(self, events: Iterable[TaskEvent]) -> None:
        """Tell of events in their order; pieces of one text go out together."""
        pieces: list[str] = []
        for event in events:
            self.heard += 1
            self._muted = self.heard <= self._known
            if event.kind == "text":
                pieces += [] if self._muted else [event.text]
                continue
            self._flush(pieces)
            self._take(event)
        self._muted = False
        self._flush(pieces)

    def _send(self, update: Update) -> None:
        if not self._muted:
            self._sink(update)

    def _flush(self, pieces: list[str]) -> None:
        if pieces:
            self.say("".join(pieces), goes_on=True)
            pieces.clear()

    def say(self, text: str, *, goes_on: bool = False) -> None:
        """Tell words of the agent; those that go on belong to the message before."""
        if not self._message or not goes_on:
            self._message, self.last_words = self._message_id(), ""
        self.last_words += text
        self._send(AgentChunk(content=TextContent(text=safe(text)), message_id=self._message))
        if not goes_on:
            self._message = ""

    def think(self, text: str) -> None:
        """Tell what is no answer: what the worker notes on its way. Clients put thoughts one behind the other."""
        self._send(ThoughtChunk(content=TextContent(text=f"{safe(text)}\n"), message_id=self._message_id()))

    def _take(self, event: TaskEvent) -> None:
        if event.tool == _RESULT:
            self._message = ""
            if event.kind == "result" and not event.ok:
                self.think(event.text)
        elif event.kind == "call":
            self._begin(event)
        elif event.kind == "result":
            self._end(event.output or event.text, "completed" if event.ok else "failed")
        elif event.kind == "started":
            self._take_up()
        elif event.kind in ("waiting", "answered") and not event.data.get("budget"):
            self._wait(event)
        elif event.kind == "usage":
            self._tell_usage(event)
        elif event.text and (event.kind in _THOUGHTS or event.kind == "waiting"):
            self.think(event.text)

    def _begin(self, event: TaskEvent) -> None:
        self._message = self.last_words = ""
        if self._open and self._open.waits and self._open.tool == event.tool:
            self._expect(self._open)
            return  # the worker that goes on where the one before waited for a person makes the same call
        if self._open:
            self._end("cut off", "failed")
        self._calls += 1
        start = self._own if kind_of(event.tool) == "edit" else self._folder
        call = _NarratedCall(f"{self._task_id}-call-{self._calls}", event, start)
        self._open = call
        begins = CallBegins(tool_call_id=call.id, title=call.text, kind=call.kind, status="in_progress")
        self._send(begins)
        self._expect(call)

    def _expect(self, call: _NarratedCall) -> None:
        """Match the arguments of a call, now or when they come."""
        self._unmatched.append(call)
        names = [name for name, _ in self._early]
        if call.tool in names:
            at = names.index(call.tool)
            _, arguments = self._early[at]
            del self._early[: at + 1]
            self._match(call, arguments)

    def detail(self, tool: str, arguments: Arguments) -> None:
        """Take the arguments of a call, which may be told of before or after this."""
        call = next((call for call in self._unmatched if call.tool == tool), None)
        if call is None:
            self._early = [*self._early, (tool, arguments)][-_MOST_EARLY:]
        else:
            self._match(call, arguments)

    def _match(self, call: _NarratedCall, arguments: Arguments) -> None:
        del self._unmatched[: self._unmatched.index(call) + 1]
        call.arguments = arguments
        raw = shortened(arguments, _MOST_INPUT)
        self._send(
            CallChanges(
                tool_call_id=call.id,
                locations=(CallLocation(path=call.path),) if call.path else UNSET,
                content=call.content or UNSET,
                raw_input=raw if isinstance(raw, dict) else UNSET,
            )
        )

    def _wait(self, event: TaskEvent) -> None:
        if self._open is None:
            return
        self._open.waits = event.kind == "waiting"
        if event.kind == "waiting" or event.ok:
            status: CallStatus = "pending" if self._open.waits else "in_progress"
            self._send(CallChanges(tool_call_id=self._open.id, status=status))

    def _end(self, output: str, status: CallStatus) -> None:
        call, self._open = self._open, None
        self._message = ""
        if call is not None:
            call.output = output
            self._send(CallChanges(tool_call_id=call.id, status=status, content=call.content))

    def begin_attempt(self) -> None:
        """Match no arguments any more with calls of another attempt."""
        self._early.clear()
        self._unmatched.clear()

    def _take_up(self) -> None:
        """Tell nothing of a worker that begins, but of a call that the one before had not ended."""
        self._message = ""
        if self._open and not self._open.waits:
            self._end("cut off: the worker ended", "failed")

    def close(self) -> None:
        """Tell that nothing runs any more."""
        if self._open:
            self._end("ended", "failed")

    def _tell_usage(self, event: TaskEvent) -> None:
        progress = event.data.get("progress")
        if not isinstance(progress, dict):
            return
        used, size, usd = (progress.get(name) for name in ("filled", "window", "usd"))
        if isinstance(used, int) and isinstance(size, int) and used > 0 and size > 0:
            amount = float(usd) if isinstance(usd, (int, float)) else 0.0
            self._send(UsageUpdate(used=used, size=size, cost=Cost(amount=self._spent + amount, currency="USD")))

    def _message_id(self) -> str:
        self._messages += 1
        return f"{self._task_id}-{self._messages}"
