"""The Claude Code program as a back end: its loop, its login and its care for the context; our tools and our rules."""

from __future__ import annotations

from collections.abc import Mapping

from lumen_tui.model.config import ModelsConfig
from lumen_tui.providers.base import Conversation, ConversationOutcome, Job, TextUpdate
from lumen_tui.providers.claude_code import program as program
from lumen_tui.providers.claude_code.conversation import ClaudeConversation
from lumen_tui.providers.claude_code.going_on import KeptSteps
from lumen_tui.providers.claude_code.json_lines import JsonLinesPipe
from lumen_tui.providers.claude_code.usage import NAME
from lumen_tui.providers.vendors.endpoints import DEAREST, price_of

_MORE_TURNS = 10  # than tool calls are allowed: an answer without a call is one too


class ClaudeCodeProvider:
    """A provider. ProviderError where the program is not there."""

    resumes = True
    deaf = "Claude Code takes no message of ours while it works"

    def __init__(self, model: str, steps: int, config: ModelsConfig, environ: Mapping[str, str]) -> None:
        self._model, self._turns = model, steps + _MORE_TURNS
        self._config, self._environ = config, environ
        self._program = program.find(config, environ)

    @property
    def brain(self) -> str:
        """Program and model: `claude claude-sonnet-5-5`."""
        return f"{NAME} {self._model}".strip()

    def converse(self, job: Job) -> Conversation:
        """Work on one task. Raises ProviderError."""
        if price_of(self._config, NAME, self._model) is None:
            yield TextUpdate(
                f"no price is known for {self._model or 'its model'}: counted as the dearest, ${DEAREST.input:g} and "
                f"${DEAREST.output:g} per million tokens; set it under [models.prices]",
                kind="note",
            )
        own = [theirs for theirs, ours in program.OWN.items() if ours in {tool.name for tool in job.tools}]
        steps = KeptSteps(job, program.config_folder(self._environ))
        if (text := steps.final) is not None:
            return ConversationOutcome(ok=True, text=text)
        yield from steps.finish()
        argv = program.arguments(self._program, self._model, self._turns, own, job.tuning) + steps.words
        env = program.environment(self._environ, self._config, job.tuning)
        own_folder, own_files = program.config_folder(self._environ), program.own_files(self._environ, job.tuning)
        launched = (job.launch or program.launch)(argv, env, own_folder, own_files)
        pipe = JsonLinesPipe(launched.child)
        talk = ClaudeConversation(pipe, job, self._config, self._model, steps, steps.opening())
        try:
            return (yield from talk.run())
        except BaseException:
            talk.interrupt()
            raise
        finally:
            launched.end()
