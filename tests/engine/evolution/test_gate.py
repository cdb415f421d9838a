"""The gate: 200 proposals that must not pass, 200 that must."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from evolution_bad_words import BAD, BY_WHY
from evolution_folder import proposal
from evolution_good_words import GOOD
from lumen_rows import each_row

from lumen_tui.model import constitution, evolvedfiles, learning_rules
from lumen_tui.model.evolution import DOMAIN, RECOVERY, ObservationKind, ObservationStatus, Source, Trust
from lumen_tui.tools.policy.fence import redactor

RULES = learning_rules.Rules(constitution.never_learn(constitution.DEFAULT), redactor(os.environ))
KINDS = {
    "rule": (ObservationKind.RULE, Trust.PERSON),
    "decision": (ObservationKind.DECISION, Trust.PERSON),
    "correction": (ObservationKind.CORRECTION, Trust.PERSON),
    "fact": (ObservationKind.FACT, Trust.PERSON),
    "fix": (ObservationKind.FIX, Trust.AGENT),
    "tool": (ObservationKind.FACT, Trust.TOOL),
}
LONG = "a statement that goes on and on " * 20
FORMS = [
    ("no source", {"sources": ()}), ("no source", {"sources": (Source("", 3),)}),
    ("no source", {"sources": (Source("s1", 0),)}), ("no quote", {"quote": ""}), ("no quote", {"quote": "  "}),
    ("is not in the line", {"quote": "Nobody said this."}), ("is not in the line", {"quote": "keep things SHORT"}),
    ("2 words", {"text": "short"}), ("2 words", {"text": ""}), ("2 words", {"text": LONG}),
    ("2 words", {"text": "two lines\nof text"}), ("not one that", {"target": "constitution.md"}),
    ("not one that", {"target": "../CLAUDE.md"}), ("not one that", {"target": ""}),
    ("not one that", {"target": "/etc/passwd"}), ("confidence", {"confidence": 0.0}),
    ("confidence", {"confidence": 1.5}),
    ("600", {"quote": "x" * 700}),
]  # fmt: skip


def test_the_tables_have_two_hundred_each() -> None:
    assert len(BAD) + len(FORMS) >= 200
    assert len(GOOD) >= 200
    assert len(set(BAD)) == len(BAD)
    assert len(set(GOOD)) == len(GOOD)


def test_the_table_in_the_documents_has_these_numbers() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "evolution.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+ \| (\d+) \| (\d+) \| (\d+) \|$", page, re.M)
    bad = [str(len(texts)) for texts in (*BY_WHY.values(), FORMS)]
    assert rows == [*((count, "0", count) for count in bad), (str(len(GOOD)), str(len(GOOD)), "0")]


@pytest.mark.threat("S3", "words that must never be learnt, through the gate")
def test_what_must_never_be_learnt_is_turned_away_even_from_a_person() -> None:
    verdicts = {text: learning_rules.judge(proposal(text), text, RULES) for text in BAD}
    assert {text for text, verdict in verdicts.items() if verdict.status is not ObservationStatus.REJECTED} == set()
    assert {text for text, verdict in verdicts.items() if not verdict.reasons} == set()


@pytest.mark.threat("S3", "words that must never be learnt, through the gate")
def test_bad_words_in_the_evidence_are_turned_away_as_well() -> None:
    harmless = "The report has five parts"
    verdicts = {text: learning_rules.judge(proposal(harmless, quote=text), text, RULES) for text in BAD}
    assert {text for text, verdict in verdicts.items() if verdict.status is not ObservationStatus.REJECTED} == set()


@pytest.mark.threat("S3", "words that must never be learnt, through the gate")
def test_each_is_turned_away_for_its_own_reason() -> None:
    wrong = []
    for why, texts in BY_WHY.items():
        for text in texts:
            reasons = "; ".join(learning_rules.judge(proposal(text), text, RULES).reasons)
            if why.split()[0] not in reasons and not (why == "disguise" and reasons):
                wrong.append((why, text, reasons))
    assert wrong == []


@each_row(("why", "changes"), FORMS)
def test_what_lacks_its_form_is_turned_away(why: str, changes: dict) -> None:
    given = {"text": "Please keep things short", "quote": "Please keep things short", **changes}
    verdict = learning_rules.judge(proposal(**given), "Please keep things short", RULES)
    assert verdict.status is ObservationStatus.REJECTED
    assert why in "; ".join(verdict.reasons)


def test_what_is_in_order_passes() -> None:
    refused = []
    for name, text in GOOD:
        kind, trust = KINDS[name]
        verdict = learning_rules.judge(proposal(text, kind=kind, trust=trust), f"Said so: {text} And more.", RULES)
        if verdict != learning_rules.GateVerdict(ObservationStatus.ACCEPTED):
            refused.append((text, verdict))
    assert refused == []


@pytest.mark.threat("S3", "words that must never be learnt, through the gate")
@each_row("trust", [Trust.AGENT, Trust.WORKER, Trust.TOOL, Trust.WEB])
@each_row("kind", [ObservationKind.RULE, ObservationKind.DECISION, ObservationKind.CORRECTION])
def test_an_instruction_from_anybody_else_waits_for_a_person(kind: ObservationKind, trust: Trust) -> None:
    text = "Always run the tests before you commit."
    assert (
        learning_rules.judge(proposal(text, kind=kind, trust=trust), text, RULES).status is ObservationStatus.PROPOSED
    )


@each_row("text", [
    "`python` is at version 3.11 and must always be run as root", "The release notes are at version 2",
    "`ls` listens on port 80 for commands", "In `x; do this`: `a` is at version 1", "`a b` is at version 1.0",
])  # fmt: skip
def test_a_fact_of_a_tool_passes_in_its_fixed_form_only(text: str) -> None:
    assert (
        learning_rules.judge(proposal(text, kind=ObservationKind.FACT, trust=Trust.TOOL), text, RULES).status
        is ObservationStatus.PROPOSED
    )


def test_a_fix_that_a_worker_found_waits() -> None:
    text = "`pytest` failed (exit code 4); `pytest tests` worked"
    one = proposal(text, kind=ObservationKind.FIX, trust=Trust.WORKER, target=RECOVERY)
    assert learning_rules.judge(one, text, RULES).status is ObservationStatus.PROPOSED


def test_what_contradicts_waits() -> None:
    text = "Use npm instead of pnpm."
    verdict = learning_rules.judge(proposal(text, contradicts="evo-2"), text, RULES)
    assert verdict.status is ObservationStatus.PROPOSED
    assert "evo-2" in verdict.reasons[0]


def test_the_constitution_adds_rules_of_its_own() -> None:
    rules = learning_rules.Rules(("deploy * on friday", "new dependency"))
    for text in ("We deploy the site on Friday.", "Add a NEW  dependency where it helps."):
        assert learning_rules.judge(proposal(text), text, rules).status is ObservationStatus.REJECTED
    text = "We deploy on Monday."
    assert learning_rules.judge(proposal(text), text, rules).status is ObservationStatus.ACCEPTED


def file_with(count: int, around: str = "Mine.\n") -> str:
    entries = [proposal(f"Entry number {number}", id=f"evo-{number}") for number in range(count)]
    return evolvedfiles.render(DOMAIN, around, entries)


@each_row(("kept", "fine"), [(8, True), (6, True), (5, False), (0, False)])
def test_at_most_a_quarter_of_the_entries_goes_in_one_change(kept: int, fine: bool) -> None:
    reasons = learning_rules.judge_change(file_with(8), file_with(kept), 100_000)
    assert (reasons == ()) is fine


def test_a_locked_section_does_not_change() -> None:
    before = file_with(3)
    assert learning_rules.judge_change(before, before.replace("Mine.", "Yours."), 100_000) == (
        (learning_rules.ChangeFault.LOCKED, "a locked section would change"),
    )
    inner = before.replace("- Entry number 1", "<!-- locked -->\nkeep\n<!-- /locked -->\n- Entry number 1")
    assert learning_rules.judge_change(inner, before, 100_000)[0].fault is learning_rules.ChangeFault.LOCKED


def test_a_file_does_not_grow_past_its_budget() -> None:
    assert (
        learning_rules.judge_change(file_with(1), file_with(40), 500)[0].fault is learning_rules.ChangeFault.TOO_LARGE
    )
    assert learning_rules.judge_change(file_with(40), file_with(39), 500) == ()
