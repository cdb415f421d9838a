"""Requests of operators to each other: claims of what one is at, and the hand-over note."""

from collections.abc import Sequence
from typing import Annotated

from lumen_tui.model.requests.base import Arg, Request

_WHAT = Arg("the id of what needs you, a discovery or a task", place="NAME")


class ClaimItems(Request, tag="operator.claim", frozen=True, kw_only=True):
    """Tell others that you are at these; it warns them, locks nothing, and ends by itself."""

    targets: Annotated[str | Sequence[str], _WHAT]
    seconds: Annotated[
        float, Arg("for how long [`claim_minutes` under [room]]", "--for", metavar="AGE", duration=True)
    ] = 0.0


class ReleaseItems(Request, tag="operator.release", frozen=True, kw_only=True):
    """End claims, your own or another's."""

    targets: Annotated[str | Sequence[str], _WHAT]


class LeaveNote(Request, tag="operator.note", frozen=True, kw_only=True):
    """Leave a note, which each other operator is shown once, when they open the room next."""

    text: Annotated[str, Arg("what the next one should know", place="TEXT")]
