"""The only way to a tool: every call is checked against the role, the rules, its arguments and the limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from lumen_tui.model import renamed
from lumen_tui.model.approvals import COMMANDS, AllowRule, moving, reach_words
from lumen_tui.model.config import Config
from lumen_tui.model.digests import sha256
from lumen_tui.model.roles import Role, ToolRule
from lumen_tui.model.tasks import STEP_LIMIT, Spec
from lumen_tui.model.text import one_line, safe
from lumen_tui.model.toolservers import BETWEEN
from lumen_tui.storage.files import StoreError
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools import custom
from lumen_tui.tools.agent.blocks import MEMORY_INSERT, MEMORY_REPLACE, MEMORY_RETHINK, RELAY_READ, RELAY_SUBMIT
from lumen_tui.tools.agent.memory import MEMORY_SEARCH, READ_SIGNALS, RECALL, REMEMBER
from lumen_tui.tools.agent.questions import ASK_OPERATOR
from lumen_tui.tools.agent.report import DISCOVER, SIGNAL, WRITE_RESULT
from lumen_tui.tools.agent.request_host import TOOL as REQUEST_HOST
from lumen_tui.tools.agent.tools import PLANNING, tools_of
from lumen_tui.tools.agent.waiting import WAIT_FOR_TASKS
from lumen_tui.tools.base import (
    AnyTool,
    ApprovalReply,
    ApprovalRequest,
    BadRules,
    Context,
    Effect,
    TaskRules,
    ToolError,
    ToolResult,
)
from lumen_tui.tools.custom import JsonSchema, lean, schema_of
from lumen_tui.tools.files.edit import APPLY_PATCH, EDIT_FILE, WRITE_FILE
from lumen_tui.tools.files.read import DISK_USAGE, LIST_DIR, READ_FILE
from lumen_tui.tools.files.search import GLOB, GREP
from lumen_tui.tools.outputs import Outputs
from lumen_tui.tools.policy.adopted import adopted_tool, check_foreign
from lumen_tui.tools.policy.fence import UNSEEN, hides
from lumen_tui.tools.policy.rules import check, derive
from lumen_tui.tools.policy.verdict import (
    GRACE_STEPS,
    CallHistory,
    PolicyCall,
    PolicyVerdict,
    RequestedCall,
    allowing,
    arguments_of,
    convert,
    judge,
    narrow_rule,
    understand,
    unmet,
)
from lumen_tui.tools.sandbox import admission, secrets
from lumen_tui.tools.sandbox.sandboxed_command import ASK
from lumen_tui.tools.shell import background
from lumen_tui.tools.shell.background import SHELL_OUTPUT, SHELL_START, SHELL_STOP
from lumen_tui.tools.shell.tool import SHELL
from lumen_tui.tools.skills.finding import of_task
from lumen_tui.tools.skills.tool import READ_SKILL
from lumen_tui.tools.web_fetch import WEB_FETCH

if TYPE_CHECKING:
    from lumen_tui.tools.mcp.toolset import McpToolset

TOOLS: dict[str, AnyTool] = {
    tool.name: tool
    for tool in (
        READ_FILE,
        LIST_DIR,
        GLOB,
        GREP,
        DISK_USAGE,
        SHELL,
        SHELL_START,
        SHELL_OUTPUT,
        SHELL_STOP,
        WRITE_FILE,
        EDIT_FILE,
        APPLY_PATCH,
        WEB_FETCH,
        REQUEST_HOST,
        MEMORY_SEARCH,
        RECALL,
        REMEMBER,
        READ_SIGNALS,
        WRITE_RESULT,
        SIGNAL,
        DISCOVER,
        MEMORY_INSERT,
        MEMORY_REPLACE,
        MEMORY_RETHINK,
        RELAY_READ,
        RELAY_SUBMIT,
        ASK_OPERATOR,
        READ_SKILL,
        WAIT_FOR_TASKS,
    )
} | PLANNING
_MOST_REFUSED = 8  # consecutive calls that are refused
_REMEMBERED = 32  # latest calls whose results are remembered


class StepLimit(Exception):
    """The task used up its steps and kept calling tools."""


class Stuck(StepLimit):
    """The task keeps requesting calls that are refused."""


class Declaration(Struct, frozen=True):
    """A tool as it is described to a model."""

    name: str
    description: str
    schema: JsonSchema


_MANY = 20  # tools from which on what their schemas say twice would be a tenth of the prompt


def _schema(tool: AnyTool, described_before: set[tuple[str, str]] | None) -> JsonSchema:
    if not tool.arguments:
        return tool.declared or tool.schema
    whole = schema_of(tool.arguments, tool.request)
    return whole if described_before is None else lean(whole, described_before)


class Handling:
    """How the calls of a toolbox are judged and made."""

    def settings(self, context: Context) -> Config:
        """Return the operator's settings as they are now."""
        return load_config(context.store.layout)[0]

    def has_skills(self, context: Context) -> bool:
        """Return whether the task finds skills."""
        return bool(of_task(context).skills)

    def judge(self, rules: TaskRules, call: PolicyCall, past: CallHistory) -> PolicyVerdict:
        """Return the verdict of the rules on a call."""
        return judge(rules, call, past)

    def allowing(self, rules: TaskRules, call: PolicyCall, *, unsandboxed: bool) -> AllowRule | None:
        """Return the rule of the operator's that allows a call for which a person would be asked."""
        return allowing(rules, call, unsandboxed=unsandboxed)

    def preview(self, context: Context, requested: RequestedCall) -> str:
        """Return the change that a person is shown. ToolError where it cannot be made."""
        return requested.tool.preview(context, requested.arguments)

    def run(self, context: Context, requested: RequestedCall) -> ToolResult:
        """Run the tool of an admitted call."""
        return requested.tool.run(context, requested.arguments)


class Toolbox:
    """The tools of one task. `call` does not raise for mistakes of the caller: the result says what was wrong.

    `before` is what earlier attempts called, `how` the handling of its calls where it is not the usual one. BadRules
    where the rules of role, task and custom tools contradict each other.
    """

    def __init__(
        self,
        role: Role,
        spec: Spec,
        context: Context,
        before: CallHistory | None = None,
        how: Handling | None = None,
    ) -> None:
        declared = custom.load(context.store.layout, role)
        custom_tools = {
            name: custom.as_tool(tool_declaration, context.store.layout) for name, tool_declaration in declared.items()
        }
        self._how = how or Handling()
        config = self._how.settings(context)
        self._mcp = _mcp_toolset(context, role, config)
        mcp_tools = self._mcp.tools if self._mcp else {}
        self._tools: dict[str, AnyTool] = {**tools_of(role.name, TOOLS), **custom_tools, **mcp_tools}
        rules = derive(role, spec, config, tuple(mcp_tools))
        _check_names(rules, self._tools)
        extra: tuple[ToolRule, ...] = tuple(
            rule for tool_declaration in declared.values() for rule in tool_declaration.rules
        )
        hidden = secrets.existing(context.environ.get("HOME", ""), config.sandbox.hidden)
        self.rules: TaskRules = check(
            msgspec.structs.replace(rules, tool_rules=(*rules.tool_rules, *extra), hidden=tuple(hidden))
        )
        self._context = msgspec.structs.replace(context, rules=self.rules)
        if READ_SKILL.name in self.rules.tools and not (
            config.workers.skills_kb and self._how.has_skills(self._context)
        ):
            self.rules = msgspec.structs.replace(self.rules, tools=self.rules.tools - {READ_SKILL.name})
            self._context = msgspec.structs.replace(self._context, rules=self.rules)
        self._outputs = Outputs(self._context, role.limits.max_output_bytes)
        self._past = before or CallHistory()
        self._refused = 0

    @property
    def steps(self) -> int:
        """The number of calls so far."""
        return self._past.steps

    def allow_steps(self, steps: int) -> None:
        """Let the task make so many calls altogether from now on."""
        self.rules = msgspec.structs.replace(self.rules, max_steps=steps)
        self._context = msgspec.structs.replace(self._context, rules=self.rules)

    def unmet(self) -> str:
        """Return what the rules still require before the task may end, or an empty string."""
        return unmet(self.rules, self._past)

    def store(self, text: str) -> str:
        """Keep a text where the task's calls can read it and return its name; empty where there is no room for it."""
        return self._outputs.store(self._context.clean(text).encode("utf-8", "replace"))

    def close(self) -> None:
        """End the servers, and the commands that run in the background."""
        if self._mcp:
            self._mcp.close(self._context)
        background.stop_all(self._context)

    def declarations(self) -> list[Declaration]:
        """Return the declarations of the tools that the task may use; where these are many, with lean schemas.

        They are the same for all sessions of a role on a model, so that its cache has them.
        """
        hidden = self._mcp.hidden if self._mcp else frozenset()
        allowed = [tool for name, tool in self._tools.items() if name in self.rules.tools and name not in hidden]
        tools = [tool for tool in allowed if tool.applies(self._context)]
        described_before: set[tuple[str, str]] | None = set() if len(tools) > _MANY else None
        return [Declaration(tool.name, tool.description, _schema(tool, described_before)) for tool in tools]

    def describe(self, name: str, arguments: Mapping[str, object]) -> str:
        """Describe a call in a few words; safe, on one line."""
        name, arguments = _meant(self._mcp, name, arguments)
        tool = self._tools.get(name)
        if tool is None:
            return one_line(name, 60)
        try:
            return one_line(tool.describe(convert(tool, arguments)), 200)
        except ToolError:
            return one_line(name, 60)

    def traces(self, name: str, arguments: Mapping[str, object]) -> str:
        """Return what can be seen of a call that may have happened; empty where nothing can."""
        tool = self._tools.get(name)
        try:
            seen = tool.traces(self._context, convert(tool, arguments)) if tool else ""
        except (ToolError, StoreError, OSError) as error:
            seen = str(error)
        return self._context.redact(safe(seen))

    def call(self, name: str, arguments: Mapping[str, object]) -> ToolResult:
        """Carry out one call. Raises Stopped, and StepLimit where the caller continues after its last step."""
        self._context.check()
        self._past = msgspec.structs.replace(self._past, steps=self._past.steps + 1)
        name, arguments = _meant(self._mcp, name, arguments)
        try:
            requested, ask = self._admit(name, arguments)
        except (ToolError, StoreError, OSError) as error:
            return self._refuse(error)
        self._refused = 0
        return self._carry_out(requested, ask)

    def adopt(self, name: str, *, asks: bool) -> None:
        """Take in a back end's tool that none of ours stands for: its calls are judged like all others."""
        if name in self._tools:
            return
        self._tools[name] = adopted_tool(name, asks=asks)
        asked = (*self.rules.asks, name) if asks else self.rules.asks
        self.rules = msgspec.structs.replace(self.rules, tools=self.rules.tools | {name}, asks=asked)
        self._context = msgspec.structs.replace(self._context, rules=self.rules)

    def permit(self, name: str, arguments: Mapping[str, object]) -> ToolResult:
        """Decide whether a back end may make this call by itself; it counts as a step. Blocks while a person is asked.

        Raises as `call` does. Only for tools that read: a file could change between the check and a write.
        """
        self._context.check()
        self._past = msgspec.structs.replace(self._past, steps=self._past.steps + 1)
        try:
            requested, _ = self._admit(name, arguments)
            check_foreign(self._context, requested)
        except (ToolError, StoreError, OSError) as error:
            return self._refuse(error)
        self._refused = 0
        if requested.tool.effect is Effect.CHANGES:
            self._context.begins(requested.tool.name)
        self._note(requested, ToolResult(f"not seen: step {self._past.steps}"))
        return ToolResult("")

    def _refuse(self, error: Exception) -> ToolResult:
        self._refused += 1
        if self._past.steps - self.rules.max_steps > GRACE_STEPS:
            raise StepLimit(f"{STEP_LIMIT} ({self.rules.max_steps}/{self.rules.max_steps})")
        if self._refused >= _MOST_REFUSED:
            raise Stuck(f"{self._refused} calls in a row were refused, the last because {one_line(str(error), 200)}")
        return msgspec.structs.replace(_failed(self._context, error), refused=True)

    def _admit(
        self, name: str, arguments: Mapping[str, object]
    ) -> tuple[RequestedCall, Callable[[ApprovalRequest], ApprovalReply]]:
        """Return the admitted call and the function with which it can ask; blocks while a person is asked.

        ToolError where it is refused.
        """
        tool = self._tools.get(name)
        if tool is None and (present := self._tools.get(renamed.tool(name))):
            raise ToolError(f"{name} is called {present.name} now: its arguments are {arguments_of(present)}")
        if tool is None or name not in self.rules.tools:
            allowed = ", ".join(tool for tool in self._tools if tool in self.rules.tools) or "none"
            raise ToolError(f"the tool {one_line(name, 60)!r} is not among those of this task: {allowed}")
        requested = understand(self._context, tool, arguments)
        judged = self._how.judge(self.rules, requested.call, self._past)
        if judged.decision == "deny":
            raise ToolError(judged.reason)
        ask = self._asker(requested)
        if judged.decision == "ask":
            self._get_approval(requested, judged.reason, ask)
            requested = msgspec.structs.replace(requested, allowed_once=True)
        return requested, ask

    def _get_approval(
        self, requested: RequestedCall, reason: str, ask: Callable[[ApprovalRequest], ApprovalReply]
    ) -> None:
        """Ask a person. The shown change must still be the one that would be made when the reply comes."""
        diff = self._how.preview(self._context, requested)
        reply = ask(ApprovalRequest(tool=requested.tool.name, summary="", reason=reason, diff=diff))
        if not reply.allowed:
            by = f" by {one_line(reply.by, 60)}" if reply.by else ""
            raise ToolError(f"refused{by}: {reply.reason or 'no reason was given'}")
        if self._how.preview(self._context, requested) != diff:
            raise ToolError("what would be changed has changed while a person was asked: look at it and call again")

    def _asker(self, requested: RequestedCall) -> Callable[[ApprovalRequest], ApprovalReply]:
        """Return a function that asks about one call, once: rules, sandbox and tool share the reply."""
        replies: list[ApprovalReply] = []

        def ask(request: ApprovalRequest) -> ApprovalReply:
            if not replies:
                unsandboxed = request.unsandboxed or _is_unsandboxed(self._context, requested)
                saved_reply = _always(self._how, self._context, requested, unsandboxed=unsandboxed)
                replies.append(
                    saved_reply or self._context.ask(self._request(requested, request, unsandboxed=unsandboxed))
                )
            return replies[0]

        return ask

    def _request(self, requested: RequestedCall, request: ApprovalRequest, *, unsandboxed: bool) -> ApprovalRequest:
        """Complete the request with what is known of every call. ToolError where part of it would be masked."""
        if hides(msgspec.json.encode(requested.canonical).decode()):
            raise ToolError(UNSEEN)
        summary = one_line(self._context.redact(requested.tool.describe(requested.arguments)), 300)
        risk = request.risk or _risk(self.rules, requested, unsandboxed=unsandboxed)
        if warning := moving(requested.call.tool, requested.call.target):
            risk = f"{risk} {warning}."
        return msgspec.structs.replace(
            request,
            tool=requested.tool.name,
            summary=summary,
            arguments=requested.canonical,
            folder=requested.call.folder,
            risk=risk,
            unsandboxed=unsandboxed,
            rule=narrow_rule(requested.call, unsandboxed=unsandboxed),
        )

    def _carry_out(self, requested: RequestedCall, ask: Callable[[ApprovalRequest], ApprovalReply]) -> ToolResult:
        name, context = requested.tool.name, msgspec.structs.replace(self._context, ask=ask)
        try:
            if requested.allowed_once or requested.tool.effect is Effect.CHANGES:
                context.begins(name)
            result = self._outputs.limit(self._how.run(context, requested))
        except (ToolError, StoreError, OSError) as error:
            result = _failed(self._context, error)
        self._note(requested, result)
        return result

    def _note(self, requested: RequestedCall, result: ToolResult) -> None:
        past, name = self._past, requested.tool.name
        output = f"{result.text}\0{result.summary}"  # for a long text only the summary may tell what is new
        output_hash = sha256(output.encode("utf-8", "replace"))
        self._past = msgspec.structs.replace(
            past,
            called=(*past.called, name),
            succeeded=(*past.succeeded, name) if result.ok else past.succeeded,
            recent=(*past.recent, (requested.call.hash, output_hash))[-_REMEMBERED:],
        )


def _always(how: Handling, context: Context, requested: RequestedCall, *, unsandboxed: bool) -> ApprovalReply | None:
    """Return the approval of a rule that a person saved, perhaps a moment ago; None without one."""
    rules = msgspec.structs.replace(context.rules, allows=how.settings(context).allow)
    rule = how.allowing(rules, requested.call, unsandboxed=unsandboxed)
    return ApprovalReply(allowed=True, by=rule.by, reason=f"{reach_words(rule)}: {rule.pattern}") if rule else None


def _mcp_toolset(context: Context, role: Role, config: Config) -> McpToolset | None:
    """Return the tools of the role's MCP servers; None where it has none. BadRules where one cannot be used."""
    if not role.mcp:
        return None
    from lumen_tui.tools.mcp import toolset  # only what has such servers pays for them

    return toolset.load(context.store.layout, role, config)


def _meant(mcp: McpToolset | None, name: str, arguments: Mapping[str, object]) -> tuple[str, Mapping[str, object]]:
    """Return the call that is meant, where a tool of a server is called by another one."""
    return mcp.unwrap(name, arguments) if mcp else (name, arguments)


def _check_names(rules: TaskRules, tools: Mapping[str, AnyTool]) -> None:
    """Raise BadRules for a rule about a tool of a server that there is not: it would hold nothing back."""
    named = [name for rule in rules.tool_rules for name in (rule.tool, *rule.then) if BETWEEN in name]
    if missing := [name for name in named if name not in tools]:
        raise BadRules(f"a rule is about {missing[0]!r}, and no server has such a tool: fix the rules")


def _risk(rules: TaskRules, requested: RequestedCall, *, unsandboxed: bool) -> str:
    """Return what could go wrong, in a sentence."""
    if unsandboxed:
        return admission.UNSANDBOXED_RISK
    reads = requested.tool.name in COMMANDS and rules.shell == "read"
    return admission.READING_RISK if reads else requested.tool.risk


def _is_unsandboxed(context: Context, requested: RequestedCall) -> bool:
    """Return whether the call is a command that would run without a sandbox."""
    return requested.tool.name in COMMANDS and admission.choose_tier(context).tier == ASK


def _failed(context: Context, error: Exception) -> ToolResult:
    return ToolResult(context.redact(safe(str(error))), ok=False, summary="refused or failed")
