"""The local server speaks the APIs so that the real SDKs understand it."""

from __future__ import annotations

import http.client
import importlib
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from lumen_apiserver import ApiServer, fail, held, rubbish, text, think, tool, tools, use
from lumen_apiserver.script import load
from lumen_until import until

ASK = [{"role": "user", "content": "hello"}]
TOOL = {"name": "look", "description": "looks", "input_schema": {"type": "object"}}


def sdk(name: str) -> Any:
    """Loaded where it is used: every process of a test run reads this module."""
    return importlib.import_module(name)


def claude(api: ApiServer) -> Any:
    return sdk("anthropic").Anthropic(api_key="k", base_url=api.url, max_retries=0)


def gpt(api: ApiServer) -> Any:
    return sdk("openai").OpenAI(api_key="k", base_url=api.openai_url, max_retries=0)


def ask(api: ApiServer, messages: Any = None, **more: Any) -> Any:
    return claude(api).messages.create(model="m", max_tokens=10, messages=messages or ASK, **more)


def stream(api: ApiServer, **more: Any) -> Any:
    with claude(api).messages.stream(model="m", max_tokens=10, messages=ASK, **more) as found:
        return found.get_final_message()


def test_a_message_is_the_same_whole_and_streamed(api):
    api.say(think("hmm", tools(use("look", {"at": "é" * 99}), use("look"), say="I look.")))
    one, two = ask(api, tools=[TOOL]), stream(api, tools=[TOOL])
    assert [block.type for block in one.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert one.content[2].input == two.content[2].input == {"at": "é" * 99}
    assert one.content[1].text == two.content[1].text
    assert one.stop_reason == two.stop_reason == "tool_use"
    assert one.usage.output_tokens == two.usage.output_tokens > 0
    assert api.requests[0].tool_names == ("look",)
    assert (api.requests[0].key, api.requests[0].last_text) == ("k", "hello")


def test_a_completion_is_the_same_whole_and_streamed(api):
    api.say(tool("look", {"at": 1}, say="I look."))
    one = gpt(api).chat.completions.create(model="m", messages=ASK)
    chunks = list(
        gpt(api).chat.completions.create(model="m", messages=ASK, stream=True, stream_options={"include_usage": True})
    )
    said = "".join(part.choices[0].delta.content or "" for part in chunks if part.choices)
    assert one.choices[0].message.content == said == "I look."
    assert json.loads(one.choices[0].message.tool_calls[0].function.arguments) == {"at": 1}
    assert one.choices[0].finish_reason == "tool_calls"
    assert chunks[-1].usage == one.usage


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500, 529])
def test_errors_have_their_type_in_both_sdks(api, status):
    api.say(fail(status, retry_after=0.5))
    with pytest.raises(sdk("anthropic").APIStatusError) as error:
        ask(api)
    assert error.value.status_code == status
    assert error.value.response.headers["retry-after"] == "0.5"
    with pytest.raises(sdk("openai").APIStatusError) as other:
        gpt(api).chat.completions.create(model="m", messages=ASK)
    assert other.value.status_code == status


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (text("x" * 400, cut_after=4), "peer closed connection"),
        (text("x" * 400, fail_after=3), "Overloaded"),
        (rubbish("event: message_start\ndata: {no\n\n", "text/event-stream"), "Expecting property name"),
    ],
)
def test_a_broken_stream_is_an_error_for_the_client(api, answer, said):
    api.say(answer)
    with pytest.raises(Exception, match=said):  # whatever the SDK makes of it
        stream(api)


def test_rules_are_asked_before_the_list(api):
    api.when(lambda request: "title" in request.last_text, text("a title"), again=True)
    api.say(text("one"), text("two"), again=False)
    api.otherwise(lambda request: text(f"echo {request.last_text}"))
    asked = ["a title please", "x", "title", "y", "z"]
    assert [ask(api, [{"role": "user", "content": a}]).content[0].text for a in asked] == [
        "a title", "one", "a title", "two", "echo z",
    ]  # fmt: skip


def test_a_held_answer_waits_for_its_release(api):
    api.say(held(text("late")))
    found: list[str] = []
    waiting = threading.Thread(target=lambda: found.append(ask(api).content[0].text))
    waiting.start()
    until(lambda: api.asked)
    assert found == []
    while waiting.is_alive():
        api.release()
        waiting.join(0.02)
    assert found == ["late"]


def test_what_the_api_refuses_is_refused(api):
    call = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    wrong = [
        [*ASK, {"role": "assistant", "content": [call]}, {"role": "user", "content": "no result"}],
        [{"role": "user", "content": [result]}],
        [{"role": "user", "content": ""}],
        [{"role": "assistant", "content": "me first"}],
    ]
    for messages in wrong:
        with pytest.raises(sdk("anthropic").BadRequestError):
            ask(api, messages)
    right = [*ASK, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    assert ask(api, right).content[0].text == "done"
    assert api.asked[-1].results == ("x",)
    api.window = 3
    with pytest.raises(sdk("anthropic").BadRequestError, match="prompt is too long"):
        ask(api, right)


def test_caching_is_billed_as_marked(api):
    mark = {"type": "ephemeral"}
    system = [{"type": "text", "text": "long " * 100, "cache_control": mark}]
    first, second = ask(api, system=system).usage, ask(api, system=system).usage
    assert first.cache_creation_input_tokens == second.cache_read_input_tokens > 100
    assert first.cache_read_input_tokens == second.cache_creation_input_tokens == 0
    assert first.input_tokens == second.input_tokens > 0
    assert claude(api).messages.count_tokens(model="m", messages=ASK, system=system).input_tokens > 100


def test_probes_are_answered(api):
    for method, path in (("HEAD", "/"), ("GET", "/"), ("GET", "/v1/models"), ("POST", "/api/event_logging/batch")):
        connection = http.client.HTTPConnection("127.0.0.1", api.server_port, timeout=5)
        connection.request(method, path, body=b"{}" if method == "POST" else None)
        assert connection.getresponse().status == 200
        connection.close()
    assert [request.kind for request in api.requests] == ["probe", "probe", "models", "other"]
    assert api.asked == []


def test_it_runs_as_a_program(tmp_path):
    script = {
        "rules": [{"when": {"last": "ls", "!called": "Bash"}, "answers": [{"tool": "Bash", "input": {"x": 1}}]}],
        "answers": ["one", {"fail": 429, "retry_after": 2}], "otherwise": "nothing left",
    }  # fmt: skip
    path = tmp_path / "script.json"
    path.write_text(json.dumps(script))
    program = [sys.executable, str(Path(__file__).parent), str(path), "--log", str(tmp_path / "log")]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().strip()
            client = sdk("anthropic").Anthropic(api_key="k", base_url=url, max_retries=0)
            one = client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "ls"}])
            assert one.content[0].name == "Bash"
            assert client.messages.create(model="m", max_tokens=9, messages=ASK).content[0].text == "one"
            with pytest.raises(sdk("anthropic").RateLimitError):
                client.messages.create(model="m", max_tokens=9, messages=ASK)
            assert client.messages.create(model="m", max_tokens=9, messages=ASK).content[0].text == "nothing left"
        finally:
            server.terminate()
    assert len((tmp_path / "log").read_text().splitlines()) == 4


def test_a_script_with_an_unknown_word_is_refused(api):
    with pytest.raises(ValueError, match="none of"):
        load(api.script, {"rules": [{"when": {"colour": "red"}, "answers": ["x"]}]})
