"""A loop and a turn of the chat that outgrow the model's window go on with a summary, as a task does."""

from __future__ import annotations

import pytest
from lumen_apiserver import text, tool

from lumen_tui.actions.registry import named, perform
from lumen_tui.store.sessions import chats

WINDOW = 32_000
SETTINGS = f"[models.endpoints.anthropic]\nwindow = {WINDOW}\nmax_output = 2000\n"
WRITTEN = "**Done**: the pages were read. **Facts**: the port is 8443."


@pytest.fixture
def pages(office, api, tmp_path):
    """Calls that read six pages of 18 KB each; the window holds half of them beside the prompt."""
    office.layout.config.write_text(office.layout.config.read_text() + SETTINGS)
    for number in range(6):
        (tmp_path / f"page-{number}").write_text(f"word{number} " * 20 + "\n" + (f"word{number} " * 20 + "\n") * 120)
    api.window = WINDOW
    api.when(lambda request: "stands for the earlier steps" in request.system_text, text(WRITTEN), again=True)
    return [tool("read_file", path=str(tmp_path / f"page-{number}")) for number in range(6)]


async def test_a_loop(office, api, pages):
    api.say(*pages, tool("deposit", wake_state="The port is known.", decided=["8443"]), again=False)
    office.do("signal.send", message="read all pages", to="lumen")
    await office.beat()
    await office.loop_over(1)
    last = [request for request in api.asked if request.tool_names][-1]
    assert "read all pages" in last.first_text
    assert "the port is 8443" in last.first_text
    assert 1 <= len(last.called) < len(pages)
    assert office.packets[-1].loop == 1


async def test_a_turn_of_the_chat(office, api, pages):
    office.engine  # noqa: B018 - opened
    api.say(*pages, text("8443."), text("You asked for the port."), again=False)
    for number, words in enumerate(("Which port? Read all pages.", "What did I ask?"), 1):
        request = named("chat.send", {"text": words})
        perform(office.store, request, by="ann", now=office.clock.now(), client="cli", order=True)
        await office.until(lambda number=number: (turn := chats.read(office.layout).turn(number)) and turn.end)
    turns = [request for request in api.asked if request.tool_names]
    within = turns[len(pages)]
    assert "Which port? Read all pages." in within.first_text
    assert "the port is 8443" in within.first_text
    assert [turn.answer for turn in chats.read(office.layout).turns] == ["8443.", "You asked for the port."]
    assert "Which port? Read all pages." in turns[-1].first_text
