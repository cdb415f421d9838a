"""A model that follows a script, whoever asks."""

from __future__ import annotations

from typing import Any

from lumen_apiserver import ApiServer, text, tool

FOLDERS = ("/", "/bin", "/dev", "/etc", "/home", "/lib", "/opt", "/sbin", "/tmp", "/usr", "/var")
STEPS = [("list_dir", {"path": path}) for path in FOLDERS]  # with the answer these are twelve calls of a model
USAGE = {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}


class Scripted:
    """The model API server with a script: (tool, arguments), a text, or seconds to wait."""

    def __init__(self, api: ApiServer) -> None:
        self.script: list[object] = []
        self.usage = dict(USAGE)
        self.url = api.url
        self._api = api
        api.otherwise(self._next)

    @property
    def asked(self) -> list[str]:
        return [request.path for request in self._api.asked]

    def _next(self, request: Any) -> Any:
        step = self.script.pop(0) if self.script else "done"
        if isinstance(step, float):
            return text("late", first_byte=step)
        if isinstance(step, tuple):
            return tool(step[0], step[1], how={"usage": self.usage})
        return text(str(step), usage=self.usage)


def answer_steps(api: ApiServer, seconds: float = 0.05) -> None:
    """Let the model ask for STEPS one after the other, by what stands in the conversation, and then answer."""

    def next_of(request: Any) -> Any:
        made = len(request.called)
        if made < len(STEPS):
            return tool(*STEPS[made], how={"first_byte": seconds})
        return text("The answer.", first_byte=seconds)

    api.otherwise(next_of)
