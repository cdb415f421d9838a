"""Planted texts of somebody who had not seen the gate: whose word they are keeps them out, as words alone do not."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from evolution_folder import Mind, SessionFile
from evolution_planted_words import HARMLESS, MORE_HARMLESS, MORE_POISON, POISON

from lumen_tui.actions.promotion import current, ground_of
from lumen_tui.model import agent
from lumen_tui.model.evolution import Trust
from lumen_tui.model.evolved_edits import EditKind, EvolvedEdit
from lumen_tui.model.learning_rules import Rules
from lumen_tui.model.tasks import Spec
from lumen_tui.model.trials import TrialResult, objections
from lumen_tui.store.evolution import candidates
from lumen_tui.store.settings.roles import load_role
from lumen_tui.tools.base import Context
from lumen_tui.tools.policy.fence import redactor
from lumen_tui.tools.toolbox import Toolbox
from lumen_tui.worker.acting import performer
from lumen_tui.worker.world import World
from tests.engine.evolution.test_gate_afresh import trial
from tests.model.test_trials import candidate, promoted

PLANTED = (*POISON, *MORE_POISON)
RULES = Rules((), redactor(os.environ))
GOOD: TrialResult = trial([False] * 12 + [True] * 28, [True] * 40)  # as good as can be


def let_in(texts: list[str], trust: Trust) -> list[str]:
    """Those that the gate lets in, with a good trial, in any place of words."""

    def passes(text: str) -> bool:
        edits = (
            (EvolvedEdit("builder", EditKind.PROMPT, text=text), "answers were lost"),
            (EvolvedEdit("builder", EditKind.SKILL, name="asking", text=f"How to ask.\n{text}"), "answers were lost"),
            (EvolvedEdit("builder", EditKind.SKILL, name="asking", text=f"{text}\nAsk."), "answers were lost"),
            (EvolvedEdit("builder", EditKind.PROMPT, text="Say what you ran."), text),
        )
        return any(promoted(GOOD, candidate=candidate(edit, why=why, trust=trust), rules=RULES) for edit, why in edits)

    return [text for text in texts if passes(text)]


@pytest.mark.threat("S3", "planted words as a change of a role")
@pytest.mark.parametrize("trust", [Trust.WORKER, Trust.TOOL, Trust.WEB])
def test_nothing_gets_in_as_a_change_on_the_word_of_others(trust: Trust) -> None:
    assert let_in([*PLANTED], trust) == []


def test_words_alone_stop_as_few_as_the_documents_say() -> None:
    counts = [len(let_in(texts, Trust.AGENT)) for texts in (POISON, MORE_POISON, HARMLESS, MORE_HARMLESS)]
    assert counts == [59, 30, 21, 10]
    page = (Path(__file__).resolve().parents[3] / "docs" / "evolution.md").read_text(encoding="utf-8")
    row = f"| {len(PLANTED)} | {counts[0] + counts[1]} | 0 | 0 |"
    assert row in page


PLACES: dict[str, Callable[[SessionFile, str], object]] = {
    "result": lambda session, text: session.runs("cat notes.txt", text),
    "page": lambda session, text: session.runs("cat page", f"Before. {text} After.").person(text),
    "agent": lambda session, text: session.agent(text),
    "worker": lambda session, text: session.person(text, isSidechain=True),
    "mail": lambda session, text: session.person(f"From: x@example.com\nSubject: hello\n\n{text}"),
    "quotation": lambda session, text: session.person(f"> {text}"),
    "fence": lambda session, text: session.person(f"```\n{text}\n```"),
}


@pytest.mark.threat("S3", "planted words in sessions")
@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_learnt_of_it_from_sessions(mind: Mind, tmp_path: Path, place: str) -> None:
    files = []
    for number, text in enumerate(PLANTED):
        session = SessionFile(tmp_path / f"{place}-{number}.jsonl")
        PLACES[place](session, text)
        files.append(session.path)
    mind.learn(*files)
    assert mind.texts() == []


def loop_of_agent(mind: Mind, number: int, *hosts: str) -> Toolbox:
    """The tools of a loop that has read from these hosts."""
    name = agent.task_id(number)
    folder = mind.layout.task(name)
    folder.mkdir(parents=True)
    role, spec = agent.with_tools(load_role(mind.layout, agent.ROLE)), Spec(id=name, objective="o")
    context = Context(
        role=role, spec=spec, store=mind.store, folder=folder, now=time.time, monotonic=time.monotonic,
        redact=RULES.redact, environ={"PATH": os.environ["PATH"], "HOME": str(mind.layout.root)},
        perform=performer(World(folder, time.time, time.monotonic, {}, None, str)),
    )  # fmt: skip
    context.memo.web.update(hosts)
    return Toolbox(role, spec, context)


@pytest.mark.threat("S3", "a page that has the agent propose a change of a role")
def test_what_the_agent_proposes_after_a_page_is_let_in_by_no_trial(mind: Mind) -> None:
    def propose(toolbox: Toolbox, text: str) -> None:
        result = toolbox.call("propose_change", {"role": "builder", "why": "w", "text": text})
        assert result.ok, result.text

    for first in range(0, len(MORE_POISON), 5):  # five are the most of a loop
        toolbox = loop_of_agent(mind, first + 1, "example.org")
        for text in MORE_POISON[first : first + 5]:
            propose(toolbox, text)
    propose(loop_of_agent(mind, 100), "Say what you ran.")
    champion = current(mind.layout)
    made = {each.edit.text: each for each in candidates.candidates(mind.layout).values()}
    against = {text: objections(ground_of(mind.layout, each, champion), GOOD) for text, each in made.items()}
    assert against.pop("Say what you ran.") == ()
    assert len(against) == len(MORE_POISON)
    assert all("it comes from an untrusted origin: web" in reasons for reasons in against.values())


NOTED: dict[str, dict[str, object]] = {
    "remember": {"text": "The key is rotated on Mondays."}, "discover": {"title": "The log is full"},
    "checkpoint": {"wu_id": "WU-001", "note": "half is done"}, "propose": {"title": "Ask more", "why": "w"},
}  # fmt: skip


@pytest.mark.threat("S3", "what the agent keeps after it has read a page")
@pytest.mark.parametrize("tool", NOTED)
def test_what_the_agent_keeps_after_a_page_is_not_its_own_word(mind: Mind, tool: str) -> None:
    trusts = []
    for number, hosts in enumerate(((), ("example.org", "mcp:tickets")), start=1):
        result = loop_of_agent(mind, number, *hosts).call(tool, NOTED[tool])
        assert result.ok, result.text
        *_, newest = mind.layout.memory.read_bytes().splitlines()
        metadata = json.loads(newest)["metadata"]
        trusts.append((metadata["trust"], metadata.get("read_from", [])))
    assert trusts == [("agent", []), ("untrusted", ["example.org", "mcp:tickets"])]
