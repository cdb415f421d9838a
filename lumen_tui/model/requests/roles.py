"""Requests about roles."""

from typing import Annotated

from lumen_tui.model.requests.base import Arg, Request


class HireRole(Request, tag="role.hire", frozen=True, kw_only=True):
    """Hire a new role. `text` is the whole role file. The same `key` hires once."""

    name: Annotated[str, Arg("its name", place="NAME")]
    text: str
    key: Annotated[str, Arg("the same key hires once, however often it is asked for")] = ""


class AdjustRole(Request, tag="role.adjust", frozen=True, kw_only=True):
    """Replace the file of a role in force; a shipped one gets a hired one over it."""

    name: Annotated[str, Arg("its name", place="NAME")]
    text: str


class FireRole(Request, tag="role.fire", frozen=True, kw_only=True):
    """Retire a role, hired or shipped: no new task gets it until it is hired again."""

    name: Annotated[str, Arg("its name", place="NAME")]
    reason: Annotated[str, Arg("why, for the record", "-r")]


class RehireRole(Request, tag="role.rehire", frozen=True, kw_only=True):
    """Restore a retired role as it was."""

    name: Annotated[str, Arg("its name", place="NAME")]
