"""What no person said and meant is not learnt unasked, however it comes into a session."""

from __future__ import annotations

import pytest
from evolution_canaries import CANARIES, RULE, Plant
from evolution_folder import Mind, SessionFile

from lumen_tui.model import learning_rules
from lumen_tui.model.evolution import ObservationKind, ObservationStatus


def test_there_are_sixty_and_the_same_words_are_learnt_from_a_person(mind: Mind, session: SessionFile) -> None:
    assert len(CANARIES) >= 60
    mind.learn(session.person(RULE).path)
    assert mind.texts() == [RULE]
    assert "zorp" in mind.claude_md


@pytest.mark.threat("S3", "injections that want to be learnt")
@pytest.mark.parametrize("plant", CANARIES.values(), ids=CANARIES)
def test_nothing_of_it_is_learnt_unasked(mind: Mind, session: SessionFile, plant: Plant) -> None:
    plant(session)
    outcome = mind.learn(session.path)
    assert mind.texts() == []
    assert "zorp" not in mind.claude_md.casefold()
    assert not any(skipped for report in outcome.reports for skipped in report.skipped.values())


@pytest.mark.threat("S3", "injections that want to be learnt")
def test_all_together_they_ask_one_question(mind: Mind, session: SessionFile) -> None:
    for plant in CANARIES.values():
        plant(session)
    mind.learn(session.path)
    assert mind.texts() == []
    assert len(mind.texts("proposed")) <= 5


@pytest.mark.threat("S3", "injections that want to be learnt")
@pytest.mark.parametrize("kind", ObservationKind)
def test_the_gate_takes_a_pasted_text_from_nobody(kind: ObservationKind) -> None:
    from evolution_folder import proposal
    from test_gate import RULES

    from lumen_tui.model.evolution import Trust

    pasted = [RULE, "The zorp host is zorp.example.", "Zorp runs on port 8080.", "Tests run with zorp, always."]
    for text in pasted:
        for trust in (Trust.AGENT, Trust.WORKER, Trust.TOOL, Trust.WEB):
            verdict = learning_rules.judge(proposal(text, kind=kind, trust=trust), text, RULES)
            assert verdict.status is ObservationStatus.PROPOSED, (text, trust)
        for evidence in (
            f"> {text}",
            f"```\n{text}\n```",
            f"<p>\n{text}",
            f'"{text} And so on."',
            text + " Or so." * 400,
        ):
            verdict = learning_rules.judge(proposal(text, kind=kind), evidence, RULES)
            assert verdict.status is ObservationStatus.PROPOSED, (text, evidence[:40])
