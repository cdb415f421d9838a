"""Facts: noted, confirmed by persons, given probes, retired. An agent cannot confirm its own facts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from lumen_tui.actions import acting, checks, edits, places, probing
from lumen_tui.actions.edits import Fields, Side
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import access, facts, fields, ids, times
from lumen_tui.model.facts import Confirmation, Outcome, Probe
from lumen_tui.model.records import Action, Change
from lumen_tui.model.requests.facts import AddFact, AddProbe, ConfirmFacts, RetireFacts
from lumen_tui.model.text import one_line
from lumen_tui.storage.journal import Journal
from lumen_tui.storage.layout import Layout
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.memory import facts as kept
from lumen_tui.store.memory import nodes
from lumen_tui.store.memory.facts import FactIndex
from lumen_tui.store.memory.nodes import Raw
from lumen_tui.store.settings import roles
from lumen_tui.store.settings.config import load_config


def complete(store: Store, fact_id: str, confirmation: Confirmation | None, edge: Raw | None) -> Done:
    """Add the person's confirmation and the edge if an interrupted call with the same key left them out."""
    if confirmation and not _mentions(store.layout.confirmations, fact_id):
        kept.record(store.layout, [confirmation])
    if edge and not _mentions(store.layout.relationships, fact_id):
        store.relationships.append(edge)
    return Done(summary=f"the fact {fields.UNDER_KEY}", target=fact_id, aside=f"it {fields.UNDER_KEY}")


def node(claim: str, meta: Raw, *, by: str, now: float, wu_id: str = "") -> Raw:
    """Return a new line of memory.jsonl that holds a fact; it does not decay."""
    record = fields.node(claim, by=by, now=now, type="note", tags=[facts.TAG], wu_id=wu_id)
    return {**record, "lifecycle": "project", "metadata": {"fact": meta}}


def edge(start: str, finish: str, type: str, *, by: str, now: float) -> Raw:
    """Return a new line of relationships.jsonl."""
    line = {"from_id": start, "to_id": finish, "type": type, "created_at": times.iso(now), "created_by": by}
    return {**line, "schema": 1}


def _mentions(path: Path, name: str) -> bool:
    return any(name.encode() in line for line in Journal(path).lines())


KIND = "confirmation"  # of a change
_NOT_PEOPLE = ("system", "engine", "probe", "worker", "evolution", "agent", "assistant", "model")
_OF_AGENTS = (*(f"{kind}:" for kind in access.KINDS), "tsk-", "loop-", "ses-", "agent-")  # how names of no people begin


def is_agent(layout: Layout, by: str) -> bool:
    """Return whether a name belongs to the agent, its roles or tasks, whose word confirms nothing."""
    own = {
        load_config(layout)[0].agent.name.casefold(),
        *_NOT_PEOPLE,
        *(role.name for role in roles.list_roles(layout)[0]),
    }
    return by.casefold() in own or by.casefold().startswith(_OF_AGENTS)


def must_be_person(store: Store, by: str, only: str) -> None:
    """Refuse a caller who is no person; `only` says who may."""
    if by == acting.AGENT_PROGRAM:
        raise ActionError(f"an agent's own program asks (CLAUDECODE is set): {only}")
    if is_agent(store.layout, by):
        raise ActionError(f"{by!r} is a name of the agent, its roles or tasks: {only}")


def add(store: Store, request: AddFact, *, by: str, now: float) -> Done:
    """Note a claim with its probes, each as text. A person's claim is confirmed by that person.

    The same `key` notes one; what an interrupted call left out is added.
    """
    name = fields.keyed_id("mem", request.key, "fact") if request.key else ""
    source_node = checks.node_ids(store, request.source_id)[0] if request.source_id else ""
    if name and nodes.find(store.layout.memory, [name]):
        confirmation = None if is_agent(store.layout, by) else _confirmation_by(name, by, now, "said so")
        link = edge(name, source_node, "discovered_from", by=by, now=now) if source_node else None
        return complete(store, name, confirmation, link)
    _must_be_new(store, request.claim)
    metadata = facts.metadata(request.span_class, request.source or source_node or by, _parsed(store, request.probes))
    work = places.known_work(store, request.wu_id) if request.wu_id else ""
    record = fields.keyed(node(request.claim, metadata, by=by, now=now, wu_id=work), request.key, "fact")
    actions: list[Action] = []

    def edit(_: dict[str, Raw]) -> tuple[list[Raw], bytes]:
        summary = f"fact noted: {edits.quoted(record)}"
        actions.append(edits.new_action("fact.add", [edits.made_node(record)], summary=summary, by=by, now=now))
        return [record], journal.begun_lines(actions[0])

    nodes.change(store.layout, [], edit)
    if not is_agent(store.layout, by):
        kept.record(store.layout, [_confirmation_by(record["id"], by, now, "said so")])
    if source_node:
        store.relationships.append(edge(record["id"], source_node, "discovered_from", by=by, now=now))
    return Done(summary=actions[0].summary, target=record["id"], action_id=actions[0].id)


def _parsed(store: Store, probes: Sequence[str]) -> tuple[Probe, ...]:
    if len(probes) > facts.MOST_PROBES:
        raise ActionError(f"a fact has at most {facts.MOST_PROBES} probes")
    return learned(store, [facts.parse_probe(text, f"p{number}") for number, text in enumerate(probes, start=1)])


def _must_be_new(store: Store, claim: str) -> None:
    """Refuse a claim that is noted already: it would drift, and be confirmed, twice."""
    words = " ".join(claim.split()).casefold()
    for state in kept.states(store.layout) if words else ():
        if state.current and " ".join(state.fact.claim.split()).casefold() == words:
            raise ActionError(f"that is noted already: confirm {state.fact.id}, or give it a probe")


def _confirmation_by(fact_id: str, by: str, now: float, evidence: str) -> Confirmation:
    return Confirmation(fact_id, times.iso(now), Outcome.HOLDS, kind="person", evidence=evidence, by=by)


def known(store: Store, selection: str | Iterable[str]) -> tuple[FactIndex, list[str]]:
    """Return a loaded index and the full ids of these facts. ActionError where one is no fact."""
    with closing(FactIndex(store.layout)) as index:
        index.refresh()
    known_ids = checks.node_ids(store, selection)
    for fact_id in known_ids:
        if index.get(fact_id) is None:
            raise ActionError(f"{fact_id} is no fact: `fact list` names them", missing=True)
    return index, known_ids


def confirm(store: Store, request: ConfirmFacts, *, by: str, now: float) -> Done:
    """Append one confirmation for each to confirmations.jsonl, in one action."""
    must_be_person(store, by, "only a probe or a person confirms a fact")
    index, known_ids = known(store, request.fact_ids)
    for confirmed_id in known_ids:
        _must_be_open(index, confirmed_id)
    lines = [_confirmation_by(confirmed_id, by, now, one_line(request.note, 300)) for confirmed_id in known_ids]
    changes = [Change(KIND, line.fact_id, before=None, after={"at": line.at, "by": by}) for line in lines]
    return _recorded(store, lines, changes, f"{named(index, known_ids)} confirmed", "fact.confirm", by=by, now=now)


def _recorded(
    store: Store, lines: list[Confirmation], changes: list[Change], summary: str, verb: str, *, by: str, now: float
) -> Done:
    action = edits.new_action(verb, changes, summary=summary, by=by, now=now)
    with journal.carrying_out(store.layout, action):
        kept.record(store.layout, lines)
    return Done(summary=summary, target=lines[0].fact_id, action_id=action.id)


def _must_be_open(index: FactIndex, fact_id: str) -> None:
    state = index.get(fact_id)
    if state is None or state.fact.status != "open":
        became = f" by {state.fact.superseded_by}: confirm that one" if state and state.fact.superseded_by else ""
        raise ActionError(f"that is {state.fact.status if state else 'gone'}{became}")
    if state.drifted:
        raise ActionError(f"that is not so: {state.evidence}. Probe it again, or retire it and note what is so")


def named(index: FactIndex, known_ids: list[str]) -> str:
    state = index.get(known_ids[0])
    return f"“{one_line(state.fact.title, 60)}”" if state and len(known_ids) == 1 else f"{len(known_ids)} facts"


def retire(store: Store, request: RetireFacts, *, by: str, now: float) -> Done:
    """Archive the nodes of the facts in one write; a superseded one may be retired, too."""
    known_ids = known(store, request.fact_ids)[1]

    def decide(record: Raw) -> Fields:
        if edits.status_of(record) not in ("open", "superseded"):
            edits.must_be_open(record)
        return fields.archived(one_line(request.reason, 400) or "retired", by=by, now=now)

    return edits.edit_nodes(
        store, known_ids, decide, verb="fact.retire", template="{} retired", by=by, now=now, reason=request.reason
    )


def add_probe(store: Store, request: AddProbe, *, by: str, now: float) -> Done:
    """Run a probe that names no value, so that what it sees becomes the value; add it under the lock of the memory."""
    index, known_ids = known(store, request.fact_id)
    must_be_current(index, known_ids[0])
    new_probe = learned(store, [facts.parse_probe(request.probe, "p1")])[0]

    def decide(record: Raw) -> Fields:
        earlier = nodes.get_field(record, "metadata.fact.probes") or []
        earlier_probes = msgspec.convert(earlier, tuple[Probe, ...])
        if len(earlier_probes) >= facts.MOST_PROBES:
            raise ActionError(f"a fact has at most {facts.MOST_PROBES} probes")
        return {
            "metadata.fact.probes": [
                *earlier,
                msgspec.to_builtins(msgspec.structs.replace(new_probe, id=facts.next_id(earlier_probes))),
            ]
        }

    return edits.edit_nodes(
        store, known_ids, decide, verb="fact.probe", template="{} has another probe", by=by, now=now
    )


def learned(store: Store, probes: Sequence[Probe]) -> tuple[Probe, ...]:
    """Fill in the expected value of probes that name none, by running them. ActionError where one fails."""
    asks = [probe for probe in probes if probe.learns]
    readings = {job.probe.id: reading for job, reading in probing.run(store, asks)}
    for probe in asks:
        reading = readings.get(probe.id)
        if reading is None or reading.outcome is not Outcome.HOLDS:
            problem = reading.evidence if reading else "it was not reached in time"
            raise ActionError(f"`{facts.probe_words(probe)}` cannot say what is there now: {problem}")
    return tuple(
        msgspec.structs.replace(probe, expect=readings[probe.id].value) if probe.id in readings else probe
        for probe in probes
    )


def must_be_current(index: FactIndex, fact_id: str) -> None:
    state = index.get(fact_id)
    if state is None or not state.current:
        raise ActionError(f"that is {state.fact.status if state else 'gone'}: it is not probed any more")


def confirmation_now(store: Store, change: Change) -> Side | None:
    """For undo: the person's confirmation as it is now."""
    side = change.after or change.before or {}
    with closing(FactIndex(store.layout)) as index:
        index.refresh()
        return side if side.get("at") in index.evidence(change.key).people else None


def put_confirmation(store: Store, change: Change) -> None:
    """For undo: withdraw the confirmation, or give it again."""
    side = change.after or change.before or {}
    line = Confirmation(
        ids.check_file_name(change.key), str(side["at"]), Outcome.HOLDS, kind="person", by=str(side["by"])
    )
    kept.record(store.layout, [line if change.after else msgspec.structs.replace(line, outcome=Outcome.WITHDRAWN)])
