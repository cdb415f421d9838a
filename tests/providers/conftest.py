"""Conversations driven as the worker drives them, against the local API server; waits are noted, not waited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from lumen_apiserver import ApiServer
from msgspec import Struct, field

from lumen_tui.model.config import ModelsConfig, ServerConfig
from lumen_tui.model.media import Media
from lumen_tui.model.roles import Role
from lumen_tui.model.tasks import Spec
from lumen_tui.providers.base import ConversationOutcome, Job, ProviderError, Reserve, Spent, TextUpdate, ToolCall
from lumen_tui.providers.choose import choose_provider


class Reply(Struct):
    text: str
    ok: bool = True
    data: dict[str, Any] = {}
    media: tuple[Media, ...] = ()


class Tool(Struct):
    name: str = "list_dir"
    description: str = "lists"
    schema: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {"path": {}}})


class Talk(Struct):
    """What came of a conversation."""

    steps: list[Any] = []
    outcome: ConversationOutcome | None = None
    error: str = ""
    brain: str = ""
    waits: list[float] = []

    def of(self, kind: type) -> list[Any]:
        return [step for step in self.steps if isinstance(step, kind)]

    def said(self, kind: str = "text") -> list[str]:
        return [step.text for step in self.of(TextUpdate) if step.kind == kind]

    @property
    def called(self) -> list[tuple[str, dict[str, Any]]]:
        """The calls: name and arguments."""
        return [(call.name, call.arguments) for call in self.of(ToolCall)]

    @property
    def usd(self) -> float:
        return sum(step.usage.usd for step in self.of(Spent))

    @property
    def order(self) -> str:
        """The steps by their first letters, texts left out: RSTRS."""
        names = {Reserve: "R", Spent: "S", ToolCall: "T"}
        return "".join(names.get(type(step), "") for step in self.steps)


class Conversations:
    """Holds conversations. `config` and `environ` may be changed before."""

    def __init__(self, api: ApiServer) -> None:
        self.api = api
        self.environ: dict[str, str] = dict(api.anthropic_env)
        self.job: dict[str, Any] = {"tools": (Tool(), Tool("other")), "chance": lambda: 0.5}
        self.settings: dict[str, Any] = {
            "provider": "anthropic", "connect_seconds": 2.0, "first_byte_seconds": 5.0, "silence_seconds": 5.0,
        }  # fmt: skip
        self.time = 1_000_000.0

    def server(self, name: str = "box", **more: Any) -> None:
        """Describe an OpenAI-compatible endpoint at the local server."""
        known = self.settings.get("endpoints", {})
        self.settings["endpoints"] = known | {name: ServerConfig("openai", self.api.openai_url, **more)}

    def talk(
        self, reply: Reply | Callable[[ToolCall], Reply] | None = None, model: str = "claude-haiku-4-5",
        steps: Callable[[Any], Any] = lambda step: None,
    ) -> Talk:  # fmt: skip
        """Hold a conversation: `reply` answers calls, `steps` whatever else it has an answer to."""
        talk, answer = Talk(), None
        waits = talk.waits = []
        objective = self.job.pop("objective", "list it")
        known = {"context": "old", "constraints": ("Read only",), **self.job}
        job = Job("be good", objective, now=self._now, pause=waits.append, **known)
        role, spec = Role(name="researcher", purpose="p", tier="haiku"), Spec(id="tsk-a", objective="o", model=model)
        provider = choose_provider(ModelsConfig(**self.settings), role, spec, self.environ)
        conversation = provider.converse(job)
        try:
            while True:
                step = conversation.send(answer)
                talk.steps.append(step)
                answer = self._answer(reply, step) if isinstance(step, ToolCall) else steps(step)
        except StopIteration as end:
            talk.outcome = end.value
        except ProviderError as error:
            talk.error = str(error)
        talk.brain = provider.brain
        return talk

    def _answer(self, reply: Any, call: ToolCall) -> Reply:
        return reply(call) if callable(reply) else reply or Reply("a\nb")

    def _now(self) -> float:
        self.time += 0.001
        return self.time


@pytest.fixture
def desk(api: ApiServer) -> Conversations:
    return Conversations(api)


@pytest.fixture
def reply() -> type[Reply]:
    return Reply
