"""The main agent proposes a change of a role, the engine tries it, the agent reads what came of it; no more."""

from __future__ import annotations

import json

from lumen_apiserver import tool, tools, use

from lumen_tui.engine.events import recent_events
from lumen_tui.model.evolution import Trust
from lumen_tui.model.evolved_edits import EditKind
from lumen_tui.store.evolution import candidates, champions


def recent_tries(office):
    return [event.text for event in recent_events(office.store, 200) if event.text.startswith("tried builder")]


async def test_it_proposes_and_reads_and_the_engine_tries(office, api):
    rule = {"rule": "deny", "tool": "shell", "pattern": "git push*"}
    proposals = [
        use("propose_change", role="builder", why="pushes were refused", **rule),
        use("propose_change", role="builder", why="pushes were refused", **rule),
        use("propose_change", role="builder", why="it said nothing", text="Say which test you ran."),
        use("propose_change", role="builder", why="w", rule="max_count", tool="shell"),
        *(use("propose_change", role="builder", why="w", text=f"Say {number}.") for number in range(5)),
    ]
    api.when(lambda r: "Loop 1:" in r.first_text and not r.called, tools(*proposals))
    api.when(lambda r: "Loop 2:" in r.first_text and not r.called, tool("read_trials"))
    api.when(lambda r: "Loop" in r.first_text, tool("deposit", wake_state="Done."), again=True)
    office.do("signal.send", message="Pushes are refused again and again.")
    await office.beat()
    await office.loop_over(1)
    made = candidates.candidates(office.layout)
    assert [each.edit.kind for each in made.values()] == [EditKind.RULE, *[EditKind.PROMPT] * 4]  # five of a loop
    assert {each.trust for each in made.values()} == {Trust.AGENT}

    def tried() -> bool:
        office.engine.beat(office.clock.now(), "timer")
        return len(recent_tries(office)) == len(made)

    await office.until(tried)
    assert all("not measured" in text for text in recent_tries(office))
    assert len(candidates.trials(office.layout)) == len(made)
    assert champions.pointed(office.layout) == ""

    office.clock.pass_time(600)
    office.do("signal.send", message="And now?")
    await office.beat()
    await office.loop_over(2)
    second = next(request for request in api.asked if "Loop 2:" in request.first_text and request.called)
    words = json.dumps(second.body["messages"][-1])
    assert all(name in words for name in made)
    assert "against it: not measured" in words
