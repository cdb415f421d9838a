"""Claims: what a worker says whose task has checks, and what became of those.

claim.json is there from the worker's end until the checks were run, by a process that holds the task's lock like a
worker. Where they failed it becomes claim.<attempt>.json, beside run.<attempt>.json, and the task waits for a worker
again. After a kill in between the next process goes on from what it finds.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from lumen_tui.model.acceptance import Acceptance, Verdict
from lumen_tui.model.tasks import Exit, Run, Usage
from lumen_tui.model.times import iso
from lumen_tui.storage import directories, files
from lumen_tui.store.tasks.task_records import CLAIM_FILE, read_json


def leave(folder: Path, claim: Exit) -> None:
    """Write that a worker calls its task done."""
    files.replace(folder / CLAIM_FILE, msgspec.json.encode(claim))


def unchecked(folder: Path, attempt: int) -> Exit | None:
    """Return what the present attempt claims; None where it claims nothing. An older claim is put aside."""
    claim = read_json(folder / CLAIM_FILE, Exit)
    if claim is None or claim.attempt == attempt:
        return claim
    _put_aside(folder, claim)
    return None


def send_back(folder: Path, claim: Exit) -> None:
    """Let the task wait for a worker again; `claim` says what its checks found."""
    leave(folder, claim)
    run = read_json(folder / "run.json", Run)
    if run is not None and run.attempt == claim.attempt:
        directories.move(folder / "run.json", folder / f"run.{claim.attempt}.json")
    _put_aside(folder, claim)


def _put_aside(folder: Path, claim: Exit) -> None:
    directories.move(folder / CLAIM_FILE, folder / f"claim.{claim.attempt}.json")


def refuted(folder: Path) -> list[Exit]:
    """Return the earlier claims that were checked and sent back, oldest first."""
    named = sorted(folder.glob("claim.*.json"), key=lambda path: (len(path.name), path.name))
    claims = (read_json(path, Exit) for path in named)
    return [claim for claim in claims if claim is not None and claim.acceptance is not None]


def with_earlier(folder: Path, ended: Exit) -> Exit:
    """Return how a task ended, with what the attempts that were sent back took and used."""
    earlier = [claim for claim in refuted(folder) if claim.attempt != ended.attempt]
    used = [ended.usage, *(claim.usage for claim in earlier)]
    usage = Usage(
        input_tokens=sum(part.input_tokens for part in used),
        output_tokens=sum(part.output_tokens for part in used),
        usd=sum(part.usd for part in used),
    )
    seconds = round(ended.seconds + sum(claim.seconds for claim in earlier), 3)
    return msgspec.structs.replace(ended, usage=usage, seconds=seconds)


def give_up(folder: Path, reason: str, now: float) -> None:
    """End a task whose checks cannot be run: what its worker claims stays a claim."""
    claim = read_json(folder / CLAIM_FILE, Exit)
    if claim is not None:
        settle(folder, claim, Acceptance(Verdict.CLAIMED, iso(now), why=reason), now)


def settle(folder: Path, claim: Exit, acceptance: Acceptance | None, now: float) -> Exit:
    """Write the exit of a task that was checked, or whose checks could not be run."""
    disproved = acceptance is not None and acceptance.verdict is Verdict.DISPROVED
    ended = msgspec.structs.replace(
        claim,
        status="failed" if disproved else claim.status,
        reason=f"disproved: {acceptance.reason}" if disproved and acceptance else claim.reason,
        acceptance=acceptance,
        finished_at=iso(now),
    )
    ended = with_earlier(folder, ended)
    files.replace(folder / "exit.json", msgspec.json.encode(ended))
    directories.remove(folder / CLAIM_FILE)
    return ended
