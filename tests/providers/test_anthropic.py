"""The Anthropic provider: the real SDK against a local server that speaks the Messages API."""

from __future__ import annotations

import re
import threading
from types import SimpleNamespace

import pytest
from lumen_apiserver import fail, held, huge, rubbish, text, think, tool, tools, use
from lumen_rows import each_row

from lumen_tui.providers.base import ConversationOutcome, Reserve, Spent, ToolCall
from lumen_tui.providers.conversation.calling import _too_long, back_off
from lumen_tui.providers.errors import ModelCallError
from lumen_tui.providers.vendors.endpoints import cost

PLAIN = {"input_tokens": 100, "output_tokens": 20, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}


def test_one_round_with_a_tool(desk, api):
    api.say(tool("list_dir", path="/tmp", say="I look.", how={"usage": PLAIN}), text("Two entries.", usage=PLAIN))
    talk = desk.talk()
    assert talk.outcome == ConversationOutcome(ok=True, text="Two entries.")
    assert talk.order == "RSTRS"
    assert talk.called == [("list_dir", {"path": "/tmp"})]
    assert talk.said() == ["I look.", "Two entries."]
    assert talk.of(Spent)[0].usage.tokens == 120
    assert talk.usd == pytest.approx(0.0004)
    first, second = api.asked
    assert (first.path, first.key, first.stream) == ("/v1/messages", desk.environ["ANTHROPIC_API_KEY"], True)
    assert first.system_text == "be good"
    assert first.body["tools"][0]["input_schema"]["type"] == "object"
    assert first.first_text == "list it\n\nold"
    assert second.results == ("a\nb",)
    assert second.messages[1]["content"][1]["type"] == "tool_use"


@each_row(
    ("model", "tokens", "dollars"),
    [
        ("claude-haiku-5-5", (1_000, 0, 0, 1_000), 0.0006), ("claude-haiku-5-5", (200_000, 0, 0, 1_000), 0.1025),
        ("claude-opus-5-5", (0, 1_000_000, 0, 0), 5.0), ("claude-haiku-4-5-20251001", (1_000_000, 0, 0, 0), 1.0),
        ("claude-sonnet-5-5", (0, 0, 1_000_000, 0), 0.1), ("some-new-model", (1_000_000, 0, 0, 1_000_000), 60.0),
        ("claude-opus-5-5", (0, 0, 1_000_000, 0), 0.2), ("claude-fable-5-1", (0, 0, 1_000_000, 0), 0.25),
        ("claude-sonnet-5", (0, 0, 1_000_000, 0), 0.2), ("some-new-model", (0, 0, 1_000_000, 0), 1.0),
    ],
)  # fmt: skip
def test_the_price_of_a_call(model, tokens, dollars):
    assert cost(model, *tokens).usd == pytest.approx(dollars)


def test_every_call_is_reserved_before_and_never_costs_more(desk, api):
    api.say(tools(use("list_dir", path="/a"), use("other"), say="x" * 3000), tool("other", n=2), text("done"))
    talk = desk.talk(long_reply)
    pairs = list(zip(talk.of(Reserve), talk.of(Spent), strict=True))
    assert talk.order == "RSTTRSTRS"
    for most, real in pairs:
        assert most.model == "claude-haiku-4-5"
        assert most.usage.input_tokens >= real.usage.input_tokens
        assert most.usage.usd >= real.usage.usd > 0


def long_reply(call):
    return SimpleNamespace(text=f"{call.name} " * 4000, ok=True, data={}, media=())


def test_the_cache_is_marked_read_and_priced(desk, api):
    desk.job["objective"] = "long " * 4000  # longer than the least that the model's vendor caches
    api.say(tool("list_dir", path="/a"), tool("list_dir", path="/b"), text("done"))
    talk = desk.talk()
    first, second, third = (step.usage for step in talk.of(Spent))
    body = api.asked[1].body
    assert body["system"][0]["cache_control"] == body["tools"][-1]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in body["tools"][0]
    marked = [place for place, m in enumerate(body["messages"]) if any("cache_control" in b for b in m["content"])]
    assert marked == [0, 2]
    assert first.input_tokens < second.input_tokens < third.input_tokens
    assert second.usd < first.usd / 5
    assert third.usd < first.usd / 5


def test_a_refused_call_is_marked_as_an_error(desk, api, reply):
    api.say(tool("shell"), text("ok"))
    desk.talk(reply("refused", ok=False))
    assert api.asked[1].messages[2]["content"][0]["is_error"] is True


def test_text_is_told_in_a_few_pieces_that_make_the_whole(desk, api):
    words = " ".join(f"word{number}" for number in range(4000))
    api.say(text(words, piece=7))
    talk = desk.talk()
    assert "".join(talk.said()) == talk.outcome.text == words
    assert len(talk.said()) < 20


def test_a_slow_stream_is_told_as_it_comes(desk, api):
    api.say(text("one two three four five six seven", piece=5))
    ticks = iter(range(10_000))
    desk._now = lambda: 1000.0 + next(ticks)
    assert len(desk.talk().said()) >= 4


def test_thinking_goes_back_to_the_model_as_it_came(desk, api):
    api.say(think("hm", tool("list_dir")), text("done"))
    talk = desk.talk()
    assert talk.said() == ["done"]
    assert api.asked[1].messages[1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"}


@pytest.mark.parametrize(
    ("status", "words", "said", "tries"),
    [
        (401, "invalid x-api-key", "ANTHROPIC_API_KEY was refused", 1), (404, "model", "set its id under", 1),
        (400, "prompt is too long: 300000 tokens", "too long for the model", 1), (413, "x", "too large for", 1),
        (400, "bad", "refused (400): bad", 1), (429, "slow", "rate limit", 3), (529, "busy", "overloaded", 3),
        (500, "oops", "failed (500)", 3), (403, "not you", "may not do this (403): not you", 1),
        (400, "Your credit balance is too low", "no credit left", 1), (402, "pay", "no credit left", 1),
    ],
)  # fmt: skip
def test_errors_are_plain_and_tried_again_only_where_that_helps(desk, api, status, words, said, tries):
    desk.settings["tries"] = 3
    api.say(fail(status, words))
    talk = desk.talk()
    assert said in talk.error
    assert len(api.asked) == tries
    assert re.findall(r"after (\d+) tries", talk.error) == [str(tries)] * (tries > 1)
    assert desk.environ["ANTHROPIC_API_KEY"] not in talk.error
    assert talk.order == "RS" * tries
    assert talk.usd == 0
    assert not any(step.ok for step in talk.of(Spent))


def test_waits_double_and_do_as_they_are_told(desk, api):
    api.say(fail(529), fail(429, retry_after=7), fail(500), fail(503), text("fine"))
    talk = desk.talk()
    assert talk.outcome.text == "fine"
    assert talk.waits == pytest.approx([0.75, 7.35, 3.0, 6.0])
    waiting = [step for step in talk.steps if getattr(step, "kind", "") == "wait"]
    assert [step.data["try"] for step in waiting] == [2, 3, 4, 5]
    assert waiting[1].data["until"] == pytest.approx(desk.time + 7.35, abs=1)
    assert waiting[1].text == "trying again in 7.4 s (3 of 8): the rate limit was reached (429)"


def test_a_wait_that_is_too_long_ends_the_task(desk, api):
    api.say(fail(429, retry_after=7200))
    talk = desk.talk()
    assert talk.waits == []
    assert "the rate limit was reached (429): try again later" in talk.error
    assert "asks to wait 2 h" in talk.error


@each_row("chance", [0.0, 0.5, 1.0])
def test_what_the_server_asks_for_is_told_as_it_asked(chance):
    asked = ModelCallError("the rate limit was reached (429)", retry_after_seconds=86_400.0)
    assert str(_too_long(asked, back_off(1, asked.retry_after_seconds, chance))).endswith(
        "the server asks to wait 24 h 0 m"
    )
    own = ModelCallError("the rate limit was reached (429)")
    assert "the server asks" not in str(_too_long(own, 90.0))


def test_a_server_that_says_not_to_try_again_is_believed(desk, api):
    api.say(fail(500, headers={"x-should-retry": "false"}))
    assert "failed (500)" in desk.talk().error
    assert len(api.asked) == 1


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (text("x " * 400, cut_after=6), "cut the connection in the middle"), (rubbish(), "sent no usable answer"),
        (text("x " * 400, fail_after=6), "overloaded"), (rubbish("", "text/event-stream"), "sent no usable answer"),
        (rubbish("event: message_start\ndata: {no\n\n", "text/event-stream"), "sent no usable answer"),
        (rubbish("event: message_start\ndata: " + "[" * 100_000 + "\n\n", "text/event-stream"), "no usable answer"),
        (rubbish('event: message_start\ndata: {"type":"message_start"}\n\n', "text/event-stream"), "no usable answer"),
        (fail(502, raw="<html>bad gateway", content_type="text/html"), "failed (502)"),
    ],
)  # fmt: skip
def test_a_broken_answer_is_asked_for_again(desk, api, broken, said):
    desk.settings["tries"] = 2
    api.say(broken, text("whole"))
    talk = desk.talk()
    assert talk.outcome == ConversationOutcome(ok=True, text="whole")
    assert [step.ok for step in talk.of(Spent)] == [False, True]
    (wait,) = talk.said("wait")
    assert said in wait
    assert wait.count("(") == wait.count(")")
    assert "try again later" not in wait
    api.say(broken)
    assert said in desk.talk().error


def test_what_a_cut_answer_cost_is_counted(desk, api):
    desk.settings["tries"] = 1
    api.say(text("x" * 4000, cut_after=30))
    usage = desk.talk().of(Spent)[0].usage
    assert usage.input_tokens > 80
    assert usage.output_tokens > 200


@pytest.mark.parametrize("slow", [{"first_byte": 3.0}, {"between": 3.0}])
def test_silence_has_an_end(desk, api, slow):
    desk.settings |= {"tries": 1, "first_byte_seconds": 0.02, "silence_seconds": 0.1}
    api.say(text("x", **slow))
    assert "was silent for too long" in desk.talk().error


def test_the_limit_of_silence_is_another_than_that_of_the_first_byte(desk, api):
    desk.settings |= {"tries": 1, "first_byte_seconds": 0.2, "silence_seconds": 5.0}
    api.say(held(text("x"), after=1))
    later = threading.Timer(0.4, api.release)
    later.start()
    assert desk.talk().outcome.ok
    later.join()


def test_no_server_there(desk):
    desk.settings["tries"] = 2
    desk.environ["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:1"
    talk = desk.talk()
    assert "cannot be reached" in talk.error
    assert "ANTHROPIC_BASE_URL" in talk.error
    assert (talk.usd, len(talk.waits)) == (0, 1)


def test_an_answer_that_was_cut_goes_on(desk, api):
    api.say(text("part one", "max_tokens"), text("part two"))
    assert desk.talk().outcome.ok
    assert api.asked[1].last_text.startswith("Your answer reached its length limit")
    api.say(text("again", "max_tokens"))
    talk = desk.talk()
    assert not talk.outcome.ok
    assert "length limit" in talk.outcome.reason


@pytest.mark.parametrize(
    ("stop", "said"),
    [("refusal", "declined"), ("model_context_window_exceeded", "no longer fits"), ("moon\x1b[2J", "with moon")],
)  # fmt: skip
def test_other_ends_are_failures(desk, api, stop, said):
    api.say(text("well", stop))
    talk = desk.talk()
    assert not talk.outcome.ok
    assert said in talk.outcome.reason
    assert "\x1b" not in talk.outcome.reason


def test_ten_megabytes_are_ended(desk, api):
    api.say(huge(10_000_000))
    talk = desk.talk()
    assert "passed 2,000,000 characters" in talk.error
    assert len(api.asked) == 1
    assert sum(map(len, talk.said())) < 200_000
    api.say(tool("list_dir", path="y" * 3_000_000, how={"piece": 100_000}))
    assert "passed 2,000,000 characters" in desk.talk().error


def test_the_same_call_over_and_over_is_told_once_and_then_ended(desk, api):
    api.say(tool("list_dir", path="/"))
    talk = desk.talk()
    assert talk.order.count("T") == 3
    assert "this is call 4 of list_dir in a row" in api.asked[4].results[0]
    assert not talk.outcome.ok
    assert "again and again, although it was told" in talk.outcome.reason
    assert len(api.asked) == 5


def test_polling_may_go_on_for_longer(desk, api, reply):
    numbers = iter(range(100))
    api.say(tool("list_dir", path="/"))
    talk = desk.talk(lambda call: reply(f"{next(numbers)} lines"))
    assert talk.order.count("T") == 11


def test_calls_of_tools_that_there_are_not_are_ended(desk, api, reply):
    numbers = iter(range(100))
    api.otherwise(lambda request: tool("rm_rf", n=next(numbers)))
    talk = desk.talk(reply("the tool 'rm_rf' is not among those of this task", ok=False))
    assert "unknown tools" in talk.outcome.reason
    assert len(api.asked) == 6


def test_arguments_that_are_no_object_are_handed_back(desk, api):
    api.say(tool("list_dir", '{"path": '), tool("list_dir", "[1]"), text("sorry"))
    talk = desk.talk()
    assert talk.outcome.ok
    assert talk.of(ToolCall) == []
    assert "no JSON object" in api.asked[1].results[0]


def test_ids_that_come_twice_and_broken_letters(desk, api):
    api.say(tools(use("list_dir", call_id="a b"), use("list_dir", path="\ud800x", call_id="a b")), text("\udfffok"))
    talk = desk.talk()
    assert [call.arguments for call in talk.of(ToolCall)] == [{}, {"path": "?x"}]
    assert talk.outcome.text == "?ok"
    assert [block["id"] for block in api.asked[1].messages[1]["content"]] == ["a_b", "a_b_1"]


def test_a_stop_closes_the_connection_and_leaves_no_answer_behind(desk, api):
    class Stopped(BaseException):
        pass

    def stop() -> float:
        if api.asked:
            raise Stopped
        return 1.0

    api.say(held(text("x " * 4000), after=20))
    desk._now = stop
    with pytest.raises(Stopped):
        desk.talk()


def test_what_is_kept_for_an_hour_costs_twice_the_input_to_write():
    from lumen_tui.providers.vendors.endpoints import cost

    for_five_minutes = cost("claude-opus-5-5", 0, 1_000_000, 0, 0).usd
    for_an_hour = cost("claude-opus-5-5", 0, 1_000_000, 0, 0, hour=1_000_000).usd
    assert (for_five_minutes, for_an_hour) == (pytest.approx(5.0), pytest.approx(8.0))
