"""What the clients of both vendors' SDKs have in common: a call that is streamed, its errors, and its departure.

A request departs when a connection is open and its first byte has not gone out yet. Before that moment nothing is owed,
however long it takes to connect, and whoever is killed meanwhile.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from msgspec.structs import replace

from lumen_tui.model.config import ModelsConfig
from lumen_tui.model.media import Media
from lumen_tui.model.text import one_line
from lumen_tui.providers.base import JsonObject, ProviderError
from lumen_tui.providers.conversation.attachments import fitted, weight
from lumen_tui.providers.conversation.history import AssistantMessage, Entry, Prompt, TokenCounts
from lumen_tui.providers.errors import ModelCallError, map_error
from lumen_tui.providers.vendors.endpoints import Target

MAX_CHARACTERS = 2_000_000  # of one answer, calls included; no honest model comes near

Stream = Generator[str, None, AssistantMessage]  # texts as they come, empty for other signs of life; returns the whole


def too_long() -> ModelCallError:
    """Return the error for an answer that passed MAX_CHARACTERS."""
    return ModelCallError(
        f"the model's answer passed {MAX_CHARACTERS:,} characters and was ended: ask for less at a time"
    )


class ModelClient(Protocol):
    """A model behind an API. All methods but `count` raise ModelCallError."""

    target: Target
    max_output: int  # tokens of one answer that are asked for

    def ask(self, prompt: Prompt, most: int, sent: Callable[[], None]) -> Stream:
        """Make one call, for an answer of `most` tokens; 0: of `max_output`. `sent` is called before it leaves."""

    def size(self, prompt: Prompt) -> int:
        """Return about how many bytes the request has."""

    def count(self, prompt: Prompt) -> int | None:
        """Return the tokens of a request where the API can count them, else None."""

    def close(self) -> None:
        """Close the connections."""


def timeouts(config: ModelsConfig, target: Target) -> dict[str, float]:
    """Return the limits of one request in seconds."""
    first = patience(config, target)
    return {"timeout": first, "connect": config.connect_seconds, "read": first}


def patience(config: ModelsConfig, target: Target) -> float:
    """Seconds until an answer must have begun. Anthropic begins at once; others say nothing while a model thinks, and
    one on this machine may have to load first."""
    return config.first_byte_seconds * (1 if target.endpoint.kind == "anthropic" else 5)


_HEADERS = "send_request_headers.started"  # of every version of HTTP, as httpcore's trace extension names it


class RequestDeparture:
    """Reports once for each call that its request departs. An error in reporting keeps the request from departing."""

    def __init__(self) -> None:
        self._report: Callable[[], None] | None = None
        self._error: Exception | None = None

    @property
    def hooks(self) -> dict[str, list[Callable[[Any], None]]]:
        """The event hooks for a client of httpx."""
        return {"request": [self._follow]}

    def expect(self, report: Callable[[], None]) -> None:
        """Call `report` when the next request departs: it is a call of the model. Other requests cost nothing."""
        self._report = report
        self._error = None

    def now(self) -> None:
        """Report the departure, unless that was done."""
        report, self._report = self._report, None
        if report is None:
            return
        try:
            report()
        except Exception as error:
            self._error = error  # the client wraps it in an error of its own
            raise

    def check(self) -> None:
        """Raise the error of reporting, where there was one."""
        if self._error:
            raise self._error

    def _follow(self, request: Any) -> None:
        request.extensions = {**request.extensions, "trace": self._trace}

    def _trace(self, event: str, _details: JsonObject) -> None:
        if event.endswith(_HEADERS):
            self.now()


def _unloaded(media: Media) -> None:
    """Load nothing: what it weighs is in the count without its bytes."""


class Assembler(Protocol):
    """Puts one answer together from the events of its stream."""

    @property
    def counts(self) -> TokenCounts:
        """The tokens so far."""

    def take(self, event: JsonObject) -> str:
        """Take one event and return the text that it adds. Raises ModelCallError."""

    def turn(self) -> AssistantMessage:
        """Return the whole answer. Raises ModelCallError where the stream ended before its end."""


class SdkClient(ABC):
    """A model behind a vendor's SDK, whose own client is made for the first call. Retries are ours, not the SDK's."""

    def __init__(
        self, target: Target, config: ModelsConfig, environ: Mapping[str, str], now: Callable[[], float]
    ) -> None:
        """Keep the arguments. `now` gives seconds since 1970. ProviderError where the key is missing."""
        self.target = target
        self.max_output = target.endpoint.max_output
        self._config = config
        self._now = now
        self._departure = RequestDeparture()
        self._sdk: Any = None

    def ask(self, prompt: Prompt, most: int, sent: Callable[[], None]) -> Stream:
        """Make one call. Raises ModelCallError, and ProviderError where the vendor's package is missing."""
        sdk = self._connected()
        estimate = self.size(prompt) * 2 // 7
        answer = self._assembler(estimate)
        self._departure.expect(sent)
        try:
            stream = self._open(sdk, prompt, most)
            with stream:
                self._departure.now()
                limit_silence(stream.response, self._silence_seconds())
                for event in self._events(stream):
                    yield answer.take(event)
            return answer.turn()
        except Exception as error:  # the edge to a vendor's code and to what a server may send
            self._departure.check()
            raise map_error(error, self.target, answer.counts, self._now(), estimate) from error

    def size(self, prompt: Prompt) -> int:
        """Return about how many bytes the request has."""
        entries = self._fitted(prompt)
        request = self._request(replace(prompt, load=_unloaded))
        return len(json.dumps(request, ensure_ascii=False).encode("utf-8", "replace")) + weight(entries)

    def _fitted(self, prompt: Prompt) -> tuple[Entry, ...]:
        """Return the entries with the images and PDF files that this model is sent, and a sentence for each other."""
        return fitted(prompt.entries, self.target.endpoint.takes, self.target.label)

    def close(self) -> None:
        """Close the connections."""
        if self._sdk is not None:
            self._sdk.close()

    def _connected(self) -> Any:
        if self._sdk is None:
            self._sdk = self._connect()
        return self._sdk

    def _silence_seconds(self) -> float:
        """Return the seconds that may pass between two events of an answer that has begun."""
        return self._config.silence_seconds

    @abstractmethod
    def _connect(self) -> Any:
        """Make the SDK's client. ProviderError where the package is missing or no connection can be made."""

    @abstractmethod
    def _assembler(self, estimate: int) -> Assembler:
        """Return what puts the answer together. `estimate` is the tokens of the prompt, for servers that count none."""

    @abstractmethod
    def _open(self, sdk: Any, prompt: Prompt, most: int) -> Any:
        """Send the request and return the SDK's stream of the answer."""

    @abstractmethod
    def _events(self, stream: Any) -> Iterable[JsonObject]:
        """Return the events of a stream as plain JSON."""

    @abstractmethod
    def _request(self, prompt: Prompt) -> JsonObject:
        """Return the request, but for the length of the answer."""


@contextmanager
def connecting() -> Iterator[None]:
    """Raise ProviderError for what keeps a client from being made: a proxy or certificates that cannot be used."""
    try:
        yield
    except Exception as error:  # the edge to a vendor's code
        raise ProviderError(
            f"no connection can be made ({one_line(str(error), 200)}): look at HTTP_PROXY, HTTPS_PROXY and "
            "SSL_CERT_FILE in the engine's environment, and at base_url in lumen.toml"
        ) from error


def limit_silence(response: Any, seconds: float) -> None:
    """Set the limit that holds once the answer has begun: httpx reads it from the request when the body begins."""
    limits = getattr(getattr(response, "request", None), "extensions", {}).get("timeout")
    if isinstance(limits, dict):
        limits["read"] = seconds
