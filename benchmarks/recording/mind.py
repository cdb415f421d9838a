"""The model of the recording: a script that answers each order as the world says it ends."""

from __future__ import annotations

from lumen_apiserver import Answer, Request, fail, text, tool

from benchmarks.recording import world
from benchmarks.recording.world import ShopOrder

_LETTER = """Where things are
- {count} read. Release 2.4 waits for the retry budget (WU-061).

Promised
- Ana hears of anything that needs her decision.

Constraints
- No network for workers until Monday.
- Nothing is deployed without the operator's word.

Next
- {next}
"""
_READ = ("One result was", "2 results were", "3 results were", "4 results were")
_NEXT = (
    "Triage the discoveries of the night, P0 first", "WU-101: rebase on the new validation port",
    "Read the survey of the logs", "Ask who reads the weekly report", "Close WU-098 once dates are parsed in one way",
)  # fmt: skip
_MOST = 400  # characters of what a look returned that a result repeats


class Mind:
    """Answers requests, the slower the more there is to read, as a real model would."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._loops = 0

    def answer(self, request: Request) -> Answer:
        """Return the answer to one request."""
        if "deposit" in request.tool_names:
            return self._lead(request)
        if "write_result" not in request.tool_names:
            return text("Two weeks at a shop: retries, sessions, one release.")
        orders = (*world.ORDERS, *world.FAILURES, *world.CHANGES)
        order = next(order for order in orders if order.objective in request.first_text)
        return self._work(order, request)

    def _lead(self, request: Request) -> Answer:
        if not request.called:
            return tool("list_tasks", say="What is new, and who works on what?", how={"first_byte": self._pause()})
        self._loops += 1
        line = _NEXT[self._loops % len(_NEXT)]
        return tool(
            "deposit", wake_state=_LETTER.format(count=_READ[self._loops % len(_READ)], next=line), next=[line],
            decided=[("wait for the retry budget before the release, as the webhook needs it",
                      "give the survey to a researcher, as it changes nothing")[self._loops % 2]],
            made=[{"title": "Report of the night", "kind": "report"}] if self._loops % 3 == 0 else [],
            constraints=["no network for workers until Monday"], how={"first_byte": self._pause()},
        )  # fmt: skip

    def _pause(self) -> float:
        """Return seconds, between 0.2 and 1.4, in no order that could be seen."""
        return 0.2 + (self._loops * 7 % 13) / 10

    def _work(self, order: ShopOrder, request: Request) -> Answer:
        done = len(request.called)
        if order.fails == "refused":
            return fail(429, "rate limit of this account reached")
        if order.fails == "steps":
            return tool(
                "list_dir",
                path=f"{self._project}/{('src', 'log', 'data')[done % 3]}",
                say=f"Part {done + 1} of the trace.",
            )
        calls = list(order.looks)
        if order.discovers:
            calls.append(("discover", {"title": order.discovers, "priority": "P2"}))
        if order.isolate:
            calls.append(("edit_file", dict(world.EDIT)))
        if done < len(calls):
            name, arguments = calls[done]
            if "path" in arguments and not order.isolate:
                arguments = {**arguments, "path": f"{self._project}/{arguments['path']}"}
            say = "I look before I say anything." if done == 0 else "That agrees with what I saw. One more look."
            return tool(name, arguments, say=say, how={"first_byte": 0.2 + done / 5})
        seen = "\n".join(request.results)[:_MOST]
        return tool("write_result", text=f"# {order.objective}\n\n{order.result}\n\nSeen:\n\n```\n{seen}\n```\n")
