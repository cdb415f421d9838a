"""A back end that takes one message alone gets what was said before as text in front of it."""

from __future__ import annotations

from lumen_tui.providers.base import Job
from lumen_tui.providers.conversation.conversation import opening_with_history
from lumen_tui.providers.conversation.history import AssistantMessage, ModelCall, ResultMessages, UserMessage


def test_without_history_it_is_the_opening_alone() -> None:
    assert opening_with_history(Job(system="", objective="look", opening="Look there.")) == "Look there."


def test_what_was_said_comes_first_and_calls_are_left_out() -> None:
    called = AssistantMessage("", (ModelCall("a", "list_dir"),), "tool")
    history = (UserMessage("One?"), called, ResultMessages(()), AssistantMessage("One."))
    text = opening_with_history(Job(system="", objective="", opening="Two?", history=history))
    assert text == "## Earlier message\n\nOne?\n\n## Your answer\n\nOne.\n\n## The newest message\n\nTwo?"
