"""Changes of roles that the main agent proposes, and what their trials showed. It promotes none: a person does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from lumen_tui.model.agent import Act
from lumen_tui.model.requests.evolution import ProposeCandidate
from lumen_tui.queries.trial_page import TriedCandidate, read_trial_page
from lumen_tui.tools.agent.carrying import carry_out
from lumen_tui.tools.base import Context, Effect, Tool, ToolError, ToolResult

PROPOSAL = "proposal"  # as an act
_MOST = 5  # that one loop proposes
_SHOWN = 20  # candidates


class ProposeChangeArguments(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    role: Annotated[str, Meta(max_length=64, description="a shipped role, such as builder; empty for a weight")]
    why: Annotated[str, Meta(min_length=1, max_length=300, description="which tasks went wrong, and how it helps")]
    text: Annotated[
        str,
        Meta(
            max_length=6_000,
            description="a paragraph for the end of its prompt (600 at most; leave it out for a rule), or of a skill "
            "its description in the first line, then what it says",
        ),
    ] = ""
    rule: Annotated[
        Literal["", "required_before_exit", "requires_approval", "deny", "max_count", "constrain_child"],
        Meta(description="a rule on its tools, which only narrows what it may do"),
    ] = ""
    tool: Annotated[str, Meta(max_length=64, description="the tool that the rule is about")] = ""
    pattern: Annotated[str, Meta(max_length=300, description="of deny or requires_approval: commands or paths")] = ""
    count: Annotated[int, Meta(ge=0, le=10_000, description="of max_count: how many calls it allows")] = 0
    then: Annotated[
        tuple[str, ...], Meta(max_length=40, description="of constrain_child: the tools that may follow")
    ] = ()

    kind: Annotated[
        Literal["", "setting", "skill", "weight"],
        Meta(description="what else is changed: a limit of the role, a skill for it, a weight of the search"),
    ] = ""
    name: Annotated[
        str, Meta(max_length=64, description="of a setting (max_steps), skill or weight (importance, recency, …)")
    ] = ""
    value: Annotated[float | None, Meta(description="of a setting or weight")] = None


class ReadTrialsArguments(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    candidate: Annotated[str, Meta(max_length=64, description="only this one, with each case that differs")] = ""


def propose_change(context: Context, arguments: ProposeChangeArguments) -> ToolResult:
    """Propose it in the agent's name; the engine tries it, the gate and a person decide."""

    def ask(_: str, before: Sequence[Act]) -> ProposeCandidate:
        if sum(act.kind == PROPOSAL for act in before) >= _MOST:
            raise ToolError(f"{_MOST} changes are the most that one loop proposes: go on later")
        return ProposeCandidate(
            role=arguments.role,
            why=context.clean(arguments.why),
            rule=arguments.rule,
            tool=arguments.tool,
            pattern=arguments.pattern,
            count=arguments.count,
            then=arguments.then,
            text=context.clean(arguments.text),
            kind=arguments.kind,
            name=arguments.name,
            value=arguments.value,
            after_web=bool(context.memo.web),
        )

    text = f"{arguments.role}: {_words(arguments)}"
    return carry_out(context, PROPOSAL, arguments, text, ask)


def _words(arguments: ProposeChangeArguments) -> str:
    named = f"{arguments.kind} {arguments.name}" if arguments.kind else ""
    return named or arguments.text or f"{arguments.rule} {arguments.tool}"


def read_trials(context: Context, arguments: ReadTrialsArguments) -> ToolResult:
    """List the candidates, or say all of one."""
    page = read_trial_page(context.store.layout)
    wanted = [row for row in page.tried if not arguments.candidate or row.id.startswith(arguments.candidate)]
    if arguments.candidate and len(wanted) != 1:
        raise ToolError(f"{len(wanted)} candidates begin with {arguments.candidate}: leave it out, and choose one")
    lines = [page.fault] if page.fault else []
    lines += [line for row in wanted[:_SHOWN] for line in _lines(row, whole=bool(arguments.candidate))]
    return ToolResult("\n".join(lines) or "nothing was proposed yet", summary=f"{len(wanted)} candidates")


def _lines(row: TriedCandidate, *, whole: bool) -> list[str]:
    trial = row.trial
    lines = [f"{row.id} {row.state}: {row.title} ({row.candidate.why})"]
    if trial is None:
        return lines
    lines += [f"  {trial.words}", *(f"  against it: {reason}" for reason in trial.objections)]
    if whole:
        became = {True: "fixed", False: "broken"}
        lines += [f"  {became[pair.fixed]}: {pair.words or pair.case}" for pair in trial.differing if not pair.flaky]
    return lines


PROPOSE_CHANGE = Tool(
    "propose_change",
    "Propose one rule on the tools of a shipped role, one paragraph for its prompt, a lower limit, a skill for it, or "
    "a weight of the search, where recorded tasks show the same fault more than once. The engine tries it on recorded "
    "work against what is in force, while nothing waits; "
    "read_trials says what came of it. Whether it comes into force a person decides.",
    ProposeChangeArguments,
    propose_change,
    lambda a: f"propose a change of {a.role}: {_words(a)}",
    request=ProposeCandidate,
    effect=Effect.NONE,
)
READ_TRIALS = Tool(
    "read_trials",
    "List the changes of roles that were proposed, and what their trials showed. Use it before you propose a change "
    "and after; not to learn how a task went. You get how many recorded cases each fixed and broke, whether that may "
    "be chance, and what speaks against it.",
    ReadTrialsArguments,
    read_trials,
    lambda a: f"read trials {a.candidate}".strip(),
    effect=Effect.NONE,
)
