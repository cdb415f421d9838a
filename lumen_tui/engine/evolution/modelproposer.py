"""A cheap model proposes paragraphs for the prompts of roles, from how their recorded tasks went.

It is shown what the role is told, and the cases for proposers in fixed words: no word of a worker, so that what it
proposes is the agent's own. Like any proposer it decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lumen_tui.actions.acting import LEARNING
from lumen_tui.engine.evolution.modeljudge import ask_process
from lumen_tui.model import times
from lumen_tui.model.evolution import Trust
from lumen_tui.model.evolved_edits import EditKind, EvolvedEdit
from lumen_tui.model.session_review import ProposingRequest, ProposingResult
from lumen_tui.model.text import one_line
from lumen_tui.model.trials import EvolutionCandidate, candidate_id
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution import champions
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.roles import load_role

_MOST_MOMENTS = 60  # of a role that it is shown
_MOST_WHY = 240


def proposed(
    store: Store, told: Mapping[str, Sequence[str]], now: float, stopped: Callable[[], bool]
) -> list[EvolutionCandidate]:
    """Return what it would add to shipped roles; nothing where it gives no answer, which the ledger says."""
    made: list[EvolutionCandidate] = []
    config, champion = load_config(store.layout)[0], champions.read_current(store.layout)
    for name, moments in sorted(told.items()):
        try:
            role = champion.applied(load_role(store.layout, name))
        except (OSError, ValueError):
            continue
        if not moments or role.source != "shipped":
            continue
        order = ProposingRequest(str(store.root), name, role.prompt, tuple(moments[:_MOST_MOMENTS]))
        answer = ask_process("propose", config, order, ProposingResult, stopped)
        for paragraph in answer.proposed:
            edit = EvolvedEdit(name, EditKind.PROMPT, text=" ".join(paragraph.text.split()))
            why = one_line(f"{answer.brain}: {paragraph.why}", _MOST_WHY)
            made.append(EvolutionCandidate(candidate_id(edit), times.iso(now), LEARNING, edit, why, trust=Trust.AGENT))
    return made
