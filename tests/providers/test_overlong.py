"""Only a refusal of the conversation's length is taken for one: the words are those that the servers really use."""

from __future__ import annotations

import pytest
from lumen_apiserver import fail, text, tool
from lumen_rows import each_row

from lumen_tui.providers.errors import is_context_overflow

LENGTH = (
    "prompt is too long: 208656 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 199984 + 20000 > 200000, decrease input length",
    "Input is too long for requested model.",
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "context_length_exceeded",
    "Please reduce the length of the messages or completion.",
    "The decoder prompt (length 8357) is longer than the maximum model length of 8192.",
    "The input (516368 tokens) is longer than the model's context length (131072 tokens).",
    "the request exceeds the available context size, try increasing it",
    "exceed_context_size_error",
    "prompt too long; exceeded max context length by 1200 tokens",
    "Prompt contains 140000 tokens, too large for model with 131072 maximum context length",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
)
SOMETHING_ELSE = (
    "messages.7.content.2.image.source.base64: image exceeds 5 MB maximum: 7340032 bytes > 5242880 bytes",
    "At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
    "image too large",
    "request body too large",
    "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64.",
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 200.",
    "max_tokens is too large: 100000. This model supports at most 4096 completion tokens.",
    "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5",
    "The context window of a tool must be an integer",
    "the request is not valid",
)


@each_row("words", LENGTH)
def test_what_says_that_the_conversation_does_not_fit(words):
    assert is_context_overflow(words)


@each_row("words", SOMETHING_ELSE)
def test_what_only_sounds_like_it(words):
    assert not is_context_overflow(words)


@pytest.mark.parametrize("words", SOMETHING_ELSE[2:5])
def test_such_a_refusal_ends_the_task_with_its_words_and_cuts_nothing(desk, api, reply, words):
    api.say(tool("list_dir", path="/1"), tool("list_dir", path="/2"), fail(400, words), text("done"))
    talk = desk.talk(lambda call: reply("y" * 20_000))
    assert talk.error.startswith("the request was refused (400): ")
    assert words[:40] in talk.error
    assert talk.said("note") == []


@pytest.mark.parametrize("refusal", [fail(400, LENGTH[1]), fail(413, "Request exceeds the maximum size")])
def test_a_refused_length_is_mended_by_cutting_old_results(desk, api, reply, refusal):
    api.say(*(tool("list_dir", path=f"/{n}") for n in range(4)), refusal, text("done"))
    talk = desk.talk(lambda call: reply("y" * 20_000))
    assert talk.outcome.text == "done"
    assert any("old tool results cut" in note for note in talk.said("note"))
