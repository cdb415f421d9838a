"""When a vendor says that a limit ends, and what cannot be meant."""

from types import SimpleNamespace

import pytest

from lumen_tui.model import times
from lumen_tui.providers.conversation.history import TokenCounts
from lumen_tui.providers.errors import CREDIT, KEY, LIMIT, map_error
from lumen_tui.providers.resets import reset_time
from lumen_tui.providers.vendors.endpoints import Endpoint, Target

NOW = times.epoch("2026-11-23T10:00:00Z")
HOUR, DAY = 3600.0, 86400.0
UNIFIED = "anthropic-ratelimit-unified"


def headers(**more: object) -> dict[str, str]:
    return {name.replace("_", "-"): str(value) for name, value in more.items()}


def test_the_latest_window_that_is_used_up_counts():
    said = {
        f"{UNIFIED}-5h-status": "rejected", f"{UNIFIED}-5h-reset": str(int(NOW + HOUR)),
        f"{UNIFIED}-7d-status": "rejected", f"{UNIFIED}-7d-reset": str(int(NOW + 3 * DAY)),
        f"{UNIFIED}-overage-status": "allowed", f"{UNIFIED}-overage-reset": str(int(NOW + 9 * DAY)),
    }  # fmt: skip
    assert reset_time(said, "", NOW) == NOW + 3 * DAY


def test_limits_of_requests_and_tokens_count_where_nothing_remains():
    said = headers(
        anthropic_ratelimit_requests_remaining=0, anthropic_ratelimit_requests_reset="2026-11-23T12:30:00Z",
        anthropic_ratelimit_tokens_remaining=16_000, anthropic_ratelimit_tokens_reset="2026-11-24T12:30:00Z",
    )  # fmt: skip
    assert reset_time(said, "", NOW) == NOW + 2.5 * HOUR
    openai = headers(x_ratelimit_remaining_tokens=0, x_ratelimit_reset_tokens="1h2m3s")
    assert reset_time(openai, "", NOW) == NOW + HOUR + 123


@pytest.mark.parametrize(
    ("words", "at"),
    [
        (f"Claude AI usage limit reached|{int(NOW + HOUR)}", NOW + HOUR),
        ("You've hit your limit · resets 5:30pm (Asia/Dhaka)", times.epoch("2026-11-23T11:30:00Z")),
        ("You've hit your session limit · resets 9am (Europe/Berlin)", times.epoch("2026-11-24T08:00:00Z")),
        ("weekly limit reached · resets Nov 27, 5pm (America/Los_Angeles)", times.epoch("2026-11-28T01:00:00Z")),
        ("You will regain access on 2026-12-01 at 00:00 UTC.", times.epoch("2026-12-01T00:00:00Z")),
    ],
)
def test_a_time_in_the_words_is_read(words, at):
    assert reset_time(headers(), words, NOW) == at


@pytest.mark.parametrize(
    "said",
    [
        headers(**{f"{UNIFIED}-status": "rejected", f"{UNIFIED}-reset": value})
        for value in (int(NOW - 1), int(NOW + 400 * DAY), "soon", "nan", "-1", "1e999", "")
    ]
    + [headers(anthropic_ratelimit_tokens_remaining=0, anthropic_ratelimit_tokens_reset="yesterday"),
       headers(x_ratelimit_remaining_tokens=0, x_ratelimit_reset_tokens="6 parsecs")],
)  # fmt: skip
@pytest.mark.parametrize(
    "words", ["", "limit reached|99", "resets 25pm (Mars/Olympus)", "regain access on 2026-99-99 at 00:00 UTC"]
)
def test_what_cannot_be_meant_is_not_said(said, words):
    assert reset_time(said, words, NOW) == 0.0


def refused(status: int, said: dict[str, str], words: str = "no"):
    error = RuntimeError(words)
    error.status_code = status
    error.response = SimpleNamespace(headers=said)
    error.body = {"error": {"message": words}}
    return map_error(error, Target(Endpoint("anthropic", "anthropic"), "claude-opus-5-5"), TokenCounts(), NOW)


def test_what_closes_an_endpoint():
    for status in (401, 403):
        assert (refused(status, headers()).closed, refused(status, headers()).endpoint) == (KEY, "anthropic")
    assert refused(402, headers()).closed == CREDIT
    assert refused(429, headers(retry_after=60)).closed == ""
    assert refused(429, headers(retry_after=400 * DAY)).closed == ""
    long = refused(429, headers(retry_after=7999))
    assert (long.closed, long.resets_at) == (LIMIT, NOW + 7999)
    assert refused(500, headers(retry_after=7999)).closed == refused(400, headers()).closed == ""
    spent = refused(400, headers(), "You have reached your specified API usage limits. You will regain access on "
                    "2026-12-01 at 00:00 UTC.")  # fmt: skip
    assert (spent.closed, spent.resets_at) == (LIMIT, times.epoch("2026-12-01T00:00:00Z"))
