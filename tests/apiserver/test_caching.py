"""The cache of the local server bills as the vendor documents: where it finds an entry, how long, from which length."""

from __future__ import annotations

import pytest
from lumen_apiserver.caching import Cache, least
from lumen_apiserver.checking import problem
from lumen_apiserver.request import Request

HOUR = {"type": "ephemeral", "ttl": "1h"}
FIVE = {"type": "ephemeral"}
OPUS, HAIKU = "claude-opus-5-5", "claude-haiku-5-5"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def block(words: str, mark: dict | None = None) -> dict:
    return {"type": "text", "text": words} | ({"cache_control": mark} if mark else {})


def request(*blocks: dict, model: str = OPUS, system: tuple[dict, ...] = (), **more: object) -> Request:
    body = {"model": model, "max_tokens": 9, "system": list(system),
            "messages": [{"role": "user", "content": list(blocks)}], **more}  # fmt: skip
    return Request("messages", "POST", "/v1/messages", "", {}, body)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> Cache:
    return Cache(clock)


def counts(billed: dict) -> tuple[int, int, int]:
    return billed["input_tokens"], billed["cache_creation_input_tokens"], billed["cache_read_input_tokens"]


LONG = "word " * 3000


def test_an_entry_lives_from_its_last_use_on(cache, clock):
    asked = request(block(LONG, FIVE), block("and?"))
    fresh, written, read = counts(cache.bill(asked))
    assert fresh > 0 and written > 3000 and read == 0
    for _ in range(3):
        clock.now += 299
        assert counts(cache.bill(asked)) == (fresh, 0, written)
    clock.now += 301
    assert counts(cache.bill(asked)) == (fresh, written, 0)


def test_an_hour_is_written_and_billed_apart(cache, clock):
    asked = request(block("q", FIVE), system=(block(LONG, HOUR),))
    first = cache.bill(asked)
    kept = first["cache_creation"]["ephemeral_1h_input_tokens"]
    assert kept > 3000 and kept + first["cache_creation"]["ephemeral_5m_input_tokens"] == counts(first)[1]
    clock.now += 3500
    assert counts(cache.bill(asked))[2] == kept, "what was kept for five minutes is gone"


def test_only_a_prefix_that_is_the_same_is_found(cache):
    cache.bill(request(block(LONG, FIVE)))
    assert counts(cache.bill(request(block("x" + LONG, FIVE))))[2] == 0
    assert counts(cache.bill(request(block(LONG, FIVE), model=HAIKU)))[2] == 0
    assert counts(cache.bill(request(block(LONG, FIVE), thinking={"type": "adaptive"})))[2] == 0
    assert counts(cache.bill(request(block(LONG), block("more", FIVE))))[2] > 3000, "also without a mark of its own"


def test_nothing_is_found_more_than_twenty_blocks_back(cache):
    def told(count: int) -> Request:
        return request(block(LONG), *[block(f"step {n}") for n in range(count)], block("last", FIVE))

    def after(count: int) -> Request:
        return request(block(LONG, FIVE), *[block(f"step {n}") for n in range(count)])

    cache.bill(after(0))
    assert counts(cache.bill(told(18)))[2] > 3000
    other = Cache()
    other.bill(after(0))
    assert counts(other.bill(told(19)))[2] == 0


def test_what_is_too_short_for_its_model_is_not_cached(cache):
    short = "word " * 1000
    assert least(OPUS) == 512 and least(HAIKU) == 4096 and least("gpt-x") == 0
    for model, cached in ((OPUS, True), (HAIKU, False)):
        cache.bill(request(block(short, FIVE), model=model))
        fresh, written, read = counts(cache.bill(request(block(short, FIVE), model=model)))
        assert (read > 0) is cached and (fresh > 0) is not cached and written == 0


def test_an_hour_must_not_come_behind_five_minutes():
    assert "ttl='1h'" in problem(request(block("q", HOUR), system=(block("s", FIVE),)))
    assert problem(request(block("q", FIVE), system=(block("s", HOUR),))) == ""
