"""A conversation with a running Claude Code: its stream of events, its questions, its end.

It asks on the same pipes: before each tool (`hook_callback`), whether one of its own may run (`can_use_tool`), and for
the tools that are ours (`mcp_message`). Whatever lets it call the model again is answered after that call was set
aside; and while an answer is being written nothing is answered but the first, so that each call is settled in order.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator

from lumen_tui.model.approvals import BROUGHT
from lumen_tui.model.config import ModelsConfig
from lumen_tui.model.jsontext import table_of
from lumen_tui.model.text import one_line
from lumen_tui.providers.base import (
    BuiltinToolResult,
    Conversation,
    ConversationOutcome,
    Job,
    JsonObject,
    PermissionRequest,
    ProviderError,
    Reply,
    Step,
    TextUpdate,
    ToolCall,
)
from lumen_tui.providers.base import ask as ask_worker
from lumen_tui.providers.claude_code import json_lines
from lumen_tui.providers.claude_code.endings import REFUSED, key_refused, outcome, used_up
from lumen_tui.providers.claude_code.going_on import KeptSteps, in_our_words
from lumen_tui.providers.claude_code.json_lines import JsonLinesPipe, PipeClosed, Silence
from lumen_tui.providers.claude_code.program import OWN, SERVER, SKILL, check_version, is_foreign
from lumen_tui.providers.claude_code.usage import UsageCounter
from lumen_tui.providers.conversation.calling import StreamThrottle
from lumen_tui.providers.vendors.sdk_client import MAX_CHARACTERS, too_long

Steps = Generator[Step, Reply | None, None]
_BEFORE, _AFTER, _STOP = "before", "after", "stop"  # our names of the moments at which it calls back
_NEVER = 86_400  # seconds that it waits for an answer to a callback; a person may be asked meanwhile
_HELLO = "lumen-1"
_NOT_USED = "this tool is not used here: use the others"
_START = 60.0  # seconds that it may take until it is ready; about one was seen
_BEGIN = "Begin."  # stands behind the task: it obeys `/compact` and reads `@path` in its last block of text only
_KEY_TRIES = 2  # the second refusal of a key counts: behind the first a login may have been renewed


class ClaudeConversation:
    """One conversation under way."""

    def __init__(
        self, pipe: JsonLinesPipe, job: Job, config: ModelsConfig, model: str, steps: KeptSteps, first_message: str
    ) -> None:
        self._pipe, self._job, self._config = pipe, job, config
        self._steps, self._first_message = steps, first_message
        self._stop = ""  # why the answer ended
        self._counter = UsageCounter(config, model, job.sent, parts=len(job.tuning.own))
        self._tools = [tool for tool in job.tools if tool.name not in OWN.values()]
        self._throttle = StreamThrottle(job.now)
        self._length = 0  # characters of the answer that is being written
        self._wait = 0.0  # seconds for which it said that it will be silent
        self._held: list[JsonObject] = []
        self._permitted: dict[str, PermissionRequest] = {}
        self._greeted = False
        self._limit = 0.0  # when the limit ends that it reported as used up; 0 where none is
        self._unreached = False  # whether its last call got no answer from any server
        self._session = ""  # its own session file
        self.version = ""

    def run(self) -> Conversation:
        """Run until the program reports its result. Raises ProviderError."""
        self._pipe.send(_hello(self._job.system))
        patience = self._config.first_byte_seconds + self._config.silence_seconds
        try:
            while True:
                seconds = patience if self._greeted else min(patience, _START)
                message, self._wait = self._pipe.receive(seconds + self._wait), 0.0
                if message.get("type") == "result":
                    yield from self._counter.settle_rest(message.get("modelUsage"))
                    reached = not self._unreached
                    return outcome(message, self._counter.model, self._job.now(), self._limit, reached=reached)
                yield from self._take(message)
        except PipeClosed:
            yield from self._counter.settle_lost()
            stderr = self._pipe.errors
            return ConversationOutcome(
                ok=False, reason=f"Claude Code ended without a result{': ' + stderr if stderr else ''}"
            )
        except Silence as error:
            yield from self._counter.settle_lost()
            if self._greeted:
                raise
            advice = "run it once by hand, as it may ask something there, then `lumen-tui task retry`"
            raise ProviderError(
                f"Claude Code was not ready {error.seconds:g} seconds after its start: {advice}"
            ) from error
        except ProviderError:
            yield from self._counter.settle_lost()
            raise

    def interrupt(self) -> None:
        """Ask it to leave what it is at."""
        request = {"subtype": "interrupt"}
        self._pipe.offer({"type": "control_request", "request_id": "lumen-2", "request": request})

    def _take(self, message: JsonObject) -> Steps:
        kind = message.get("type")
        if kind == "control_response":
            yield from self._begin(message)
        elif kind == "control_request":
            yield from self._request(message)
        elif kind == "control_cancel_request":
            self._held = [request for request in self._held if request.get("request_id") != message.get("request_id")]
        elif kind == "stream_event" and not message.get("parent_tool_use_id"):
            yield from self._stream(table_of(message, "event"))
        elif kind == "system":
            yield from self._system(message)
        elif kind == "rate_limit_event":
            self._limit = used_up(table_of(message, "rate_limit_info"))
        elif kind == "user":
            yield from self._results(table_of(message, "message"))
        elif kind == "assistant" and not message.get("parent_tool_use_id"):
            self._steps.take(table_of(message, "message"))

    def _begin(self, message: JsonObject) -> Steps:
        """Send the first message, once, as soon as the program is ready."""
        response = table_of(message, "response")
        if response.get("request_id") != _HELLO or self._greeted:
            return
        if response.get("subtype") != "success":
            raise ProviderError(f"Claude Code did not begin: {one_line(str(response.get('error')), 300)}")
        details = table_of(response, "response")
        self.version = str(details.get("claude_code_version") or self.version)
        check_version(self.version)
        if details.get("hooks_applied") is False:
            raise ProviderError("Claude Code does not ask before it uses its tools, so it is not used: update it")
        self._greeted = True
        first_message = self._first_message
        declared = json.dumps([tool.schema for tool in self._tools]) + "".join(tool.description for tool in self._tools)
        self._counter.add_text(first_message + self._job.system + declared)
        yield from self._counter.reserve()
        user_message = {"role": "user", "content": [_block(first_message), _block(_BEGIN)]}
        # The mark says the same as the last block, to a program that is new enough to know it.
        self._pipe.send({"type": "user", "message": user_message, "parent_tool_use_id": None, "client_composed": True})

    # ---- what it streams

    def _stream(self, event: JsonObject) -> Steps:
        kind, message = event.get("type"), table_of(event, "message")
        if kind == "message_start":
            self._throttle, self._length, self._unreached = StreamThrottle(self._job.now), 0, False
            self._steps.begin()
            yield from self._counter.begin(str(message.get("model") or ""), message.get("usage"))
        elif kind == "content_block_delta":
            yield from self._delta(table_of(event, "delta"))
        elif kind == "message_delta":
            self._stop = str(table_of(event, "delta").get("stop_reason") or "")
            self._counter.update(event.get("usage"))
        elif kind == "message_stop":
            yield from self._throttle.finish()
            self._steps.answered(self._stop, self._counter.usage)
            yield from self._counter.settle()
            yield from self._serve_held()

    def _delta(self, delta: JsonObject) -> Iterator[TextUpdate]:
        self._length += sum(len(part) for part in delta.values() if isinstance(part, str))
        if self._length > MAX_CHARACTERS:
            raise too_long()
        yield from self._throttle.take(str(delta.get("text") or ""))

    def _system(self, message: JsonObject) -> Steps:
        kind = message.get("subtype")
        if kind == "status" and message.get("status") == "requesting":
            yield from self._counter.reserve(already_sent=True)
        elif kind == "api_retry":
            yield from self._retries(message)
        elif kind == "compact_boundary":
            yield TextUpdate("Claude Code has summarised the conversation so far, as it became too long", kind="note")
        elif kind == "init" and (broken := _broken(message)):
            raise ProviderError(f"Claude Code did not find our tools ({broken}): a newer one may, or another provider")

    def _retries(self, message: JsonObject) -> Steps:
        status, number = message.get("error_status"), message.get("attempt")
        self._unreached = status is None
        if status == REFUSED and isinstance(number, int) and number >= _KEY_TRIES:
            yield from self._counter.settle(ok=False)
            raise key_refused("its server refused the key or the login twice")
        yield self._waits(message)
        if self._counter.answering:
            yield from self._counter.settle(ok=False)
        yield from self._serve_held()

    def _waits(self, message: JsonObject) -> TextUpdate:
        delay, status = message.get("retry_delay_ms"), message.get("error_status")
        seconds = self._wait = min(max(0.0, delay / 1000), _NEVER) if isinstance(delay, int | float) else 0.0
        reason = one_line(f"{message.get('error')} {status or ''}".strip(), 100)
        number, most_tries = message.get("attempt"), message.get("max_retries")
        text = f"Claude Code tries again in {seconds:.0f} s ({number} of {most_tries}): {reason}"
        return TextUpdate(text, kind="wait", data={"until": self._job.now() + seconds})

    def _results(self, message: JsonObject) -> Iterator[Step]:
        """Yield the results of the program's own tools."""
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            text = _text(block)
            self._counter.add_text(text)
            permit = self._permitted.pop(str(block.get("tool_use_id")), None) if isinstance(block, dict) else None
            if permit:
                self._steps.ended(permit.call.id, text, ok=not block.get("is_error"))
                yield BuiltinToolResult(permit.call, permit.name, text, ok=not block.get("is_error"))

    # ---- what it asks

    def _request(self, message: JsonObject) -> Steps:
        before = table_of(message, "request").get("callback_id") == _BEFORE
        if self._counter.answering and not before:
            self._held.append(message)
        else:
            yield from self._serve(message)

    def _serve_held(self) -> Steps:
        held, self._held = self._held, []
        for message in held:
            yield from self._serve(message)

    def _serve(self, message: JsonObject) -> Steps:
        request = table_of(message, "request")
        kind = request.get("subtype")
        if kind == "hook_callback":
            answer = yield from self._callback(str(request.get("callback_id")), table_of(request, "input"))
        elif kind == "can_use_tool":
            answer = yield from self._permit(request)
        elif kind == "mcp_message":
            answer = yield from self._tool(table_of(request, "message"))
        else:
            self._pipe.send(json_lines.refused(message, f"{kind} is not known here"))
            return
        self._pipe.send(json_lines.answered(message, answer))

    def _callback(self, moment: str, about: JsonObject) -> Generator[Step, Reply | None, JsonObject]:
        if not self._session:
            self._session = one_line(str(about.get("transcript_path") or "?"), 500)
            yield TextUpdate(f"Claude Code {self.version}; its own session file is {self._session}", kind="note")
        if moment == _AFTER:
            yield from self._counter.reserve()
        elif moment == _BEFORE:
            return self._decision(str(about.get("tool_name")))
        return {}

    def _permit(self, request: JsonObject) -> Generator[Step, Reply | None, JsonObject]:
        """Return whether one of its own tools may run."""
        name, arguments = str(request.get("tool_name")), table_of(request, "input")
        foreign = is_foreign(self._job.tuning, name)
        if name not in OWN and not foreign:
            yield from self._counter.reserve()
            return {"behavior": "deny", "message": _NOT_USED}
        ours, known = (f"{BROUGHT}{name}", arguments) if foreign else (OWN[name], in_our_words(arguments))
        call_id = self._steps.id_of(str(request.get("tool_use_id")), ours)
        call = ToolCall(ours, known, id=call_id)
        permit = PermissionRequest(call, name, foreign=foreign, asks=foreign and name != SKILL)
        reply = yield permit
        if reply is not None and reply.ok:
            self._permitted[str(request.get("tool_use_id"))] = permit
            return {"behavior": "allow", "updatedInput": arguments}
        refusal = reply.text if reply else "it was not allowed"
        self._steps.ended(call_id, refusal, ok=False)
        yield from self._counter.reserve()
        return {"behavior": "deny", "message": refusal}

    def _decision(self, tool: str) -> JsonObject:
        """Decide about a call in advance: ours are judged when they come, its own are asked about, others denied."""
        known = tool in OWN or is_foreign(self._job.tuning, tool)
        decision = "allow" if json_lines.tool_name(tool) else "ask" if known else "deny"
        output = {"hookEventName": "PreToolUse", "permissionDecision": decision}
        return {"hookSpecificOutput": output | ({"permissionDecisionReason": _NOT_USED} if decision == "deny" else {})}

    def _tool(self, message: JsonObject) -> Generator[Step, Reply | None, JsonObject]:
        """Answer a message to the server of our tools."""
        self.version = json_lines.version(message) or self.version
        if message.get("method") != json_lines.CALL:
            return {"mcp_response": json_lines.answer(message, self._tools)}
        name, arguments = json_lines.called(message)
        call_id = self._steps.id_of(json_lines.named(message), name)
        reply = yield from ask_worker(ToolCall(name, arguments, id=call_id))
        self._steps.ended(call_id, reply.text, ok=reply.ok)
        yield from self._counter.reserve()
        return {"mcp_response": json_lines.result(message, reply)}


def _hello(system: str) -> JsonObject:
    """The first message: the system prompt, in place of its own, and when it is to call back. A callback that fails
    keeps the tool from running."""
    moments = {"PreToolUse": _BEFORE, "PostToolUse": _AFTER, "PostToolUseFailure": _AFTER, "Stop": _STOP}
    hooks = {
        event: [{"matcher": None, "hookCallbackIds": [moment], "timeout": _NEVER, "onFailure": "block"}]
        for event, moment in moments.items()
    }
    request = {"subtype": "initialize", "hooks": hooks, "systemPrompt": system}
    return {"type": "control_request", "request_id": _HELLO, "request": request}


def _broken(init: JsonObject) -> str:
    """Return why our tools are not there; empty where they are."""
    servers = init.get("mcp_servers")
    server_tables = [server for server in servers if isinstance(server, dict)] if isinstance(servers, list) else []
    states = [server.get("status") for server in server_tables if server.get("name") == SERVER]
    return "" if "connected" in states or "pending" in states else one_line(f"status {states}", 100)


def _block(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def _text(block: object) -> str:
    """Return the words in a block of content."""
    if not isinstance(block, dict):
        return ""
    content = block.get("content", block.get("text"))
    if isinstance(content, list):
        return "\n".join(_text(part) for part in content)
    return content if isinstance(content, str) else ""
