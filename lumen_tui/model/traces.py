"""An ended task as spans of OpenTelemetry: the task, its model calls and its tool calls.

Names and attributes are those of the GenAI semantic conventions (v1.41, in development), the JSON that of OTLP 1.x.
Ids follow from those of the records alone: what is sent twice has the same ids, and a collector can tell. No text of
prompts, answers, arguments or results is in a span.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from lumen_tui.model import times
from lumen_tui.model.spendbook import HOLD, SENT, SETTLE, LedgerEntry
from lumen_tui.model.tasks import Exit, Spec, TaskEvent

SCHEMA = "https://opentelemetry.io/schemas/1.41.0"
_INTERNAL, _CLIENT = 1, 3  # kinds of spans
_ERROR = 2  # code of a status
_NANO = 1_000_000_000
_PROVIDERS = {"claude": "anthropic"}  # back ends that have another name in the conventions

Json = dict[str, object]


class EndedTask(Struct, frozen=True):
    """What a trace is made of. `top` is the first of the tasks that ordered one another; `calls` are of the ledger."""

    spec: Spec
    exit: Exit
    top: str
    events: Sequence[TaskEvent] = ()
    calls: Sequence[LedgerEntry] = ()


class ModelCall(Struct):
    """One call of a model, joined of its lines in the ledger."""

    id: str
    model: str = ""
    begin: str = ""
    end: str = ""
    prompt: int = 0
    read: int = 0
    usd: float = 0.0


def trace_id(top: str) -> str:
    """Return the 16 bytes that name the trace of a task and of all that it ordered, in hex."""
    return hashlib.sha256(f"lumen trace {top}".encode()).hexdigest()[:32]


def span_id(*names: object) -> str:
    """Return the 8 bytes that name one span, in hex."""
    return hashlib.sha256("\0".join(["lumen span", *map(str, names)]).encode()).hexdigest()[:16]


def spans_of(task: EndedTask) -> list[Json]:
    """Return the spans of one task, its own first."""
    end = task.exit.finished_at
    begin = next((event.at for event in task.events if event.kind == "started"), task.spec.created_at or end)
    own = span_id(task.spec.id)
    calls = model_calls(task.calls)
    spans = [_span(task, own, span_id(task.spec.parent) if task.spec.parent else "", _root(task, begin, end))]
    for call in calls:
        spans.append(_span(task, span_id(task.spec.id, call.id), own, _chat(task, call)))
    for number, tool in enumerate(_tool_calls(task.events, end)):
        spans.append(_span(task, span_id(task.spec.id, "tool", number), own, tool))
    return spans


def model_calls(entries: Iterable[LedgerEntry]) -> list[ModelCall]:
    """Join the lines of calls that were settled, in the order in which they began."""
    calls: dict[str, ModelCall] = {}
    for entry in entries:
        call = calls.setdefault(entry.id, ModelCall(entry.id))
        if entry.kind == HOLD:
            call.model, call.begin = entry.model, call.begin or entry.at
        elif entry.kind == SENT:
            call.begin = entry.at
        elif entry.kind == SETTLE:
            call.end, call.prompt, call.read, call.usd = entry.at, entry.prompt, entry.read, entry.usd
    return [call for call in calls.values() if call.begin and call.end]


class _Part(Struct):
    """What differs between spans."""

    name: str
    kind: int
    begin: str
    end: str
    attributes: Mapping[str, str | int | float]
    problem: str = ""


def _root(task: EndedTask, begin: str, end: str) -> _Part:
    spec, ended = task.spec, task.exit
    attributes: dict[str, str | int | float] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": spec.role,
        "gen_ai.provider.name": provider(ended.brain),
        "gen_ai.conversation.id": ended.session,
        "gen_ai.usage.input_tokens": ended.usage.input_tokens,
        "gen_ai.usage.output_tokens": ended.usage.output_tokens,
        "lumen.task.id": spec.id,
        "lumen.task.status": ended.status,
        "lumen.task.attempt": ended.attempt,
        "lumen.work_unit": spec.wu_id,
        "lumen.cost.usd": ended.usage.usd,
    }
    problem = "" if ended.status == "done" else ended.status
    return _Part(f"invoke_agent {spec.role}", _INTERNAL, begin, end, attributes, problem)


def _chat(task: EndedTask, call: ModelCall) -> _Part:
    attributes: dict[str, str | int | float] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider(task.exit.brain),
        "gen_ai.request.model": call.model,
        "gen_ai.conversation.id": task.exit.session,
        "gen_ai.usage.input_tokens": call.prompt,
        "gen_ai.usage.cache_read.input_tokens": call.read,
        "lumen.cost.usd": call.usd,
    }
    return _Part(f"chat {call.model}", _CLIENT, call.begin, call.end, attributes)


def _tool_calls(events: Sequence[TaskEvent], end: str) -> Iterable[_Part]:
    """Pair each call with the next result of its tool; one without a result ends with the task."""
    parts: list[_Part] = []
    open_parts: dict[str, list[_Part]] = {}
    for event in events:
        if event.kind == "call":
            attributes: dict[str, str | int | float] = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": event.tool,
                "gen_ai.tool.type": "function",
                "lumen.task.attempt": event.attempt,
            }
            part = _Part(f"execute_tool {event.tool}", _INTERNAL, event.at, "", attributes, "unfinished")
            parts.append(part)
            open_parts.setdefault(event.tool, []).append(part)
        elif event.kind == "result" and open_parts.get(event.tool):
            part = open_parts[event.tool].pop(0)
            part.end, part.problem = event.at, "" if event.ok else "failed"
    for part in parts:
        part.end = part.end or end
    return parts


def provider(brain: str) -> str:
    """Return the provider, as the conventions name it, of the words for a back end: `anthropic claude-opus`."""
    name = brain.replace(":", " ").split()[0] if brain.strip() else "unknown"
    return _PROVIDERS.get(name, name)


def _span(task: EndedTask, own: str, parent: str, part: _Part) -> Json:
    attributes = {**part.attributes, **({"error.type": part.problem} if part.problem else {})}
    begin = _nanoseconds(part.begin)
    span: Json = {
        "traceId": trace_id(task.top),
        "spanId": own,
        "name": part.name,
        "kind": part.kind,
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(max(begin, _nanoseconds(part.end))),
        "attributes": attributes_of(attributes),
    }
    if parent:
        span["parentSpanId"] = parent
    if part.problem:
        span["status"] = {"code": _ERROR, "message": part.problem}
    return span


def _nanoseconds(moment: str) -> int:
    return round(times.epoch(moment) * 1000) * (_NANO // 1000)


def attributes_of(values: Mapping[str, str | int | float]) -> list[Json]:
    """Return attributes as OTLP has them in JSON, without empty texts; integers are strings there."""
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value != ""]


def _value(value: str | int | float) -> Json:
    if isinstance(value, str):
        return {"stringValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"doubleValue": value}


def export_request(spans: Sequence[Json], version: str, instance: str) -> Json:
    """Return an ExportTraceServiceRequest; `instance` names the state folder."""
    resource = {"service.name": "lumen-tui", "service.version": version, "service.instance.id": instance}
    scope = {"scope": {"name": "lumen-tui", "version": version}, "spans": [*spans], "schemaUrl": SCHEMA}
    return {"resourceSpans": [{"resource": {"attributes": attributes_of(resource)}, "scopeSpans": [scope]}]}
