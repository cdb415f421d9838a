"""The only way to a tool: checks the role, the rules, the arguments and the limits of every call."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import one_line, safe
from lumen_tui.store.files import StoreError
from lumen_tui.tools.base import Context, Tool, ToolError, ToolResult, size_text
from lumen_tui.tools.files import LIST_DIR, READ_FILE
from lumen_tui.tools.report import DISCOVER, SIGNAL, WRITE_RESULT
from lumen_tui.tools.rules import derive
from lumen_tui.tools.search import FIND, GREP
from lumen_tui.tools.shell import SHELL
from lumen_tui.tools.usage import DISK_USAGE

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (READ_FILE, LIST_DIR, FIND, GREP, DISK_USAGE, SHELL, WRITE_RESULT, SIGNAL, DISCOVER)
}  # fmt: skip
MAX_TEXT = 60_000  # bytes of one result that are handed on
_GRACE_STEPS = 3  # refused calls after the last step, in which a result can still be written


class StepLimit(Exception):
    """The task used up its steps and went on calling tools."""


class Declaration(Struct, frozen=True):
    """A tool as a model is told of it."""

    name: str
    description: str
    schema: dict[str, Any]


def schema_of(arguments: Any) -> dict[str, Any]:
    """The JSON schema of a tool's arguments, without references."""
    _, components = msgspec.json.schema_components([arguments])
    schema: dict[str, Any] = components[arguments.__name__]
    return {key: value for key, value in schema.items() if key != "title"}


class Toolbox:
    """The tools of one task. `call` never raises for what a caller did wrong: it answers with a clear error."""

    def __init__(self, role: Role, spec: Spec, context: Context) -> None:
        self.rules = derive(role, spec)
        self._context = dataclasses.replace(context, rules=self.rules)
        self._bytes_left = max(0, role.limits.max_output_bytes)
        self.steps = 0

    def declarations(self) -> list[Declaration]:
        """What the task may use."""
        return [
            Declaration(tool.name, tool.description, schema_of(tool.arguments))
            for name, tool in TOOLS.items() if name in self.rules.tools
        ]  # fmt: skip

    def describe(self, name: str, arguments: Mapping[str, Any]) -> str:
        """A call in a few words; safe, on one line."""
        try:
            tool = TOOLS[name]
            return one_line(tool.describe(msgspec.convert(arguments, tool.arguments)), 200)
        except (KeyError, msgspec.ValidationError):
            return one_line(name, 60)

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Carry out one call. Raises Stopped, and StepLimit where the caller goes on after its last step."""
        self._context.check()
        self.steps += 1
        try:
            self._check_steps(name)
            tool, checked = self._admit(name, arguments)
            return self._limit(tool.run(self._context, checked))
        except (ToolError, StoreError, OSError) as error:
            return ToolResult(self._context.redact(safe(str(error))), ok=False, summary="refused or failed")

    def _check_steps(self, name: str) -> None:
        over = self.steps - self.rules.max_steps
        if over > _GRACE_STEPS:
            raise StepLimit(f"the limit of {self.rules.max_steps} steps is used up")
        if over > 0 and name != "write_result":
            raise ToolError(f"all {self.rules.max_steps} steps are used: write the result now")

    def _admit(self, name: str, arguments: Mapping[str, Any]) -> tuple[Tool, Any]:
        if name not in self.rules.tools or name not in TOOLS:
            allowed = ", ".join(tool for tool in TOOLS if tool in self.rules.tools) or "none"
            raise ToolError(f"the tool {one_line(name, 60)!r} is not among those of this task: {allowed}")
        tool = TOOLS[name]
        try:
            return tool, msgspec.convert(arguments, tool.arguments)
        except msgspec.ValidationError as error:
            fields = ", ".join(tool.arguments.__struct_fields__)
            raise ToolError(f"{name}: {error}; its arguments are {fields}") from error

    def _limit(self, result: ToolResult) -> ToolResult:
        """The result made safe and cut to what may still be handed on; says how much was cut."""
        encoded = self._context.redact(safe(result.text)).encode("utf-8", "replace")
        room = min(MAX_TEXT, self._bytes_left)
        cut = max(0, len(encoded) - room)
        text = encoded[:room].decode("utf-8", "ignore")
        self._bytes_left -= len(encoded) - cut
        if cut:
            text += f"\n[cut: {cut:,} bytes ({size_text(cut)}) left out; ask for less at a time]"
        return msgspec.structs.replace(result, text=text, truncated=result.truncated + cut)
