"""OpenAI-compatible servers: the real SDK against the local server."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from lumen_apiserver import fail, huge, rubbish, text, tool, tools, use

from lumen_tui.model.config import PriceConfig
from lumen_tui.providers.base import ConversationOutcome, Reserve, Spent
from lumen_tui.providers.vendors.openai import MISSING


@pytest.fixture
def box(desk):
    desk.server("box", key_env="BOX_KEY", window=100_000, max_output=1_000)
    desk.environ["BOX_KEY"] = "box-secret-0123456789"
    desk.settings |= {"provider": "box", "prices": {"m": PriceConfig(2.0, 8.0, cache_read=0.5)}}
    return desk


def test_one_round_with_tools(box, api, reply):
    api.say(tools(use("list_dir", path="/é"), use("other"), say="I look."), text("Two entries."))
    talk = box.talk(lambda call: reply("no" if call.name == "other" else "a", ok=call.name != "other"), model="m")
    assert talk.outcome == ConversationOutcome(ok=True, text="Two entries.")
    assert (talk.order, talk.brain) == ("RSTTRS", "box m")
    assert talk.called[0] == ("list_dir", {"path": "/é"})
    assert talk.said() == ["I look.", "Two entries."]
    first, second = api.asked
    assert (first.kind, first.key, first.body["max_tokens"]) == ("chat", "box-secret-0123456789", 1000)
    assert first.system_text == "be good"
    assert first.tool_names == ("list_dir", "other")
    assert second.results == ("a", "Error: no")
    spent = talk.of(Spent)[0].usage
    assert spent.usd == pytest.approx((spent.input_tokens * 2 + spent.output_tokens * 8) / 1e6)
    assert talk.of(Reserve)[0].usage.usd > spent.usd
    assert "no price" not in "".join(talk.said("note"))


def test_cached_prompts_are_priced_as_such(box, api):
    api.say(text("x", usage={"input_tokens": 100, "cache_read_input_tokens": 900, "output_tokens": 10}))
    assert box.talk(model="m").usd == pytest.approx((100 * 2 + 900 * 0.5 + 10 * 8) / 1e6)


@pytest.mark.parametrize(
    ("answer", "said", "tries"),
    [
        (fail(401), "the key in BOX_KEY was refused (401)", 1), (fail(404, "no model"), "'m' is not known at box", 1),
        (fail(400, "This model's maximum context length is 8192 tokens"), "too long for the model", 1),
        (fail(429, kind="insufficient_quota"), "no credit left", 1), (fail(429), "the rate limit", 2),
        (fail(503), "failed (503)", 2), (rubbish(), "no usable answer", 2),
        (text("x" * 400, cut_after=4), "cut the connection", 2), (text("x" * 400, fail_after=3), "overloaded", 2),
        (text("x", first_byte=3.0), "was silent for too long", 2), (text("x", "refusal"), "", 1),
        (rubbish("data: [1,2]\n\ndata: {}\n\n", "text/event-stream"), "no usable answer", 2),
    ],
)  # fmt: skip
def test_errors_are_plain(box, api, answer, said, tries):
    box.settings |= {"tries": 2, "first_byte_seconds": 0.05, "silence_seconds": 0.25}
    api.say(answer)
    talk = box.talk(model="m")
    assert said in talk.error
    assert bool(said) or talk.outcome.reason == "the model declined to do this"
    assert len(api.asked) == tries
    assert box.environ["BOX_KEY"] not in talk.error


def test_ten_megabytes_are_ended(box, api):
    api.say(huge())
    assert "passed 2,000,000 characters" in box.talk(model="m").error


def test_arguments_that_are_no_json(box, api):
    api.say(tool("list_dir", "{oops"), tool("list_dir", ""), text("sorry"))
    talk = box.talk(model="m")
    assert talk.called == [("list_dir", {})]
    assert "no JSON object" in api.asked[1].results[0]


def test_a_server_of_our_own_needs_no_key_and_costs_nothing(desk, api):
    desk.server("ollama")
    desk.environ.clear()
    desk.settings["provider"] = "ollama"
    api.say(tool("list_dir"), text("done"))
    talk = desk.talk(model="ollama:qwen3:8b")
    assert talk.outcome.ok
    assert talk.brain == "ollama qwen3:8b"
    assert api.asked[0].model == "qwen3:8b"
    assert "max_tokens" not in api.asked[0].body
    assert talk.usd == 0
    assert "may have to load" in talk.said("wait")[0]


@pytest.mark.parametrize("wrong", [0, -5, None, 1.5, "9"])
def test_a_server_that_counts_wrong_is_estimated(box, api, wrong):
    """An answer is never free, and a budget holds whatever a server says."""
    chunk = '{"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":%s}],"usage":%s}'
    usage = json.dumps({"prompt_tokens": wrong, "completion_tokens": wrong})
    parts = [chunk % ("word " * 100, "null", "null"), chunk % ("", '"stop"', usage), "[DONE]"]
    api.say(rubbish("".join(f"data: {part}\n\n" for part in parts), "text/event-stream"))
    spent = box.talk(model="m").of(Spent)[0].usage
    assert spent.input_tokens > 50
    assert spent.output_tokens == 125


def test_a_server_that_counts_nothing_is_estimated(box, api):
    chunk = '{"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":%s}]}'
    parts = [chunk % ("word " * 100, "null"), chunk % ("", '"stop"'), "[DONE]"]
    api.say(rubbish("".join(f"data: {part}\n\n" for part in parts), "text/event-stream"))
    usage = box.talk(model="m").of(Spent)[0].usage
    assert usage.input_tokens > 50
    assert usage.output_tokens == 125


def test_a_whole_call_in_a_chunk_without_a_number_and_with_stop(box, api):
    call = '{"id":"","type":"function","function":{"name":"list_dir","arguments":"{}"}}'
    body = f'data: {{"choices":[{{"delta":{{"tool_calls":[{call}]}},"finish_reason":"stop"}}]}}\n\ndata: [DONE]\n\n'
    api.say(rubbish(body, "text/event-stream"), text("done"))
    talk = box.talk(model="m")
    assert talk.called == [("list_dir", {})]
    assert talk.outcome.ok


def test_a_missing_package_is_said_plainly(tmp_path):
    code = (
        "import sys; sys.modules['openai'] = None\n"
        "from lumen_tui.providers.choose import choose_provider\n"
        "from lumen_tui.providers.base import Job\n"
        "from lumen_tui.model.config import ModelsConfig\n"
        "from lumen_tui.model.roles import Role\n"
        "from lumen_tui.model.tasks import Spec\n"
        "found = choose_provider(ModelsConfig(provider='vllm'), Role(name='r', purpose='p'), Spec('t', 'o'), {})\n"
        "for step in found.converse(Job('s', 'o')): pass\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert MISSING in ended.stderr
    assert 'pip install ".[openai]"' in MISSING
