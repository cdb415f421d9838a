"""The application: which operation a request asks for, whether it may, and the answer as JSON.

What is in memory is answered at once, a search by a process of its own; what may touch the disk goes to a thread.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import cast

import msgspec
from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from lumen_tui.engine.health import health_report
from lumen_tui.model.access import Scope
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.queries import documents
from lumen_tui.servers import reads
from lumen_tui.servers.catalogue import Counter, Fault, OperationError, failing
from lumen_tui.servers.following import FollowingDesk, Moment
from lumen_tui.servers.http import problems
from lumen_tui.servers.http.door import MOST_QUERY, Door, body_of
from lumen_tui.servers.http.feed import BadPosition, FeedPosition
from lumen_tui.servers.http.listeners import Listeners
from lumen_tui.servers.http.mcp import McpEndpoint
from lumen_tui.servers.http.metrics import CONTENT_TYPE, RequestFigures, exposition
from lumen_tui.servers.http.problems import HEADERS, INTERNAL, METHOD, TOO_LONG, HttpProblem
from lumen_tui.servers.http.routes import BASE, IDEMPOTENCY_KEY, ROUTES, OperationRoute, openapi
from lumen_tui.servers.mcp.handlers import Handlers
from lumen_tui.servers.reads import SearchRequest
from lumen_tui.servers.searches import AskedSearch, SearchProcess

_FROM_MEMORY = frozenset({"attention", "list_roles", "list_signals", "list_units", "list_discoveries"})
_BRIEFINGS = 2  # at once: what takes long keeps no thread from what does not
_THREADS = 4  # for other reads: more would only wait for one another
_GONE = 499  # nobody reads the answer any more

Endpoint = Callable[[Request], Awaitable[Response]]
Log = Callable[[str], None]


class HttpApi:
    """One state folder over HTTP."""

    def __init__(self, desk: FollowingDesk, counter: Counter, door: Door, log: Log) -> None:
        self.desk = desk
        self.counter = counter
        self.door = door
        self.listeners = Listeners(desk.layout)
        self.searches = SearchProcess(desk.root)
        self.mcp = McpEndpoint(counter, desk, door, lambda: Handlers(counter))
        self._figures = RequestFigures()
        self._slow, self._quick = CapacityLimiter(_BRIEFINGS), CapacityLimiter(_THREADS)
        self._under_way: dict[Hashable, asyncio.Event] = {}  # answers that are being made
        self._searched: Moment | None = None
        self._log = log

    def operation(self, route: OperationRoute) -> Endpoint:
        """Return what answers the requests of a route."""
        name = route.operation.name
        limiter = self._slow if name == "briefing" else self._quick if route.operation.scope is Scope.READ else None

        async def answer(request: Request) -> Response:
            who = self.door.principal(request, self.desk.now)
            call = self.counter.admitted(who, name, await _arguments(route, request))
            if name == "search":
                return answered(await self._found(cast("SearchRequest", call.arguments)))
            work = functools.partial(self.counter.carry_out, call, documents.encoded)
            if name in _FROM_MEMORY:
                return answered(work())
            about = reads.subject(name, who, call.arguments) if name in reads.SETTLED else None
            return answered(await self._worked_out(about, work, limiter))

        return answer

    async def _worked_out(self, about: Hashable, work: Callable[[], bytes], limiter: CapacityLimiter | None) -> bytes:
        """Return an answer, in a thread unless it is kept; what another request is working out is waited for.

        Ages change each second: without that all clients had the same answer made at once, and waited for all of it.
        """
        if about is None:
            return await to_thread.run_sync(work, limiter=limiter)
        while (others := self._under_way.get(about)) is not None:
            await others.wait()
        if self.desk.is_settled(about):
            return work()
        ours = self._under_way[about] = asyncio.Event()
        try:
            return await to_thread.run_sync(work, limiter=limiter)
        finally:
            del self._under_way[about]
            ours.set()

    async def _found(self, arguments: SearchRequest) -> bytes:
        """Return the answer to a search, with all that is in the newest snapshot."""
        with failing():
            query = reads.search_query(self.desk, arguments)
        moment, searched = self.desk.moment, self._searched
        self._searched = moment
        is_due = searched is None or not moment.is_same(searched)
        return await self.searches.ask(AskedSearch(arguments.query, query, self.desk.now, is_due))

    def guarded(self, answer: Endpoint) -> Endpoint:
        """Return an endpoint that answers what goes wrong with a problem document, and logs who was turned away."""

        @functools.wraps(answer)
        async def guarded(request: Request) -> Response:
            began = time.perf_counter()
            try:
                self.door.check_origin(request)
                response = await answer(request)
            except (HttpProblem, OperationError) as error:
                response = problems.answer(error)
            except ClientDisconnect:
                response = Response(status_code=_GONE)
            except Exception as error:  # noqa: BLE001 - one request must not end the server; what was asked stays out of the log
                self._log(f"a request failed with {type(error).__name__}")
                response = problems.answer(HttpProblem(INTERNAL, f"{type(error).__name__} in the server"))
            if response.status_code in (401, 403):
                self._log(f"refused {request.method} from {request.client.host if request.client else '?'}")
            self._figures.count(request.method, response.status_code, time.perf_counter() - began)
            return response

        return guarded

    async def events(self, request: Request) -> Response:
        """Answer with a stream of what happens, which ends when the token does."""
        who = self.door.reader(request, self.desk.now)
        self.counter.count(who, Scope.READ)
        place = request.headers.get("last-event-id", "")
        try:
            position = FeedPosition.parse(place) if place else None
        except BadPosition as error:
            raise OperationError(Fault.INVALID, str(error)) from error
        if self.listeners.is_full(who.by):
            raise OperationError(Fault.BUSY, "too many streams are open: end some first", retry_after=10.0)

        def is_welcome() -> bool:
            try:
                return bool(self.door.reader(request, self.desk.now))
            except (HttpProblem, OperationError):
                return False

        stream = self.listeners.listen(who.by, position, is_welcome)
        return StreamingResponse(stream, media_type="text/event-stream", headers=HEADERS)

    async def metrics(self, request: Request) -> Response:
        """Answer with figures for Prometheus."""
        self.counter.count(self.door.reader(request, self.desk.now), Scope.READ)
        snapshot = self.desk.snapshot()
        report = await run_in_threadpool(health_report, snapshot)
        text = exposition(snapshot, report, self._figures, self.listeners.count)
        return Response(text, media_type=CONTENT_TYPE, headers=HEADERS)

    async def health(self, request: Request) -> Response:
        """Answer whether the agent is alive; to a client with a token also what was looked at."""
        return await self._health(request, ready=False)

    async def ready(self, request: Request) -> Response:
        """Answer whether the engine starts work that it is given now."""
        return await self._health(request, ready=True)

    async def _health(self, request: Request, *, ready: bool) -> Response:
        report = await run_in_threadpool(health_report, self.desk.snapshot())
        is_well = report.ready if ready else report.alive
        known = request.headers.get("authorization") and self.door.reader(request, self.desk.now)
        fields = report.fields() if known else {"status": report.status}
        return json(fields, 200 if is_well else 503, "application/health+json")

    async def openapi(self, request: Request) -> Response:
        return json(openapi())

    async def unknown(self, request: Request) -> Response:
        raise OperationError(Fault.UNKNOWN, "there is nothing at this path: /openapi.json lists what there is")

    async def wrong_method(self, request: Request) -> Response:
        raise HttpProblem(METHOD, f"{request.method} is not answered at this path: /openapi.json lists what is")


def application(api: HttpApi) -> Starlette:
    """Return the application."""
    guarded = api.guarded
    routes = [Route(f"{BASE}{route.path}", guarded(api.operation(route)), methods=[route.method]) for route in ROUTES]
    own = {
        f"{BASE}/events": api.events,
        "/metrics": api.metrics,
        "/health": api.health,
        "/ready": api.ready,
        "/openapi.json": api.openapi,
    }
    routes += [Route(path, guarded(answer), methods=["GET"]) for path, answer in own.items()]
    routes.append(Route("/mcp", guarded(api.mcp.answer), methods=["GET", "POST", "DELETE"]))

    return Starlette(
        routes=routes,
        exception_handlers={404: _handler(guarded(api.unknown)), 405: _handler(guarded(api.wrong_method))},
    )


def _handler(answer: Endpoint) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handle(request: Request, error: Exception) -> Response:
        return await answer(request)

    return handle


async def _arguments(route: OperationRoute, request: Request) -> dict[str, object]:
    """Return the arguments as they stand in path, query and body. OperationError or HttpProblem."""
    if route.has_body:
        given = _object(await body_of(request))
        if route.takes_key and (key := request.headers.get(IDEMPOTENCY_KEY, "")):
            given["key"] = key
    else:
        given = _typed(route, request)
    for name, value in request.path_params.items():
        if given.setdefault(name, value) != value:
            raise OperationError(Fault.INVALID, f"{name} is another one in the path")
    return given


def _object(body: bytes) -> dict[str, object]:
    try:
        return msgspec.json.decode(body, type=dict[str, object]) if body else {}
    except UNDECODABLE as error:
        raise OperationError(Fault.INVALID, "the body is no JSON object in UTF-8") from error


def _typed(route: OperationRoute, request: Request) -> dict[str, object]:
    """Return the values of a query in the types of the arguments: in a query all are texts."""
    if len(request.scope["query_string"]) > MOST_QUERY:
        raise HttpProblem(TOO_LONG, f"a query has at most {MOST_QUERY:,} bytes")
    pairs = request.query_params.multi_items()
    query = dict(pairs)
    if len(query) < len(pairs):
        raise OperationError(Fault.INVALID, "an argument stands twice in the query")
    if not query:
        return {}
    try:
        whole: Mapping[str, str] = {**query, **request.path_params}
        arguments = msgspec.convert(whole, route.operation.arguments, strict=False)
    except msgspec.ValidationError as error:
        raise OperationError(Fault.INVALID, f"{route.operation.name}: {error}") from error
    return {name: getattr(arguments, name) for name in query}


def json(document: object, status: int = 200, kind: str = "application/json") -> Response:
    """Return a document as an answer."""
    return answered(msgspec.json.encode(document), status, kind)


def answered(data: bytes, status: int = 200, kind: str = "application/json") -> Response:
    """Return an answer that is JSON already."""
    return Response(data, status, media_type=kind, headers=HEADERS)
