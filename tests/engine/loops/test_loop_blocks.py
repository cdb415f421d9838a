"""Memory blocks over two loops: read in the briefing, written by the session, read again."""

from __future__ import annotations

from lumen_apiserver import tool, tools, use

from lumen_tui.store.memory import blocks


async def test_a_loop_reads_its_blocks_and_the_next_one_reads_what_it_wrote(office, api):
    api.when(
        lambda r: "Loop 1:" in r.first_text and not r.called,
        tools(
            use("memory_insert", label="human", new_string="Ann looks after port 8443."),
            use("memory_rethink", label="persona", step=1, new_memory="anything"),
        ),
    )
    api.when(lambda r: "Loop" in r.first_text, tool("deposit", wake_state="Noted."))
    office.do("block.append", name="persona", text="Calm and exact.")
    office.do("block.lock", name="persona")
    office.do("signal.send", message="I look after port 8443.")
    await office.beat()
    first = await office.loop_over(1)
    assert first.changed["memory_added"] == 1

    briefing = api.asked[0].first_text
    assert "## Memory blocks" in briefing
    assert "Calm and exact." in briefing
    assert "block persona, step 2, by ann" in briefing
    persona, human = blocks.read_all(office.layout)[:2]
    assert persona.text == "Calm and exact."
    assert (human.by, human.trust, human.source) == ("lumen", "agent", "loop-000001")

    office.do("signal.send", message="And now?")
    office.clock.pass_time(600)
    await office.beat()
    await office.loop_over(2)
    second = next(r.first_text for r in api.asked if "Loop 2:" in r.first_text)
    assert "Ann looks after port 8443." in second
    assert "26 of 20,000 characters, the main agent's own word" in second
