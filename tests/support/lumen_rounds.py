"""What the official suite of MCP wants of a server that asks its client for something and is then called again."""

from __future__ import annotations

import json
from typing import Any

from lumen_tui.servers.jsonrpc import Result, invalid
from lumen_tui.servers.mcp.wire import MISSING_CAPABILITY, Exchange, input_required
from lumen_tui.tools.mcp.messages import JsonRpcError

_NEEDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
PROMPT, LACKING = "test_input_required_result_prompt", "test_missing_capability"
_PREFIX = "test_input_required_result_"


def _form(message: str, **fields: str) -> Result:
    properties = {name: {"type": kind} for name, kind in fields.items()}
    schema = {"type": "object", "properties": properties, "required": list(fields)}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def _sample(words: str) -> Result:
    message = {"role": "user", "content": {"type": "text", "text": words}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}}


_ROOTS: Result = {"method": "roots/list", "params": {}}
NAME = {"user_name": _form("What is your name?", name="string")}
_CONFIRM = {"confirm": _form("Please confirm", ok="boolean")}
_ALL = {**NAME, "greeting": _sample("Generate a greeting"), "client_roots": _ROOTS}
_ROUNDS: dict[str, list[dict[str, Result]]] = {
    f"{_PREFIX}elicitation": [NAME],
    f"{_PREFIX}sampling": [{"capital_question": _sample("What is the capital of France?")}],
    f"{_PREFIX}list_roots": [{"client_roots": _ROOTS}],
    f"{_PREFIX}request_state": [_CONFIRM],
    f"{_PREFIX}tampered_state": [_CONFIRM],
    f"{_PREFIX}multiple_inputs": [_ALL],
    f"{_PREFIX}capabilities": [_ALL],
    f"{_PREFIX}multi_round": [
        {"step1": _form("Step 1: What is your name?", name="string")},
        {"step2": _form("Step 2: What is your favorite color?", color="string")},
    ],
    PROMPT: [{"user_context": _form("What context should the prompt use?", context="string")}],
    "test_tool_with_task": [NAME],
}
TOOLS = (*(name for name in _ROUNDS if name != PROMPT), LACKING)


def asked(name: str, exchange: Exchange) -> Result | None:
    """Return what is asked of the client next; None where all has its answer. The state says which round it is."""
    rounds = _ROUNDS[name]
    states = [f"{name}:{number}" for number in range(len(rounds))]
    state = exchange.params.get("requestState", states[0])
    if state not in states:
        raise invalid("requestState is none that was given out")
    number, given = states.index(state), exchange.mapping("inputResponses")
    wanted = rounds[number]
    if name.endswith("capabilities"):
        wanted = {key: ask for key, ask in wanted.items() if _NEEDS[str(ask["method"])] in exchange.capabilities}
    if missing := {key: ask for key, ask in wanted.items() if not isinstance(given.get(key), dict)}:
        return input_required(missing, state)
    return None if number + 1 == len(rounds) else input_required(rounds[number + 1], states[number + 1])


def call(name: str, exchange: Exchange) -> Result:
    """Carry out one of the tools."""
    if name == LACKING and "sampling" not in exchange.capabilities:
        needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
        raise JsonRpcError(MISSING_CAPABILITY, "Missing required client capability", needed)
    if name != LACKING and (wanted := asked(name, exchange)):
        return wanted
    text = f"state-ok: {json.dumps(exchange.mapping('inputResponses'))}"
    return {"content": [{"type": "text", "text": text}], "isError": False}
