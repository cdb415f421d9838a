"""The verbs that a task's model asks for by a tool, carried out in the agent's name.

None of them is an order of the operator, in a turn of the chat neither: what a model says may be what a file told it.
"""

from __future__ import annotations

from collections.abc import Callable

from lumen_tui.model.requests.base import Request
from lumen_tui.store.settings.config import load_config
from lumen_tui.tools.base import Performed, ToolError
from lumen_tui.worker.world import World


def performer(world: World) -> Callable[[Request], Performed]:
    """Return what carries out a request of this task's model, as one entry of the journal; ToolError where refused."""

    def perform(request: Request) -> Performed:
        from lumen_tui.actions import acting, registry  # with the verbs 30 ms, which only those that use them pay
        from lumen_tui.actions.refusal import ActionError

        task, store = world.folder.name, world.store
        by = load_config(store.layout)[0].agent.name
        try:
            acting.must_not_be_agent(request.verb, f"a tool of {task}")
            client = f"{acting.AGENT}{task}"
            done = registry.perform(store, request, by=by, now=world.now(), client=client)
        except ActionError as error:
            near = f" Did you mean {' or '.join(error.candidates[:3])}?" if error.candidates else ""
            raise ToolError(f"{error}.{near}" if near else str(error)) from error
        return Performed(done.summary, done.target, done.aside)

    return perform
