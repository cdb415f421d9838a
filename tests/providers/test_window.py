"""Conversations that come near their model's window are cut, and the cut is said."""

from __future__ import annotations

import pytest
from lumen_apiserver import text, tool

from lumen_tui.model.config import ServerConfig
from lumen_tui.providers.conversation.compaction import compact
from lumen_tui.providers.conversation.history import (
    AssistantMessage,
    ModelCall,
    ResultMessage,
    ResultMessages,
    UserMessage,
)


def rounds(number: int, length: int) -> tuple:
    entries = [UserMessage("do it")]
    for n in range(number):
        call = ModelCall(f"c{n}", "read_file", {"path": f"/{n}"})
        entries += [
            AssistantMessage("", (call,), "tool"),
            ResultMessages((ResultMessage(call.id, call.name, f"{n} " * length),)),
        ]
    return tuple(entries)


def test_the_oldest_results_go_first_and_say_so():
    entries = rounds(6, 1000)
    shrunk = compact(entries, 3000)
    assert shrunk.pieces == 2
    assert shrunk.characters >= 3000
    assert "characters of this result; make the call again" in shrunk.entries[2].results[0].text
    assert shrunk.entries[6:] == entries[6:]
    assert "2 old tool results cut" in shrunk.summary


def test_a_pointer_to_the_whole_stays():
    pointer = "[the whole: tasks/tsk-a/outputs/3.txt]"
    entries = (
        UserMessage("x"),
        ResultMessages((ResultMessage("a", "shell", "y" * 5000 + "\n" + pointer),)),
        *rounds(3, 10),
    )
    assert compact(entries, 100).entries[1].results[0].text.endswith(pointer)


def test_the_newest_results_go_last_and_in_part():
    shrunk = compact(rounds(2, 20_000), 10_000_000)
    assert 1_900 < len(shrunk.entries[-1].results[0].text) < 2_300
    assert shrunk.entries[0] == UserMessage("do it")
    assert compact((UserMessage("y" * 100_000),), 1000).pieces == 0


def test_long_arguments_are_cut_too():
    call = ModelCall("c", "write_file", {"path": "/x", "content": "z" * 5000})
    entries = (
        UserMessage("x"),
        AssistantMessage("", (call,), "tool", native=[{}]),
        ResultMessages((ResultMessage("c", "write_file", "ok"),)),
    )
    shrunk = compact((*entries, *rounds(3, 5)), 1000)
    assert len(shrunk.entries[1].calls[0].arguments["content"]) < 400
    assert shrunk.entries[1].native is None


@pytest.fixture
def small(desk, api):
    """A model with a window of 30,000 tokens."""
    desk.settings["endpoints"] = {"anthropic": ServerConfig(window=30_000, max_output=2_000)}
    api.window = 30_000
    return desk


def calls(api, number: int) -> None:
    api.say(*(tool("list_dir", path=f"/{n}") for n in range(number)), text("done"))


def test_a_long_conversation_stays_inside_the_window(small, api, reply):
    calls(api, 30)
    talk = small.talk(lambda call: reply(call.arguments["path"] * 4000))
    assert talk.outcome.text == "done"
    notes = [text for text in talk.said("note") if "near the model's window" in text]
    assert 1 <= len(notes) <= 6
    assert max(request.tokens() for request in api.asked) < 30_000
    assert [request.kind for request in api.requests].count("count_tokens") >= 1
    assert talk.order == "RST" * 30 + "RS"


def test_a_window_that_is_not_known_is_found_by_refusal(desk, api, reply):
    desk.server("box")
    api.window = 30_000
    calls(api, 20)
    talk = desk.talk(lambda call: reply(call.arguments["path"] * 4000), model="box:m")
    assert talk.outcome.text == "done"
    assert any("old tool" in text for text in talk.said("note"))


def test_what_cannot_be_cut_is_said(small, api):
    small.job["context"] = "y" * 200_000
    talk = small.talk()
    assert "too long for the model (400): give a narrower objective or less context" in talk.error
    assert len(api.asked) == 1


def test_a_giant_first_result(small, api, reply):
    calls(api, 1)
    talk = small.talk(lambda call: reply("y" * 300_000))
    assert talk.outcome.ok
