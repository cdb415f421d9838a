"""Told of changes: resources and tasks that a client listens to, by one thread that follows the state folder."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import msgspec

from lumen_tui.model.digests import sha256
from lumen_tui.servers.catalogue import Counter
from lumen_tui.servers.jsonrpc import Result, invalid
from lumen_tui.servers.mcp import resources, tasks
from lumen_tui.servers.mcp.wire import Exchange, missing_tasks
from lumen_tui.tools.mcp.messages import META, JsonRpcError

_MOST = 20  # subscriptions of one client at once
_MOST_NAMES = 100  # addresses and tasks of one


class _Subscription:
    """What one request listens to, with a mark of each as it was told last."""

    def __init__(self, exchange: Exchange, uris: list[str], task_ids: list[str]) -> None:
        self.exchange = exchange
        self.uris = dict.fromkeys(uris, "")
        self.task_ids = dict.fromkeys(task_ids, "")

    def meta(self) -> Result:
        """Return what each notification of the stateless protocol carries."""
        return {"_meta": {f"{META}subscriptionId": self.exchange.id}} if self.exchange.modern else {}


class Subscriptions:
    """Those of one client. `close` ends them all."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._turn = threading.Lock()
        self._open: dict[object, _Subscription] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def listen(self, exchange: Exchange) -> None:
        """Begin a stream of 2026-07-28: say what is honoured, then tell of each change until it is cancelled."""
        asked = exchange.mapping("notifications")
        uris, task_ids = _names(asked, "resourceSubscriptions"), _names(asked, "taskIds")
        if task_ids and not exchange.takes_tasks:
            raise missing_tasks()
        subscription = _Subscription(exchange, uris, task_ids)
        honoured: Result = {"resourceSubscriptions": uris} if uris else {}
        honoured |= {"taskIds": task_ids} if task_ids else {}
        self._look(subscription, tell=False)
        acknowledged = {**subscription.meta(), "notifications": honoured}
        exchange.notify("notifications/subscriptions/acknowledged", acknowledged)
        self._add(exchange.id, subscription)

    def subscribe(self, exchange: Exchange, uri: str) -> Result:
        """Begin to tell of one resource, as 2025-11-25 has it."""
        resources.read(self._counter, exchange, uri)
        subscription = _Subscription(exchange, [uri], [])
        self._look(subscription, tell=False)
        self._add(uri, subscription)
        return {}

    def _add(self, name: object, subscription: _Subscription) -> None:
        """Take a subscription up; JsonRpcError where too many are open."""
        with self._turn:
            if len(self._open) >= _MOST and name not in self._open:
                raise invalid(f"{_MOST} subscriptions are open: cancel some first")
            self._open[name] = subscription
        self._follow()

    def cancel(self, name: object) -> bool:
        """End a subscription by its request's id or its address; return whether there was one."""
        with self._turn:
            return self._open.pop(name, None) is not None

    def close(self) -> list[object]:
        """End all; return the ids of the requests of 2026-07-28 that are to be answered."""
        self._stop.set()
        with self._turn:
            ids = [name for name, one in self._open.items() if one.exchange.modern]
            self._open.clear()
        return ids

    def _follow(self) -> None:
        with self._turn:
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, daemon=True)
                self._thread.start()

    def _watch(self) -> None:
        for _ in self._counter.desk.changes(self._stop):
            with self._turn:
                subscriptions = list(self._open.values())
            for subscription in subscriptions:
                self._look(subscription, tell=True)

    def _look(self, subscription: _Subscription, *, tell: bool) -> None:
        """Compare what is listened to with what it was, and tell of what changed."""
        exchange = subscription.exchange
        for uri, mark in subscription.uris.items():
            now = subscription.uris[uri] = self._mark(exchange, uri)
            if tell and now != mark:
                exchange.notify("notifications/resources/updated", {**subscription.meta(), "uri": uri})
        for task_id, mark in subscription.task_ids.items():
            task = self._task(exchange, task_id)
            now = subscription.task_ids[task_id] = _hash({**task, "lastUpdatedAt": ""})
            if tell and now != mark and task:
                exchange.notify("notifications/tasks", {**subscription.meta(), **task})

    def _mark(self, exchange: Exchange, uri: str) -> str:
        try:
            return _hash(resources.read(self._counter, exchange, uri))
        except JsonRpcError:
            return ""

    def _task(self, exchange: Exchange, task_id: str) -> Mapping[str, object]:
        try:
            return tasks.described(self._counter, exchange, task_id)
        except JsonRpcError:
            return {}


def _hash(value: Mapping[str, object]) -> str:
    return sha256(msgspec.json.encode(value))


def _names(asked: Mapping[str, object], name: str) -> list[str]:
    value = asked.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise invalid(f"{name} must be a list of texts")
    if len(value) > _MOST_NAMES:
        raise invalid(f"{name} holds more than {_MOST_NAMES}")
    return list(dict.fromkeys(value))
