"""The messages of ACP, version 1, as far as this server has them: https://agentclientprotocol.com/protocol/v1/schema.

What a client sends may have more fields than are named here; what is sent to it has these and no others.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]
CallStatus = Literal["pending", "in_progress", "completed", "failed"]
StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
PlanPriority = Literal["high", "medium", "low"]
PlanStatus = Literal["pending", "in_progress", "completed"]
SessionId = Annotated[str, Meta(min_length=1, max_length=100)]
_Path = Annotated[str, Meta(min_length=1, max_length=4096)]


class _Shape(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A message, or a part of one."""


# ---- content


class TextContent(_Shape, tag_field="type", tag="text", frozen=True, kw_only=True):
    text: str


class ImageContent(_Shape, tag_field="type", tag="image", frozen=True, kw_only=True):
    mime_type: str
    data: str  # base64


class AudioContent(_Shape, tag_field="type", tag="audio", frozen=True, kw_only=True):
    mime_type: str
    data: str  # base64


class ResourceLink(_Shape, tag_field="type", tag="resource_link", frozen=True, kw_only=True):
    name: str
    uri: str


class ResourceContents(_Shape, frozen=True, kw_only=True):
    uri: str
    text: str | None = None
    blob: str | None = None  # base64


class EmbeddedResource(_Shape, tag_field="type", tag="resource", frozen=True, kw_only=True):
    resource: ResourceContents


ContentBlock = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


# ---- what a client asks for


class NewSession(_Shape, frozen=True, kw_only=True):
    cwd: _Path
    mcp_servers: Annotated[tuple[dict[str, object], ...], Meta(max_length=100)] = ()
    additional_directories: tuple[str, ...] = ()


class LoadSession(NewSession, frozen=True, kw_only=True):
    session_id: SessionId


class ListSessions(_Shape, frozen=True, kw_only=True):
    cwd: str | None = None
    cursor: str | None = None


class OfSession(_Shape, frozen=True, kw_only=True):
    session_id: SessionId


class SetMode(OfSession, frozen=True, kw_only=True):
    mode_id: str


class SetOption(OfSession, frozen=True, kw_only=True):
    config_id: str
    value: str


class SessionPrompt(OfSession, frozen=True, kw_only=True):
    prompt: Annotated[tuple[ContentBlock, ...], Meta(min_length=1, max_length=200)]


class PermissionOutcome(_Shape, frozen=True, kw_only=True):
    outcome: Literal["selected", "cancelled"]
    option_id: str = ""


class PermissionAnswer(_Shape, frozen=True, kw_only=True):
    outcome: PermissionOutcome


class FormAnswer(_Shape, frozen=True, kw_only=True):
    action: str
    content: dict[str, object] | None = None


# ---- what is answered


class SessionMode(_Shape, frozen=True, kw_only=True):
    id: str
    name: str
    description: str = ""


class SessionModes(_Shape, frozen=True, kw_only=True):
    current_mode_id: str
    available_modes: tuple[SessionMode, ...]


class OptionValue(_Shape, frozen=True, kw_only=True):
    value: str
    name: str
    description: str = ""


class SelectOption(_Shape, tag_field="type", tag="select", frozen=True, kw_only=True):
    id: str
    name: str
    category: str
    current_value: str
    options: tuple[OptionValue, ...]


class OpenedSession(_Shape, frozen=True, kw_only=True):
    """What `session/new` answers; `session/load` and `session/resume` do without the id."""

    session_id: str | UnsetType = UNSET
    modes: SessionModes
    config_options: tuple[SelectOption, ...]


class SessionInfo(_Shape, frozen=True, kw_only=True):
    session_id: str
    cwd: str
    title: str
    updated_at: str


class SessionPage(_Shape, frozen=True, kw_only=True):
    sessions: tuple[SessionInfo, ...]
    next_cursor: str | UnsetType = UNSET


class PromptEnd(_Shape, frozen=True, kw_only=True):
    stop_reason: StopReason


# ---- updates


class UserChunk(_Shape, tag_field="sessionUpdate", tag="user_message_chunk", frozen=True, kw_only=True):
    content: TextContent
    message_id: str


class AgentChunk(_Shape, tag_field="sessionUpdate", tag="agent_message_chunk", frozen=True, kw_only=True):
    content: TextContent
    message_id: str


class ThoughtChunk(_Shape, tag_field="sessionUpdate", tag="agent_thought_chunk", frozen=True, kw_only=True):
    content: TextContent
    message_id: str


class CallText(_Shape, tag_field="type", tag="content", frozen=True, kw_only=True):
    content: TextContent


class CallDiff(_Shape, tag_field="type", tag="diff", frozen=True, kw_only=True):
    path: str
    new_text: str
    old_text: str | UnsetType = UNSET


class CallLocation(_Shape, frozen=True, kw_only=True):
    path: str
    line: int | UnsetType = UNSET


CallContent = CallText | CallDiff


class CallBegins(_Shape, tag_field="sessionUpdate", tag="tool_call", frozen=True, kw_only=True):
    tool_call_id: str
    title: str
    kind: ToolKind
    status: CallStatus


class CallFields(_Shape, frozen=True, kw_only=True):
    """A tool call as a permission is asked for it: what is not given has not changed."""

    tool_call_id: str
    title: str | UnsetType = UNSET
    kind: ToolKind | UnsetType = UNSET
    status: CallStatus | UnsetType = UNSET
    content: tuple[CallContent, ...] | UnsetType = UNSET
    locations: tuple[CallLocation, ...] | UnsetType = UNSET
    raw_input: dict[str, object] | UnsetType = UNSET


class CallChanges(CallFields, tag_field="sessionUpdate", tag="tool_call_update", frozen=True, kw_only=True):
    """The same, as an update."""


class PlanEntry(_Shape, frozen=True, kw_only=True):
    content: str
    priority: PlanPriority
    status: PlanStatus


class PlanUpdate(_Shape, tag_field="sessionUpdate", tag="plan", frozen=True, kw_only=True):
    entries: tuple[PlanEntry, ...]


class CommandHint(_Shape, frozen=True, kw_only=True):
    hint: str


class SlashCommand(_Shape, frozen=True, kw_only=True):
    name: str
    description: str
    input: CommandHint | UnsetType = UNSET


class CommandsUpdate(_Shape, tag_field="sessionUpdate", tag="available_commands_update", frozen=True, kw_only=True):
    available_commands: tuple[SlashCommand, ...]


class ModeUpdate(_Shape, tag_field="sessionUpdate", tag="current_mode_update", frozen=True, kw_only=True):
    current_mode_id: str


class OptionsUpdate(_Shape, tag_field="sessionUpdate", tag="config_option_update", frozen=True, kw_only=True):
    config_options: tuple[SelectOption, ...]


class InfoUpdate(_Shape, tag_field="sessionUpdate", tag="session_info_update", frozen=True, kw_only=True):
    title: str
    updated_at: str


class Cost(_Shape, frozen=True, kw_only=True):
    amount: float
    currency: str


class UsageUpdate(_Shape, tag_field="sessionUpdate", tag="usage_update", frozen=True, kw_only=True):
    used: int  # tokens of the conversation as the model had it last
    size: int  # tokens that the model takes
    cost: Cost


Update = (
    UserChunk
    | AgentChunk
    | ThoughtChunk
    | CallBegins
    | CallChanges
    | PlanUpdate
    | CommandsUpdate
    | ModeUpdate
    | OptionsUpdate
    | InfoUpdate
    | UsageUpdate
)


class SessionUpdate(_Shape, frozen=True, kw_only=True):
    session_id: str
    update: Update


# ---- what the client is asked


class PermissionOption(_Shape, frozen=True, kw_only=True):
    option_id: str
    name: str
    kind: Literal["allow_once", "allow_always", "reject_once", "reject_always"]


class AskPermission(_Shape, frozen=True, kw_only=True):
    session_id: str
    tool_call: CallFields
    options: tuple[PermissionOption, ...]


class AskForm(_Shape, frozen=True, kw_only=True):
    session_id: str
    mode: Literal["form"]
    message: str
    requested_schema: dict[str, object]


class CancelRequest(_Shape, frozen=True, kw_only=True):
    request_id: int
