"""Answers that are none, or only half of one: the conversation goes on, and nothing of it is lost."""

from __future__ import annotations

import pytest
from lumen_apiserver import fail, text, think, tool, tools, use
from lumen_rows import each_row

from lumen_tui.model.config import ServerConfig
from lumen_tui.providers.base import ConversationOutcome, ToolCall
from lumen_tui.providers.conversation.false_ends import holds_call

NAMES = ("list_dir", "other")


@pytest.fixture
def box(desk):
    desk.server("box", max_output=1_000)
    desk.settings["provider"] = "box"
    return desk


# ---- half an answer


def test_the_parts_of_a_cut_answer_make_one_result(desk, api):
    api.say(text("one two th", "max_tokens"), text("ree fo", "max_tokens"), text("ur"))
    assert desk.talk().outcome == ConversationOutcome(ok=True, text="one two three four")


def test_a_cut_answer_before_a_tool_call_is_no_part_of_the_result(desk, api):
    api.say(text("I will lo", "max_tokens"), tool("list_dir", path="/"), text("Two entries."))
    assert desk.talk().outcome == ConversationOutcome(ok=True, text="Two entries.")


def test_cuts_are_counted_between_two_calls_only(desk, api):
    rounds = [(text("hm", "max_tokens"), tool("list_dir", path=f"/{number}")) for number in range(6)]
    api.say(*(answer for pair in rounds for answer in pair), text("done"))
    assert desk.talk().outcome == ConversationOutcome(ok=True, text="done")


# ---- no answer at all


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "box:m"])
def test_an_empty_answer_is_asked_for_once_more(desk, api, model):
    desk.server("box")
    api.say(tool("list_dir", path="/"), text(""), text("Two entries."))
    assert desk.talk(model=model).outcome == ConversationOutcome(ok=True, text="Two entries.")
    assert api.asked[2].last_text == "Your answer was empty. Go on: make the next tool call, or give the result."


def test_empty_answers_have_an_end(desk, api):
    api.say(text("\n\n"))
    talk = desk.talk()
    assert (talk.outcome.ok, len(api.asked)) == (False, 4)
    assert "empty again and again" in talk.outcome.reason


def test_whoever_has_written_the_result_may_end_without_a_word(desk, api):
    api.say(tool("write_result", text="all of it"), text(""))
    assert desk.talk().outcome.ok
    assert len(api.asked) == 2


def test_a_call_that_was_announced_and_not_made_is_asked_for(box, api):
    api.say(text("I look.", "tool_use"), tool("list_dir", path="/"), text("done"))
    assert box.talk(model="m").outcome == ConversationOutcome(ok=True, text="done")


@pytest.mark.parametrize(
    "words", ['<tool_call>\n{"name": "list_dir", "arguments": {}}\n</tool_call>', "[TOOL_CALLS]other"]
)
def test_a_call_as_text_is_no_result(box, api, words):
    api.say(text(words))
    talk = box.talk(model="m")
    assert not talk.outcome.ok
    assert "writes its tool calls as plain text" in talk.outcome.reason
    api.say(text(words), tool("list_dir", path="/"), text("done"))
    assert box.talk(model="m").outcome == ConversationOutcome(ok=True, text="done")


@each_row(
    ("words", "is_one"),
    [
        ('{"name": "list_dir", "parameters": {"path": "/"}}', True),
        ('```json\n{"name":"other","arguments":{}}\n```', True),
        ("<function=list_dir>{}</function>", True), ("", False), ('{"name": "Ann", "arguments": []}', False),
        ('{"name": "list_dir"}', False), ("Write <tool_call> around list_dir.", False), ("<tool_call>", False),
        ("{" * 5000, False), ('{"name": "list_dir", "arguments": ' + "[" * 15_000, False),
    ],
)  # fmt: skip
def test_what_is_a_call_as_text(words, is_one):
    assert holds_call(words, NAMES) is is_one


# ---- thinking


def test_thinking_is_not_sent_back_after_a_cut_that_made_it_void(desk, api, reply):
    desk.settings["endpoints"] = {"anthropic": ServerConfig(window=30_000, max_output=2_000)}
    api.binds = True
    api.say(*(think("hm", tool("list_dir", path=f"/{n}")) for n in range(20)), text("done"))
    talk = desk.talk(lambda call: reply(call.arguments["path"] * 4000))
    assert talk.outcome == ConversationOutcome(ok=True, text="done")
    assert any("near the model's window" in note for note in talk.said("note"))
    assert any("thinking" in str(request.messages[1:]) for request in api.asked)


def test_thinking_that_the_server_does_not_take_back_is_left_out_once(desk, api):
    words = "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."
    refusing = lambda request: "'thinking'" in str(request.messages)  # noqa: E731
    api.when(refusing, fail(400, words), again=True)
    api.say(think("hm", tool("list_dir", path="/")), text("done"))
    talk = desk.talk()
    assert talk.outcome == ConversationOutcome(ok=True, text="done")
    assert "goes on without it" in talk.said("note")[-1]
    assert talk.order == "RSTRSRS"


def test_a_refusal_of_thinking_that_was_not_sent_ends_the_task(desk, api):
    api.say(fail(400, "messages.1.content.0: Invalid `signature` in `thinking` block."))
    assert "Invalid `signature`" in desk.talk().error
    assert len(api.asked) == 1


def test_reasoning_goes_back_with_its_calls_to_the_same_server_only(box, api):
    api.binds = True
    api.say(
        think("let me see", tools(use("list_dir"), use("other"))), think("", tool("list_dir", path="/")), text("done")
    )
    assert box.talk(model="m").outcome == ConversationOutcome(ok=True, text="done")
    assert [one.get("reasoning_content") for one in api.asked[2].messages if one.get("tool_calls")] == [
        "let me see",
        "",
    ]


def test_a_model_that_thinks_unseen_is_known_to_be_at_work(desk, api):
    ticks = iter(range(0, 100_000, 20))
    desk._now = lambda: 1_000_000.0 + next(ticks)
    api.say(text("done", pings=12))
    assert desk.talk().said("note").count("the model is at work on its answer") >= 12


@pytest.mark.parametrize("spaces", ["\n\n", " "])
def test_texts_of_spaces_do_not_go_back(desk, api, spaces):
    api.say(tool("list_dir", say=spaces), text("done"))
    assert desk.talk(None).outcome.ok
    assert [block["type"] for block in api.asked[1].messages[1]["content"]] == ["tool_use"]


# ---- refusals


def test_a_refusal_says_why(desk, api):
    api.say(text("", "refusal", why="This could enable\x1b[2J harm."))
    assert desk.talk().outcome.reason == "the model declined to do this: This could enable␛[2J harm."


def test_where_a_model_stands_by_a_refusal_goes_to_it_with_all_that_was_done(desk, api):
    desk.server("box")
    desk.settings["fallback"] = {"claude-haiku-4-5": ("box:qwen",)}
    of_claude = lambda request: request.kind == "messages"  # noqa: E731
    api.when(of_claude, tool("list_dir", path="/x"), text("half a sen", "refusal"))
    api.say(text("done by the other"))
    talk = desk.talk()
    assert talk.outcome == ConversationOutcome(ok=True, text="done by the other")
    assert len(talk.of(ToolCall)) == 1
    assert "goes on from here: the model declined to do this" in talk.said("note")[-1]
    assert api.asked[-1].results == ("a\nb",)


def test_a_window_that_ran_full_is_made_room_in(desk, api, reply):
    calls = [tool("list_dir", path=f"/{n}") for n in range(4)]
    api.say(*calls, text("half", "model_context_window_exceeded"), text("done"))
    talk = desk.talk(lambda call: reply("y" * 20_000))
    assert talk.outcome == ConversationOutcome(ok=True, text="done")
    assert any("old tool results cut" in note for note in talk.said("note"))


# ---- what would be refused in every request from then on


@pytest.mark.parametrize("model", ["claude-haiku-4-5", "box:m"])
@pytest.mark.parametrize(
    ("name", "told"),
    [("functions.list_dir", "list_dir"), ("list_dir<|channel|>commentary", "list_dir"), ("", "unnamed"),
     ("x" * 500, "x" * 64), ("rm -rf /\x1b", "rm_-rf___")],
)  # fmt: skip
def test_a_name_that_no_tool_can_have_goes_back_in_another_form(desk, api, reply, model, name, told):
    desk.server("box")
    api.say(tool(name, path="/"), text("done"))
    talk = desk.talk(reply("there is no such tool", ok=False), model=model)
    assert talk.outcome.ok
    assert api.asked[1].called == (told,)
    assert [call.name for call in talk.of(ToolCall)] == [told]


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_cannot_be_sent_back_is_no_argument(desk, api, number):
    api.say(tool("list_dir", f'{{"path": "/", "depth": {number}}}'), text("done"))
    talk = desk.talk()
    assert talk.outcome.ok
    assert talk.of(ToolCall) == []
    assert "no JSON object" in api.asked[1].results[0]
