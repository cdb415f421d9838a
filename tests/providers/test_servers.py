"""What servers leave out, do otherwise or do not know: the conversation goes on, or says what to mend."""

from __future__ import annotations

import sys

import pytest
from lumen_apiserver import fail, rubbish, text, tool, tools, use

from lumen_tui.model.config import ServerConfig
from lumen_tui.providers.base import ConversationOutcome, Spent, ToolCall

NAMES = ("list_dir", "other")


@pytest.fixture
def box(desk):
    desk.server("box", max_output=1_000)
    desk.settings["provider"] = "box"
    return desk


@pytest.mark.parametrize(
    ("name", "refused", "words", "after"),
    [
        ("box", "stream_options", "Extra inputs are not permitted: stream_options", "max_tokens"),
        ("box", "max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
         "'max_completion_tokens' instead.", "max_completion_tokens"),
        ("openai", "max_completion_tokens", "unknown field max_completion_tokens", "max_tokens"),
    ],
)  # fmt: skip
def test_what_a_server_does_not_know_is_left_out_from_then_on(desk, api, name, refused, words, after):
    desk.settings |= {"provider": name, "endpoints": {name: ServerConfig("openai", api.openai_url, max_output=900)}}
    desk.environ["OPENAI_API_KEY"] = "k" * 20
    api.when(
        lambda request: refused in request.body, fail(422 if refused == "stream_options" else 400, words), again=True
    )
    api.say(tool("list_dir"), text("done"))
    talk = desk.talk(model="m")
    assert talk.outcome == ConversationOutcome(ok=True, text="done")
    assert [refused in request.body for request in api.asked] == [True, False, False]
    assert api.asked[-1].body[after] == 900
    assert talk.order == "RSTRS"


def test_a_server_that_refuses_both_ends_the_task_with_its_words(box, api):
    api.say(fail(400, "unknown field: max_tokens, max_completion_tokens, stream_options"))
    assert "refused (400): unknown field" in box.talk(model="m").error
    assert len(api.asked) == 3


@pytest.mark.parametrize("ids", [("c1", "c2"), ("", "")])
def test_calls_that_all_have_the_same_index_stay_apart(box, api, ids):
    calls = [use(name, {"path": "/"}, call_id=call_id) for name, call_id in zip(NAMES, ids, strict=True)]
    api.say(tools(*calls, one_index=True), text("done"))
    talk = box.talk(model="m")
    assert [call.name for call in talk.of(ToolCall)] == ["list_dir", "other"]
    assert talk.outcome.ok


def chunks(*parts: str) -> str:
    rows = [f'{{"choices":[{{"delta":{{"tool_calls":[{part}]}}}}]}}' for part in parts]
    rows += ['{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}', "[DONE]"]
    return "".join(f"data: {row}\n\n" for row in rows)


@pytest.mark.parametrize(
    "parts",
    [
        # an id of its own for each part; no index for any; the name in each
        ('{"index":0,"id":"a","function":{"name":"list_dir","arguments":""}}',
         '{"index":0,"id":"b","function":{"arguments":"{\\"path\\":"}}',
         '{"index":0,"id":"c","function":{"arguments":"1}"}}'),
        ('{"id":"a","function":{"name":"list_dir","arguments":"{\\"path\\""}}', '{"function":{"arguments":":1}"}}'),
        ('{"index":0,"id":"a","function":{"name":"list_dir","arguments":"{\\"path\\":"}}',
         '{"index":0,"id":"a","function":{"name":"list_dir","arguments":"1}"}}'),
    ],
)  # fmt: skip
def test_one_call_in_parts_of_any_form_is_one_call(box, api, parts):
    api.say(rubbish(chunks(*parts), "text/event-stream"), text("done"))
    assert box.talk(model="m").called == [("list_dir", {"path": 1})]


@pytest.mark.parametrize("word", ["eos", "eos_token", "stop_sequence"])
def test_other_words_for_a_good_end(box, api, word):
    api.say(text("done", word))
    assert box.talk(model="m").outcome == ConversationOutcome(ok=True, text="done")


# ---- errors


def test_a_tool_call_that_groq_could_not_read_is_asked_for_again(box, api):
    api.say(fail(400, "Failed to call a function. See 'failed_generation'.", kind="tool_use_failed"), text("done"))
    talk = box.talk(model="m")
    assert talk.outcome.ok
    assert "tool call could not be read (400)" in talk.said("wait")[-1]


@pytest.mark.parametrize(
    ("model", "said"),
    [("box:m", "look at its base_url, which mostly ends in /v1"), ("claude-haiku-4-5", "which ends before /v1")],
)
def test_an_address_that_is_wrong_is_told_from_a_model_that_is_unknown(desk, api, model, said):
    desk.server("box")
    api.say(fail(404, raw="404 page not found", content_type="text/plain"))
    assert said in desk.talk(model=model).error


@pytest.mark.parametrize("asked", [0, -5, float("inf"), float("nan")])
def test_a_wait_that_is_none_is_not_believed(desk, api, asked):
    api.say(
        fail(529, headers={"retry-after": str(asked)}), fail(529, headers={"retry-after-ms": str(asked)}), text("fine")
    )
    talk = desk.talk()
    assert talk.outcome.ok
    assert talk.waits == pytest.approx([0.75, 1.5])


@pytest.mark.parametrize(
    "words",
    [
        '{"error": "The number of tokens to keep from the initial prompt is greater than the context length"}',
        '{"error": {"message": "Trying to keep the first 9000 tokens when context the overflows.", "type": "x"}}',
    ],
)
def test_a_length_that_is_refused_inside_a_stream_is_mended_too(box, api, reply, words):
    calls = [tool("list_dir", path=f"/{n}") for n in range(4)]
    api.say(*calls, rubbish(f"data: {words}\n\n", "text/event-stream"), text("done"))
    talk = box.talk(lambda call: reply("y" * 20_000), model="m")
    assert talk.outcome == ConversationOutcome(ok=True, text="done")
    assert any("old tool results cut" in note for note in talk.said("note"))
    assert talk.waits == []


def test_a_missing_package_gives_back_what_was_set_aside(desk, monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    desk.server("box")
    talk = desk.talk(model="box:m")
    assert "needs the package openai" in talk.error
    assert talk.order == "RS"
    assert [(step.ok, step.usage.tokens) for step in talk.of(Spent)] == [(False, 0)]


def test_a_stream_that_ends_before_its_end_is_asked_for_again_and_its_prompt_is_paid(desk, api):
    start = '{"type":"message_start","message":{"usage":{"input_tokens":500,"output_tokens":1}}}'
    api.say(rubbish(f"event: message_start\ndata: {start}\n\n", "text/event-stream"), text("whole"))
    talk = desk.talk()
    assert talk.outcome == ConversationOutcome(ok=True, text="whole")
    assert talk.of(Spent)[0].usage.input_tokens == 500


def test_what_google_signs_goes_back_with_its_call_and_to_no_other_server(desk, api):
    desk.server("box")
    desk.server("other")
    desk.settings["fallback"] = {"box:m": ("other:m",)}
    signed = '"extra_content":{"google":{"thought_signature":"c2ln"}}'
    call = f'{{"index":0,"id":"a","function":{{"name":"list_dir","arguments":"{{}}"}},{signed}}}'
    api.when(lambda request: request.kind == "chat" and not request.called, rubbish(chunks(call), "text/event-stream"))
    api.say(tool("other"), fail(500), fail(500), fail(500), text("done"))
    talk = desk.talk(model="box:m")
    assert talk.outcome.ok
    back = [one["tool_calls"][0] for request in api.asked for one in request.messages[2:3] if one.get("tool_calls")]
    assert back[0]["extra_content"] == {"google": {"thought_signature": "c2ln"}}
    assert "extra_content" not in back[-1]


def test_an_error_in_a_list_is_told_in_its_words(box, api):
    words = (
        '[{"error": {"code": 400, "message": "Request contains an invalid argument.", "status": "INVALID_ARGUMENT"}}]'
    )
    api.say(fail(400, raw=words, content_type="application/json"))
    assert box.talk(model="m").error == "the request was refused (400): Request contains an invalid argument."
