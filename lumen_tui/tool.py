"""What a Python tool of the operator's own imports: `from lumen_tui.tool import tool`.

A function in a file of the state folder's `custom-tools/`, typed and with a docstring, becomes a tool. The file is read
and never run to learn what it declares, so what `tool` is given must be plain values.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def tool(
    function: "Callable[..., Any] | None" = None,
    *,
    risk: str = "high",
    risk_text: str = "",
    writes: bool = False,
    network: bool = False,
    timeout_seconds: float = 120.0,
) -> "Any":
    """Mark a function as a tool, as `@tool` or `@tool(risk="low")`; it stays what it is.

    `risk`: `high` asks a person each time, unless [approvals] says otherwise; `risk_text` is shown to them.
    `writes`, `network`: what it needs beyond reading; only roles that may do so can have it.
    """
    return function if function is not None else lambda marked: marked
