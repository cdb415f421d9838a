"""Sleep-time work: what the agent's memory and cases ask for, proposed while nothing waits. It changes nothing itself.

One pass makes cases of the tasks that are over, proposes what follows from them, discoveries that say the same, and
shorter texts of blocks and summaries. All of it are candidates: what has cases is tried by the gate, what has none
waits for a person. A pass that is stopped or killed has proposed less, and the next one goes on.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lumen_tui.actions import edits, evals
from lumen_tui.actions.acting import LEARNING
from lumen_tui.actions.outcome import ActionError
from lumen_tui.engine.evolution import casemaking, proposing
from lumen_tui.model import budget, times
from lumen_tui.model.digests import text_digest
from lumen_tui.model.evals import SUITE, EvalCase
from lumen_tui.model.evolution import Trust
from lumen_tui.model.evolved_edits import EditKind, EvolvedEdit
from lumen_tui.model.session_review import ShorteningRequest, ShorteningResult
from lumen_tui.model.summary import own_words
from lumen_tui.model.trials import SLEEP, EvolutionCandidate, candidate_id, fault
from lumen_tui.storage.store import Store
from lumen_tui.store.evolution import candidates, suites
from lumen_tui.store.ledger.ledger import Ledger
from lumen_tui.store.memory import blocks, nodes
from lumen_tui.store.memory.node_bulk import newest_nodes
from lumen_tui.store.memory.node_index import NodeIndex
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.tasks import task_files
from lumen_tui.tools.base import Stopped

if TYPE_CHECKING:
    from lumen_tui.model.config import Config

_SAME = 97.0  # likeness of two titles, in per cent, from which they say the same
_MOST_NODES = 2_000  # discoveries that are compared
_MOST = 10  # of one sort that a pass proposes
_TASKS = 200  # of which a pass makes cases
_LONG = 4_000  # characters from which a model is asked for a shorter text
_SHORTER = 0.8  # of what it was, at most
_SURE = re.compile(r"[\w./:@-]*\d[\w./:@-]*|https?://\S+|/[\w./-]+")  # what a shorter text may not make up
_OURS = ("person", "agent")  # whose words may be told in others
_Over = Callable[[], bool]


def sleep(store: Store, now: float, stopped: _Over) -> tuple[list[EvolutionCandidate], str]:
    """Make cases and proposals; return what is new, and a word on the model. Whatever came before a stop is kept."""
    layout, found, said = store.layout, list[EvolutionCandidate](), ""
    known = candidates.candidates(layout)  # also those that a person withdrew: they are not proposed again
    places = {_place(candidate.edit) for candidate in known.values()}
    try:
        _collect(store, now, stopped)
        found += proposing.propose(store, SUITE, now, stopped)
        found += _candidates(_merges(store, now, stopped), now)
        texts = [text for text in _texts(store) if _place(text) not in places]
        found += _candidates(_repeated(texts), now)
        places |= {_place(candidate.edit) for candidate in found}
        left = [text for text in texts if _place(text) not in places]
        for answered in _shortened(store, left, stopped):
            proposal, said = answered
            found += _candidates(iter(proposal), now)
    except Stopped:
        pass
    new = [candidate for candidate in found if candidate.id not in known and not fault(candidate)]
    if new:
        from lumen_tui.actions import promotion  # with all that brings one into force

        promotion.keep(layout, new, by=LEARNING, now=now)
    return new, said


_Proposal = tuple[EvolvedEdit, str, Trust]
_Found = Iterator[_Proposal]


def _candidates(found: _Found, now: float) -> list[EvolutionCandidate]:
    return [
        EvolutionCandidate(candidate_id(edit), times.iso(now), LEARNING, edit, why, trust=trust)
        for edit, why, trust in islice(found, _MOST)
    ]


def _collect(store: Store, now: float, stopped: _Over) -> None:
    known = {case.task for case in suites.cases(store.layout, SUITE).values()}
    tasks = [name for name in task_files.all_ids(store.layout) if name not in known][-_TASKS:]
    made = list[EvalCase]()
    for task in tasks:
        if stopped():
            raise Stopped
        made += casemaking.collect(store, [task], times.iso(now))
    try:
        evals.keep(store.layout, SUITE, made, by=LEARNING, now=now)
    except ActionError as error:
        if not error.missing:  # a full suite: proposals follow from what is there
            return


def _merges(store: Store, now: float, stopped: _Over) -> _Found:
    """Yield open discoveries of one work unit with nearly the same title; the older one stays."""
    index = NodeIndex(store.layout)
    while index.refresh():
        pass
    rows = list(islice(index.discoveries(now), _MOST_NODES))
    if stopped():
        raise Stopped
    count = Counter(row.node.wu_id for row in rows)
    rows = [row for row in rows if count[row.node.wu_id] > 1]
    if not rows:
        return
    from lumen_tui.engine.likeness import comparable, nearest_title  # rapidfuzz: 5 ms

    by_unit: dict[str, dict[str, str]] = {}
    for row in sorted(rows, key=lambda row: row.created):
        if stopped():
            raise Stopped
        earlier = by_unit.setdefault(row.node.wu_id, {})
        title = comparable(row.node.title)
        near = nearest_title(title, earlier, at_least=_SAME)
        if near is not None and _figures(title) == _figures(earlier[near[0]]):
            edit = EvolvedEdit("", EditKind.MERGE, text=row.node.id, name=near[0])
            yield edit, f"both are open, of one work unit, and their titles are {near[1]:.0f} % alike", Trust.AGENT
        else:
            earlier[row.node.id] = title


def _figures(text: str) -> list[str]:
    """Return the numbers of a text: two that differ in one are two."""
    return re.findall(r"\d+", text)


def _texts(store: Store) -> Iterator[EvolvedEdit]:
    """Yield, as edits that change nothing, the blocks and summaries that may be told in other words.

    Nobody locked or owns them, and there is no word of a worker or a page in them.
    """
    for block in blocks.read_all(store.layout):
        is_closed = block.problem or block.by_hand or block.fields.read_only or block.fields.locked
        if block.text.strip() and not is_closed and block.trust in _OURS:
            yield _as_it_is(EditKind.BLOCK, block.name, block.text)
    others = {str(node["id"]) for node in newest_nodes(store.layout, '"trust"') if not _is_ours(node)}
    for node in newest_nodes(store.layout, '"source_nodes"'):
        if node.get("type") == "summary" and edits.status_of(node) == "open" and _may_be_told(node, others):
            yield _as_it_is(EditKind.SUMMARY, str(node["id"]), str(node.get("content", "")))


def _as_it_is(kind: EditKind, name: str, text: str) -> EvolvedEdit:
    return EvolvedEdit("", kind, text=text, name=name, base=text_digest(text))


def _is_ours(node: nodes.Raw) -> bool:
    return nodes.get_field(node, "metadata.trust") in (None, "", *_OURS)


def _may_be_told(summary: nodes.Raw, others: set[str]) -> bool:
    """Return whether a summary is in force, its words are nobody's own, and none of its sources is a worker's."""
    sources = nodes.get_field(summary, "metadata.source_nodes")
    if nodes.get_field(summary, "metadata.summarized_into") or own_words(summary) or not isinstance(sources, list):
        return False
    return others.isdisjoint(map(str, sources))


def _place(edit: EvolvedEdit) -> tuple[EditKind, str, str]:
    """Return which text an edit is for: for one that was proposed already nothing else is."""
    return edit.kind, edit.name, edit.base


def _repeated(texts: list[EvolvedEdit]) -> _Found:
    """Yield texts without the lines that say again what one above says."""
    for edit in texts:
        if len(edit.text.splitlines()) < 2:
            continue
        from lumen_tui.engine.likeness import near_lines  # here: often there is no text

        text = near_lines(edit.text, _SAME)
        if text != edit.text:
            gone = len(edit.text.splitlines()) - len(text.splitlines())
            yield replace(edit, text=text), f"{gone} of its lines say again what a line above says", Trust.AGENT


def _shortened(store: Store, texts: list[EvolvedEdit], stopped: _Over) -> Iterator[tuple[list[_Proposal], str]]:
    """Yield long texts as a cheap model tells them in fewer words, one by one, or why there is none."""
    long = [edit for edit in texts if len(edit.text) > _LONG]
    if not long:
        return
    config = load_config(store.layout)[0]
    if reason := why_no_model(store, config):
        yield [], reason
        return
    from lumen_tui.engine.evolution.modeljudge import ask_process  # all that starts processes

    for edit in long[:_MOST]:
        if stopped():
            raise Stopped
        order = ShorteningRequest(str(store.root), str(edit.kind), edit.name, edit.text)
        answer = ask_process("shorten", config, order, ShorteningResult, stopped)
        text = answer.text.strip() + "\n"
        if answer.problem:
            yield [], f"no model rewrites: {answer.problem}"
        elif is_shorter(edit.text, text):
            why = f"{answer.brain or 'a model'} tells its {len(edit.text):,} characters in {len(text):,}"
            yield [(replace(edit, text=text), why[:300], Trust.AGENT)], ""


def is_shorter(before: str, after: str) -> bool:
    """Return whether a text may stand for another: clearly shorter, with no number, path or address of its own."""
    return (
        bool(after.strip())
        and len(after) <= _SHORTER * len(before)
        and _figures_and_places(after) <= _figures_and_places(before)
    )


def _figures_and_places(text: str) -> set[str]:
    """Return what a shorter text may not make up, without the marks of the sentence around it."""
    return {found.rstrip(".:-/") for found in _SURE.findall(text)}


def why_no_model(store: Store, config: Config) -> str:
    """Return why no model is asked while the agent sleeps, or empty."""
    from lumen_tui.providers.choose import provider_name  # few texts are long enough to ask for it

    server = provider_name(config.models, os.environ)
    if server in ("offline", "claude"):
        return f"no model rewrites: no server of models is set (the provider is {server})"
    book = Ledger(store.layout).refresh()
    day = budget.day_of(time.time(), config.budget.day_starts)
    if not budget.role_cap(book, config.budget, day, SLEEP).limit:
        return f"no model rewrites: `[budget.roles.{SLEEP}]` in lumen.toml gives it a line of its own"
    return ""
