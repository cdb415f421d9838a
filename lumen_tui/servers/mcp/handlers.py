"""What each method does. Loaded with the first request that needs the state folder: the handshake does without."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lumen_tui.model.toolservers import HANDSHAKE
from lumen_tui.servers.catalogue import Counter
from lumen_tui.servers.jsonrpc import Result, invalid, no_method
from lumen_tui.servers.mcp import prompts, resources, tasks, tools
from lumen_tui.servers.mcp.subscriptions import Subscriptions
from lumen_tui.servers.mcp.wire import Exchange

_PAGE = 50  # entries
_LISTS_HOLD, _CONTENTS_HOLD = 60_000, 0  # milliseconds


class Handlers:
    """The methods over one state folder, for one client."""

    def __init__(self, counter: Counter) -> None:
        self.counter = counter
        self.subscriptions = Subscriptions(counter)

    def answer(self, method: str, exchange: Exchange) -> Result | None:
        """Return the result of a request; None where it stays open. JsonRpcError where it is refused."""
        handle = _BOTH.get(method) or (_MODERN if exchange.modern else _LEGACY).get(method)
        if handle is None or (not exchange.modern and method.startswith("tasks/") and exchange.version != HANDSHAKE):
            raise no_method(method)
        return handle(self, exchange)

    def tools_list(self, exchange: Exchange) -> Result:
        listed = tools.described(exchange.who, legacy_tasks=exchange.version == HANDSHAKE)
        return _page("tools", listed, exchange)

    def tools_call(self, exchange: Exchange) -> Result:
        name = exchange.text("name")
        if name == tools.RUN:
            return tasks.run(self.counter, exchange)
        if exchange.params.get("task") is not None and not exchange.modern:
            raise no_method(f"{name} as a task")
        return tools.call(self.counter, exchange, name)

    def resources_list(self, exchange: Exchange) -> Result:
        return _page("resources", resources.listed(self.counter, exchange), exchange)

    def templates_list(self, exchange: Exchange) -> Result:
        return _page("resourceTemplates", resources.templates(self.counter, exchange), exchange)

    def resources_read(self, exchange: Exchange) -> Result:
        result = resources.read(self.counter, exchange, exchange.text("uri"))
        return _cached(result, exchange, _CONTENTS_HOLD)

    def subscribe(self, exchange: Exchange) -> Result:
        return self.subscriptions.subscribe(exchange, exchange.text("uri"))

    def unsubscribe(self, exchange: Exchange) -> Result:
        self.subscriptions.cancel(exchange.text("uri"))
        return {}

    def listen(self, exchange: Exchange) -> None:
        self.subscriptions.listen(exchange)

    def prompts_list(self, exchange: Exchange) -> Result:
        return _page("prompts", prompts.listed(self.counter, exchange), exchange)

    def prompts_get(self, exchange: Exchange) -> Result:
        return prompts.get(self.counter, exchange)

    def complete(self, exchange: Exchange) -> Result:
        return prompts.complete(self.counter, exchange)

    def tasks_get(self, exchange: Exchange) -> Result:
        return tasks.get(self.counter, exchange)

    def tasks_update(self, exchange: Exchange) -> Result:
        return tasks.update(self.counter, exchange)

    def tasks_cancel(self, exchange: Exchange) -> Result:
        return tasks.cancel(self.counter, exchange)

    def tasks_result(self, exchange: Exchange) -> Result:
        return tasks.result(self.counter, exchange)

    def tasks_list(self, exchange: Exchange) -> Result:
        return _page("tasks", tasks.listed(self.counter, exchange), exchange)


_Handler = Callable[[Handlers, Exchange], Result | None]
_BOTH: dict[str, _Handler] = {
    "tools/list": Handlers.tools_list,
    "tools/call": Handlers.tools_call,
    "resources/list": Handlers.resources_list,
    "resources/templates/list": Handlers.templates_list,
    "resources/read": Handlers.resources_read,
    "prompts/list": Handlers.prompts_list,
    "prompts/get": Handlers.prompts_get,
    "completion/complete": Handlers.complete,
    "tasks/get": Handlers.tasks_get,
    "tasks/cancel": Handlers.tasks_cancel,
}
_MODERN: dict[str, _Handler] = {"tasks/update": Handlers.tasks_update, "subscriptions/listen": Handlers.listen}
_LEGACY: dict[str, _Handler] = {
    "resources/subscribe": Handlers.subscribe,
    "resources/unsubscribe": Handlers.unsubscribe,
    "tasks/result": Handlers.tasks_result,
    "tasks/list": Handlers.tasks_list,
}


def _page(name: str, entries: Sequence[Result], exchange: Exchange) -> Result:
    """Return the page of a list that a cursor names, with that of the next one where there is one."""
    cursor = exchange.params.get("cursor")
    if cursor is not None and not (isinstance(cursor, str) and cursor.isascii() and cursor.isdecimal()):
        raise invalid("cursor is none that was given out")
    start = int(cursor[:9]) if cursor else 0
    if cursor and not 0 < start < len(entries):
        raise invalid("cursor is behind the end: list again from the beginning")
    end = start + _PAGE
    more: Result = {"nextCursor": str(end)} if end < len(entries) else {}
    return _cached({name: entries[start:end], **more}, exchange, _LISTS_HOLD)


def _cached(result: Result, exchange: Exchange, milliseconds: int) -> Result:
    """Return a result with how long it holds and for whom, which the stateless protocol asks for."""
    return {**result, "ttlMs": milliseconds, "cacheScope": "private"} if exchange.modern else result
