"""Phases, the two clocks, who may confirm, and which probes a beat makes."""

import math
import random

import pytest
from lumen_rows import each_row

from lumen_tui.actions.outcome import ActionError
from lumen_tui.model import freshness
from lumen_tui.model.facts import Fact, absolute, parse_probe, probe_words
from lumen_tui.model.freshness import DueProbe, FactState, Phase, choose, mark, per_beat, phase_of
from lumen_tui.model.times import DAY
from lumen_tui.store.memory.facts import marks

NOW = 1_790_000_000.0


@each_row(
    ("days", "phase"),
    [(-5, "fresh"), (0, "fresh"), (30, "fresh"), (30.1, "soft-stale"), (45, "soft-stale"), (45.1, "hard-stale"),
     (60, "hard-stale"), (60.1, "expired")],
)  # fmt: skip
def test_the_phase_goes_by_the_age_in_shares_of_the_class(days: float, phase: str) -> None:
    assert phase_of(days * DAY, 30 * DAY) == phase


def test_every_phase_has_its_shape() -> None:
    assert set(freshness.FILLS) == set(freshness.ASCII_FILLS) == set(Phase)


@each_row(
    ("state", "said"),
    [
        (FactState(Fact("mem-a", "x"), confirmed=NOW - DAY), ""),
        (FactState(Fact("mem-a", "x"), confirmed=NOW - 40 * DAY), "[soft-stale: last confirmed 40 d ago]"),
        (FactState(Fact("mem-a", "x"), confirmed=NOW - 90 * DAY), "[expired: last confirmed 90 d ago]"),
        (FactState(Fact("mem-a", "x", written=NOW - DAY)), "[never confirmed, written 24 h ago]"),
        (FactState(Fact("mem-a", "x"), confirmed=NOW, drifted=NOW - 9999, value="9\n0"),
         "[↯ drifted 2 h ago, now 9 0]"),
    ],
)  # fmt: skip
def test_a_mark_says_the_age_from_outside(state: FactState, said: str) -> None:
    assert mark(state, NOW) == said


@each_row("seed", range(20))
@each_row(("probes", "done"), [(1, 1), (20, 4), (57, 5), (200, 32)])
def test_each_probe_has_its_turn_within_the_promised_number_of_beats(seed: int, probes: int, done: int) -> None:
    """Whatever their weights, and though only the first `done` of those chosen are carried out."""
    rng = random.Random(seed)  # noqa: S311 - a sample
    weights = [rng.random() * 9 for _ in range(probes)]
    had: dict[int, float] = dict.fromkeys(range(probes), 0.0)
    for beat in range(1, math.ceil(probes / math.ceil(done / 2)) + 1):
        turns = [DueProbe(f"mem-{n}", "p1", had[n], weights[n]) for n in range(probes)]
        for turn in choose(turns, 32, rng)[:done]:
            had[int(turn.fact_id[4:])] = float(beat)
    assert min(had.values()) > 0


def test_a_beat_makes_what_its_time_allows() -> None:
    assert (per_beat(2.0, 0.5, 32), per_beat(2.0, 0.05, 32), per_beat(0.1, 5.0, 32)) == (4, 32, 1)


@each_row(
    "text",
    ["text /etc/os-release = Debian", "json /a.json a.b[0] = 1.2", "output uname -r", "exit grep -q x /f = 1",
     "git /repo main", "port 5432", "file '/a b' = absent", r"text /x ~ v(\d+) = 3", "http http://localhost/ = 200"],
)  # fmt: skip
def test_a_probe_is_read_as_it_is_written(text: str) -> None:
    probe = parse_probe(text, "p1")
    assert parse_probe(probe_words(probe), "p1") == probe
    assert probe_words(probe).split()[0] == probe.kind == text.split()[0]


@each_row(
    "text", ["", "smell /etc", "file", "text /x", "text /x ~ (", "file /x = maybe", "file /a /b", "port 1 ~ x",
             "file 'x", "text /x = " + "y" * 2000],
)  # fmt: skip
def test_what_is_no_probe_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_probe(text, "p1")


def test_the_agents_own_word_confirms_nothing(world) -> None:
    fact = world.fact("the sky is blue", by="lumen")
    state = world.state(fact)
    assert (state.confirmed, state.phase(world.clock.wall), state.fact.written) == (
        0.0,
        Phase.EXPIRED,
        world.clock.wall,
    )
    for name in ("lumen", "researcher", "probe", "tsk-abc"):
        with pytest.raises(ActionError, match="only a probe or a person"):
            world.do("fact.confirm", by=name, fact_ids=fact)
    assert marks(world.layout, world.clock.wall + DAY) == {fact: "[never confirmed, written 24 h ago]"}
    world.clock.wall += 50 * DAY
    world.do("fact.confirm", fact_ids=fact, note="I looked")
    assert (world.state(fact).confirmed, world.state(fact).confirmed_by) == (world.clock.wall, "ann")
    assert world.state(fact).fact.written == world.clock.wall - 50 * DAY
    assert marks(world.layout, world.clock.wall) == {}


def test_undo_takes_back_a_confirmation_a_retirement_and_a_fact(world) -> None:
    fact = world.fact("the sky is blue", by="lumen")
    for verb, check in (
        ("fact.confirm", lambda state: bool(state.confirmed)),
        ("fact.retire", lambda state: state.fact.status == "archived"),
    ):
        world.do(verb, fact_ids=fact)
        assert check(world.state(fact))
        world.do("undo")
        assert not check(world.state(fact))
        world.do("redo")
        assert check(world.state(fact))
        world.do("undo")
    world.do("undo", by="lumen")
    assert world.state(fact).fact.status == "deleted"


def test_a_fact_is_a_note_that_does_not_fade_and_no_discovery(world) -> None:
    from lumen_tui.queries.snapshot_reader import SnapshotReader

    fact = world.fact("the sky is blue", by="lumen")
    picture = SnapshotReader(world.root).snapshot(world.clock.wall)
    assert (len(picture.discoveries), len(picture.fading), picture.decay.protected) == (0, 0, 1)
    assert (picture.facts.current, picture.facts.stalest_id, picture.facts.stalest) == (1, fact, 0.0)


def test_damaged_and_hostile_lines_do_no_harm(world) -> None:
    fact = world.fact("a\x1b]52;c;x\x07b \u202e c", by="lumen", source="\x1b[2J")
    with world.layout.confirmations.open("ab") as file:
        file.write(b'{"fact_id":1}\nnot json\n\xff\xfe\n')
        file.write(
            b'{"fact_id":"%s","at":"x","outcome":"holds","probe_id":"p9","evidence":"\\u001b[2J"}\n' % fact.encode()
        )
    state = world.state(fact)
    assert "\x1b" not in state.fact.claim + state.fact.source + state.evidence
    assert state.confirmed == 0.0
    with world.layout.memory.open("ab") as file:
        file.write(
            b'{"id":"mem-x","type":"note","content":"c","created_at":"","metadata":{"fact":{"class":7,"probes":3}}}\n'
        )
    assert world.state("mem-x").fact.probes == ()


def test_what_goes_to_a_model_carries_its_age_where_it_is_stale(world) -> None:
    from lumen_tui.actions.context import context

    world.do("wu.new", title="Watch it", lane="Core")
    fresh, stale = world.fact("the sky is blue", by="ann"), world.fact("the sea is green", by="lumen")
    text = context(world.store, by="ann", now=world.clock.wall + DAY, wu_id="WU-001").text
    lines = {one: next(line for line in text.splitlines() if one in line) for one in (fresh, stale)}
    assert "[never confirmed, written 24 h ago]" in lines[stale]
    assert "confirmed" not in lines[fresh]


def test_the_page_from_which_an_agent_goes_on_marks_stale_facts(world) -> None:
    from lumen_tui.actions import ready

    world.do("wu.new", title="Watch it", lane="Core")
    stale = world.fact("the sea is green", by="lumen", wu_id="WU-001")
    page = ready.page(world.store, by="ann", now=world.clock.wall + DAY, wu_id="WU-001")
    [item] = [one for one in page.items if one.id == stale]
    assert "the sea is green [never confirmed, written 24 h ago]  — lumen" in ready.entry_text(item)


def test_damaged_confirmations_go_to_quarantine_and_the_doctor_names_them(world) -> None:
    from lumen_tui.engine.doctor import disk
    from lumen_tui.storage.damage import DamageScan

    world.do("fact.confirm", fact_ids=world.fact("the sky is blue", by="lumen"))
    with world.layout.confirmations.open("ab") as file:
        file.write(b'{"fact_id":7}\nnot json\n')
    scan = DamageScan(world.layout)
    assert [scan.scan("now"), scan.scan("now")] == [2, 0]
    found = [one.where for one in disk.lines(world.layout, world.clock.wall, False)]
    assert found == ["memory/confirmations.jsonl:2", "memory/confirmations.jsonl:3"]


@each_row(
    ("words", "parts"),
    [
        ("text /a.conf = region = eu", ("/a.conf", "", "region = eu")),
        ("text /a.conf ~ ^port = (\\d+) = 80", ("/a.conf", "^port = (\\d+)", "80")),
        ("text /a.conf ~ ^port = (\\d+)", ("/a.conf", "^port = (\\d+)", "")),
        ("text /a.conf = a ~ b", ("/a.conf", "", "a ~ b")),
        ("text '/a = b.conf' = x", ("/a = b.conf", "", "x")),
        ("exit test a = b = 1", ("test a = b", "", "1")),
        ("file /lock = absent", ("/lock", "", "absent")),
    ],
)
def test_a_probe_is_read_as_it_is_meant_and_written_the_same(words: str, parts: tuple[str, str, str]) -> None:
    probe = parse_probe(words, "p1")
    assert (probe.target, probe.pattern, probe.expect) == parts
    assert parse_probe(probe_words(probe), "p1") == probe


def test_a_relative_path_counts_from_the_folder_that_is_given_or_not_at_all() -> None:
    assert absolute("text app.conf = x", "/srv/site") == "text /srv/site/app.conf = x"
    assert absolute("output uname -r", "/srv/site") == "output uname -r"
    with pytest.raises(ValueError, match="not an absolute path"):
        parse_probe("file app.conf", "p1")


def test_a_work_unit_says_which_of_its_facts_is_not_so_any_more(world, tmp_path) -> None:
    from lumen_tui.actions import ready
    from lumen_tui.actions.context import context

    (tmp_path / "app.conf").write_text("port = 80\n")
    world.do("wu.new", title="Call it", lane="Core", body="Remember: the API runs on port 80.")
    world.do("wu.new", title="Something else", lane="Core")
    fact = world.fact("The API runs on port 80", rf"text {tmp_path}/app.conf ~ ^port = (\d+)")
    (tmp_path / "app.conf").write_text("port = 90\n")
    world.do("fact.check", fact_ids=[fact])
    now = world.clock.wall
    said = "The API runs on port 80 [↯ drifted just now, now 90]"
    assert ready.page(world.store, by="ann", now=now, wu_id="WU-001").drifted == (said,)
    assert said in context(world.store, by="ann", now=now, wu_id="WU-001").text
    assert ready.page(world.store, by="ann", now=now, wu_id="WU-002").drifted == ()


def test_the_shell_tells_that_a_new_probe_does_not_hold(world, tmp_path) -> None:
    from lumen_tui.actions.fact_readings import doubtful

    fact = world.fact("It is there", f"file {tmp_path}", f"file {tmp_path}/gone")
    seen = doubtful(world.store, fact, now=world.clock.wall)
    assert [reading.evidence for _, reading in seen] == [f"{tmp_path}/gone is not there"]


def test_the_same_claim_is_noted_once_while_it_stands(world) -> None:
    first = world.fact("The sky is blue")
    with pytest.raises(ActionError, match=first):
        world.fact("the  sky is BLUE")
    world.do("fact.retire", fact_ids=first)
    assert world.fact("The sky is blue") != first
