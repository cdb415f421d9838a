"""Requests of the conversation with the main agent."""

from typing import Annotated

from lumen_tui.model.requests.base import Arg, Request


class SendChat(Request, tag="chat.send", frozen=True, kw_only=True):
    """Say something to the main agent: an order, which it answers at once. Only the operator may."""

    text: Annotated[str, Arg("what you say", place="TEXT")]


class StopChat(Request, tag="chat.stop", frozen=True, kw_only=True):
    """Stop the turn that is under way; what was said so far stays. The agent goes on with everything else."""


class FreshChat(Request, tag="chat.fresh", frozen=True, kw_only=True):
    """Begin a new conversation: nothing of the one before is sent any more. It stays in the file."""
