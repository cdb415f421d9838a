"""What the real Claude Code cannot do is said by name, soon, and nothing is lost. Skipped where it is not installed."""

from __future__ import annotations

import time

import pytest
from lumen_apiserver import fail, held, text, tool

from lumen_tui.model.times import epoch
from lumen_tui.store.tasks import pauses

OURS = "mcp__lumen__"
LIMIT = {
    "anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-representative-claim": "five_hour",
}  # fmt: skip


@pytest.fixture
def closed(real_work):
    """Why the program is closed for all tasks, and until when."""

    def read():
        found = pauses.parts(real_work.layout).providers.get("claude")
        return found and (found.kind, found.until)

    return read


@pytest.fixture(autouse=True)
def _as_shipped(real_work):
    """With as many tries as the settings have without a word."""
    own = f'claude = {{ program = "{real_work.program}" }}'
    real_work.layout.config.write_text(f'[models]\nprovider = "claude"\n{own}\n')


def test_a_refused_key_is_told_after_two_calls_and_costs_nothing(real_work, api, closed):
    api.say(fail(401))
    ended = real_work.run()
    assert ended["status"] == "failed"
    assert "set a valid ANTHROPIC_API_KEY, or log in with `claude` once" in ended["reason"]
    assert len(api.asked) == 2
    assert real_work.exit["usage"]["usd"] == 0
    assert closed() == ("key", "")


def test_who_is_not_logged_in_is_told_so_without_a_call(real_work, api, closed):
    del real_work.environ["ANTHROPIC_API_KEY"]
    ended = real_work.run()
    assert "Please run /login" in ended["reason"]
    assert (len(api.asked), closed()) == (0, ("key", ""))


def test_a_model_that_nobody_knows_is_named_and_closes_nothing(real_work, api, closed):
    api.say(fail(404))
    ended = real_work.run()
    assert ended["status"] == "failed"
    assert "the model 'claude-sonnet-5-5' is not known" in ended["reason"]
    assert closed() is None


def test_a_used_up_limit_puts_the_task_back_until_its_time(real_work, api, closed):
    """A subscription's: with a key the program says no time, and the task fails."""
    real_work.environ["CLAUDE_CODE_OAUTH_TOKEN"] = real_work.environ.pop("ANTHROPIC_API_KEY")
    resets = int(time.time()) + 7200
    api.say(fail(429, "limit reached", headers=LIMIT | {"anthropic-ratelimit-unified-reset": str(resets)}))
    real_work.start().wait()
    assert not (real_work.folder / "exit.json").exists()
    kind, until = closed()
    assert kind == "limit"
    assert epoch(until) == resets
    assert len(api.asked) == 1
    assert [line["kind"] for line in real_work.book()] == ["hold", "sent", "release"]
    (waits,) = real_work.texts("waiting")
    assert waits.startswith("goes back to the queue: ")


def test_a_network_that_is_not_there_is_named(real_work, closed):
    real_work.settings()
    real_work.environ["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
    ended = real_work.run()
    assert ended["status"] == "failed"
    assert "did not reach its model's server" in ended["reason"]
    assert "look at the network" in ended["reason"]
    assert closed() is None
    assert len(real_work.texts("wait")) == 1


def test_the_steps_of_a_task_hold(real_work, api):
    real_work.spec(steps=2)
    api.say(tool(f"{OURS}list_dir", path="/"), again=True)
    ended = real_work.run()
    assert ended["status"] == "failed"
    assert "step limit reached" in ended["reason"]
    assert len(real_work.texts("result")) < 10


def test_the_time_of_a_task_holds(real_work, api):
    real_work.spec(timeout_seconds=2.0)
    api.say(held(text("never")))
    ended = real_work.run()
    assert (ended["status"], ended["reason"]) == ("failed", "timed out after 2.0 s")
    assert not real_work.below()
