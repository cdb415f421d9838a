"""Requests of sessions: decisions, checkpoints, handoffs."""

from collections.abc import Sequence
from typing import Annotated

from lumen_tui.model.requests.base import Arg, Request
from lumen_tui.model.work import TIERS


class StartSession(Request, tag="session.start", frozen=True, kw_only=True):
    """Start a session on a work unit, put that in progress, and take what was handed over for it."""

    wu_id: Annotated[str, Arg("the work unit", "--wu")]
    agent_type: Annotated[str, Arg("such as claude-code", "-a")] = "unknown"
    context_tier: Annotated[str, Arg("", "-c", metavar="TIER", choices=TIERS)] = "full"
    folder: str = ""
    started_below: Sequence[str] = ()
    key: Annotated[str, Arg("the same key makes the same session, however often it is asked for")] = ""


class EndSession(Request, tag="session.end", frozen=True, kw_only=True):
    """End a session: the named one, else the one this agent started last."""

    session: Annotated[str, Arg("which one [the one you started last]", place="ID")] = ""


class NoteDecision(Request, tag="decision.note", frozen=True, kw_only=True):
    """Note a question with its answer, or as pending, which `ready` lists until answered. The same `key` notes one."""

    question: Annotated[str, Arg("what is to be decided", place="QUESTION")]
    answer: Annotated[str, Arg("without one it is pending")] = ""
    wu_id: Annotated[str, Arg("the work unit [of your open session]", "--wu")] = ""
    session: Annotated[str, Arg("the session [$LUMEN_SESSION, else the one you started last]", "-s", metavar="ID")] = ""
    priority: Annotated[str, Arg("P0 to P3", "-p")] = ""
    key: Annotated[str, Arg("the same key makes the same decision, however often it is asked for")] = ""


class AnswerDecision(Request, tag="decision.answer", frozen=True, kw_only=True):
    """Answer a pending decision. The same `key` again finds it answered and changes nothing."""

    node_id: Annotated[str, Arg("answer this pending decision", "--resolve", metavar="ID")]
    answer: Annotated[str, Arg("without one it is pending", place="ANSWER")]
    key: Annotated[str, Arg("the same key makes the same decision, however often it is asked for")] = ""


class SaveCheckpoint(Request, tag="checkpoint.save", frozen=True, kw_only=True):
    """Append a checkpoint; changes are looked for in `folder`, else in the session's."""

    note: Annotated[str, Arg("the same as an option", "-n")] = ""
    wu_id: Annotated[str, Arg("the work unit [of your open session]", "--wu")] = ""
    session: Annotated[str, Arg("the session [$LUMEN_SESSION, else the one you started last]", "-s", metavar="ID")] = ""
    progress: Annotated[str, Arg("such as 50%", "-p")] = ""
    next_steps: Annotated[str, Arg("what comes next")] = ""
    trigger: Annotated[str, Arg("what brought it about", "-t")] = "manual"
    folder: str = ""
    git_diff_stat: Annotated[str, Arg("instead of git's own answer", metavar="TEXT")] = ""
    key: Annotated[str, Arg("the same key makes the same checkpoint, however often it is asked for")] = ""


class GiveHandoff(Request, tag="handoff.give", frozen=True, kw_only=True):
    """Leave a note for the next agent on a work unit, or for `to` alone. The same `key` leaves one."""

    note: Annotated[str, Arg("the note itself", place="NOTE")]
    wu_id: Annotated[str, Arg("the work unit [of your open session]", "--wu")] = ""
    to: Annotated[str, Arg("the agent that alone may take it [whoever goes on]")] = ""
    session: Annotated[str, Arg("the session [$LUMEN_SESSION, else the one you started last]", "-s", metavar="ID")] = ""
    key: Annotated[str, Arg("the same key makes the same hand-off, however often it is asked for")] = ""


class TakeHandoff(Request, tag="handoff.take", frozen=True, kw_only=True):
    """Take hand-offs as a verb of its own, for an agent that continues without a new session."""

    wu_id: Annotated[str, Arg("the work unit [of your open session]", "--wu")] = ""
    session: Annotated[str, Arg("the session [$LUMEN_SESSION, else the one you started last]", "-s", metavar="ID")] = ""
