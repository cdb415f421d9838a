"""Work units of ours as LumenFlow has them: a document, the events that lead to its state, a stamp once it is done."""

from __future__ import annotations

from lumen_tui.model import lumenflow, times
from lumen_tui.model.foreign import MARK, Raw
from lumen_tui.model.jsontext import table_of, text_of
from lumen_tui.model.kinds import PRIORITIES
from lumen_tui.model.lumenunits import AFTER, CHANGED_AT, SOURCE, STATUS, TABLE, Unit, accepted, kinds, usable

_TYPES_THERE = {"feature": "feature", "bug": "bug", "idea": "feature"}
_SHORT = 50  # characters that a description there has at least
_FILLER = "(It has no longer description; its work unit was written in lumen-tui.)"
_NO_LANE = "Unassigned"


def document_of(unit: Unit) -> Raw:
    """Return the YAML document of a work unit of ours, as LumenFlow's schema takes it."""
    front = unit.front
    imported = {
        key: value for key, value in table_of(front, TABLE).items() if key not in (SOURCE, CHANGED_AT, "events")
    }
    status = text_of(front, "status") or "ready"
    theirs: Raw = {
        **imported,
        "id": front["id"],
        "title": text_of(front, "title").strip() or str(front["id"]),
        "lane": text_of(front, "lane") or _NO_LANE,
        "type": text_of(imported, "type") or _TYPES_THERE.get(text_of(front, "type"), "chore"),
        "status": text_of(imported, "status") if STATUS.get(text_of(imported, "status")) == status else status,
        "priority": front.get("priority") if front.get("priority") in PRIORITIES else "P2",
        "created": lumenflow.date(front.get("created_at"))[:10],
        "description": _long_enough(unit.body),
        "acceptance": imported.get("acceptance") or accepted(front.get("acceptance")) or ["(none was written)"],
        "notes": "",
    }
    theirs |= {"code_paths": theirs.get("code_paths") or [], "tests": theirs.get("tests") or {}}
    dated = {"claimed_at": "claimed_at", "completed_at": "done_at", "blocked_at": "blocked_at"}
    theirs |= {key: lumenflow.date(front[ours]) for key, ours in dated.items() if text_of(front, ours)}
    if text_of(front, "blocked_reason"):
        theirs["blocked_reason"] = front["blocked_reason"]
    if status == "done":
        theirs["locked"] = True
    there = {
        key: theirs[key]
        for key in ("title", "lane", "type", "status", "priority", "description", "acceptance", "notes")
    }
    listed = table_of(front, TABLE).get("events")
    if isinstance(listed, list):
        front = {**front, TABLE: {key: value for key, value in table_of(front, TABLE).items() if key != "events"}}
    count = len(listed) if isinstance(listed, list) else 0
    return {**theirs, MARK: {"front": front, "body": unit.body, "there": there, "events": count}}


def _long_enough(body: str) -> str:
    text = body.strip()
    return text if len(text) >= _SHORT else f"{text}\n\n{_FILLER}".strip()


def events_of(unit: Unit) -> list[Raw]:
    """Return the events of a unit: those that came from LumenFlow, and what happened here, marked as ours."""
    front = unit.front
    listed = table_of(front, TABLE).get("events")
    imported = (
        [event for event in listed if isinstance(event, dict) and usable(event)] if isinstance(listed, list) else []
    )
    status = text_of(front, "status") or "ready"
    reached = next((AFTER[kind] for kind in kinds(imported) if kind in AFTER), "")
    if reached == status:
        return imported
    named = {"lane": text_of(front, "lane") or _NO_LANE, "title": text_of(front, "title").strip() or front["id"]}
    dates = (text_of(front, key) for key in ("created_at", "claimed_at", "blocked_at", "done_at"))
    created = lumenflow.date(next((date for date in dates if date), ""))
    mine: list[Raw] = [] if imported else [_event("create", front, created, **named)]
    if status == "in_progress" or (status == "done" and reached != "in_progress"):
        claimed = text_of(front, "claimed_at") or text_of(front, "done_at") or created
        mine.append(_event("claim", front, lumenflow.date(claimed), **named))
    if status == "blocked":
        reason = text_of(front, "blocked_reason") or "blocked"
        mine.append(_event("block", front, lumenflow.date(front.get("blocked_at") or created), reason=reason))
    if status == "done":
        mine.append(_event("complete", front, lumenflow.date(front.get("done_at") or created)))
    if status == "ready" and reached:
        mine.append(_event("release", front, str(imported[-1]["timestamp"]), reason="released in lumen-tui"))
    last = text_of(imported[-1], "timestamp") if imported else ""
    return imported + [
        {**event, "timestamp": max(text_of(event, "timestamp"), last, key=times.epoch)} for event in mine
    ]


def _event(kind: str, front: Raw, at: str, **more: object) -> Raw:
    return {"type": kind, "wuId": front["id"], "timestamp": at, **more, MARK: True}


def stamp_of(unit: Unit) -> str:
    """Return the stamp of a unit that is done, as LumenFlow writes it."""
    done = lumenflow.date(unit.front.get("done_at") or unit.front.get("created_at"))[:10]
    return f"WU {unit.front['id']} — {text_of(unit.front, 'title').strip() or unit.front['id']}\nCompleted: {done}\n"
