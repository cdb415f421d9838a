"""Candidates in each state in which the room shows them, with what their trials found."""

from __future__ import annotations

from lumen_tui.model.digests import text_digest
from lumen_tui.model.evolution import Trust
from lumen_tui.model.evolved_edits import EditKind, EvolvedEdit, EvolvedVersion
from lumen_tui.model.paired import exact_p
from lumen_tui.model.roles import ToolRule
from lumen_tui.model.times import DAY, HOUR, iso
from lumen_tui.model.trials import (
    QUESTIONS,
    TOKENS,
    EvolutionCandidate,
    PairedCase,
    Promotion,
    PromotionStep,
    TrialReport,
    candidate_id,
)
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import candidates, champions

_WEIGHT = EvolvedEdit("", EditKind.WEIGHT, name="recency", value=0.05)
_RULE = EvolvedEdit("builder", EditKind.RULE, ToolRule("required_before_exit", "shell"))
_COSTLY = EvolvedEdit("builder", EditKind.PROMPT, text="Say which test you ran, and what it printed.")
_UNTRIED = EvolvedEdit("researcher", EditKind.SETTING, name="max_steps", value=18)
_UNMEASURED = EvolvedEdit("critic", EditKind.PROMPT, text="Name the line that each finding is about.")
_TEXT = "# WU-014: Sessions\n\n## Outcome\n- done, lane Core\n- In the end: sessions live in Postgres\n"
_SUMMARY = EvolvedEdit("", EditKind.SUMMARY, text=_TEXT, name="mem-7f2k9c0w4h1zt", base=text_digest("as it was"))
_WHYS = {
    _WEIGHT: "of 31 searches it shows what was looked for in 24, and now in 17",
    _UNTRIED: "4 claims that checks disproved came after step 18; no proved one took more than 12",
    _UNMEASURED: "openai gpt-test: claims without a line were false",
    _COSTLY: "openai gpt-test: claims without a command were false",
    _SUMMARY: "openai gpt-test tells its 5,210 characters in 81",
    _RULE: "9 of 11 claims that checks disproved were made without shell; all 14 that were proved had used it",
}
_SAID = "attempt 1 of {} said that it was done: disproved"


def prove(layout: Layout, now: float) -> None:
    """Write them, the newest last; one is in force."""
    version = EvolvedVersion().with_edit(_WEIGHT)
    for place, (edit, why) in enumerate(_WHYS.items()):
        at, by = iso(now - DAY + place * HOUR), "evolution"
        made = EvolutionCandidate(candidate_id(edit), at, by, edit, why, trust=Trust.AGENT)
        candidates.write(layout, [made])
    line = Promotion("act-7f2k9c0w4h1zt", iso(now - DAY), "ana", PromotionStep.PROMOTE, version.name, "")
    champions.swap(layout, line, version)
    fixed = [PairedCase(f"cas-{number}", False, True, words=_SAID.format(f"tsk-{number}")) for number in range(9)]
    others = (
        PairedCase("cas-a", True, False, words="git push origin main: allowed by a person"),
        PairedCase("cas-b", True, False, flaky=True, words="make site: allowed by a person"),
    )
    _report(layout, now, version, _RULE, 34, (9, 1), (*fixed, *others), costs=(3.0, 3.0))
    dear = ("it costs more: 55,180 tokens instead of 48,960",)
    _report(layout, now, version, _COSTLY, 40, (8, 1), tuple(fixed[:8]), dear, (48_960.0, 55_180.0), usd=0.21)
    none = ("not measured: no model ran: trials have no budget: `[budget.roles.trials]` in lumen.toml gives them one",)
    _report(layout, now, version, _UNMEASURED, 0, (0, 0), (), none)


def _report(
    layout: Layout,
    now: float,
    version: EvolvedVersion,
    edit: EvolvedEdit,
    measured: int,
    found: tuple[int, int],
    differing: tuple[PairedCase, ...],
    objections: tuple[str, ...] = (),
    costs: tuple[float, float] = (0.0, 0.0),
    usd: float = 0.0,
) -> None:
    names = candidate_id(edit), version.name, version.with_edit(edit).name
    unit = TOKENS if edit.kind is EditKind.PROMPT else QUESTIONS
    report = TrialReport(
        "tri-7f2k9c0w4h1zt", iso(now - HOUR), "evolution", *names, 1, "s", max(measured, 34), measured, *found,
        exact_p(*found, measured) if measured else 1.0, costs, "", differing, objections, unit, usd,
    )  # fmt: skip
    candidates.report(layout, report)
