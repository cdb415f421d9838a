"""The tool gate of a replay: the real one, to which each recorded call is put with what is on record of it.

The gate decides by its rules as they are now and by what was called before, and that is the record: each call counts
with the result that it had. So a decision differs only where a rule, a setting or the program does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import msgspec
from msgspec import Struct

from lumen_tui.model.approvals import COMMANDS, AllowRule, call_hash
from lumen_tui.model.config import Config
from lumen_tui.model.replay import CallDecision, DecisionKind, ResultKind
from lumen_tui.model.roles import REQUEST_HOST
from lumen_tui.store import approvals
from lumen_tui.tools.agent import request_host
from lumen_tui.tools.base import (
    ApprovalReply,
    ApprovalRequest,
    Context,
    TaskMemo,
    TaskRules,
    ToolError,
    ToolResult,
)
from lumen_tui.tools.policy.verdict import (
    TOOLS_RULE,
    CallHistory,
    PolicyCall,
    PolicyVerdict,
    RequestedCall,
    allow_words,
)
from lumen_tui.tools.sandbox import admission
from lumen_tui.tools.sandbox.sandboxed_command import ASK
from lumen_tui.tools.sandbox.tiers import REFUSED
from lumen_tui.tools.toolbox import Handling, StepLimit, Toolbox
from lumen_tui.worker.asking import settled
from lumen_tui.worker.replay.recorded import RecordedCall, RecordedMarks, SessionCall

_NO_SANDBOX = "no sandbox holds commands here"
_FITTING = "its arguments, or what it asks for"


class Rerun(Struct, frozen=True):
    """What making a call again gave. `strict`: it must be as recorded."""

    kind: ResultKind
    text: str = ""
    strict: bool = False


Runner = Callable[[RequestedCall, RecordedCall], Rerun]
Preview = Callable[[RequestedCall], str]


class _Undecided(BaseException):
    """A person would be asked now, and was not then; or what was decided is not on record. Nothing swallows it."""


class JudgedCall(Struct, frozen=True):
    """What became of one recorded call. `gone`: an approval that is not on record any more."""

    decision: CallDecision
    rerun: Rerun
    gone: str = ""


class _Course(Struct):
    """What happens to one call on its way through the gate."""

    recorded: RecordedCall
    verdict: PolicyVerdict = PolicyVerdict("deny")
    judged: bool = False
    saved: str = ""  # the rule that a person saved, by which the call is allowed
    reply: ApprovalReply | None = None
    asks: str = ""  # the rule by which a person is asked
    gone: str = ""
    previews: int = 0
    rerun: Rerun = Rerun(ResultKind.NONE)


class RecordedHandling(Handling):
    """Handles calls by their record.

    `config` stands in for the operator's settings, and `inside`, the shadow, for the folder of the task.
    """

    def __init__(self, runner: Runner, preview: Preview, config: Config | None, inside: Context | None) -> None:
        self._given, self._inside = config, inside
        self._runner, self._shown = runner, preview
        self.course = _Course(RecordedCall(0, RecordedMarks("", 0), SessionCall("", {})))

    def has_skills(self, context: Context) -> bool:
        return super().has_skills(self._inside or context)

    def begin(self, recorded: RecordedCall) -> None:
        """Take this call as the next one."""
        self.course = _Course(recorded)

    def settings(self, context: Context) -> Config:
        return self._given or super().settings(context)

    def judge(self, rules: TaskRules, call: PolicyCall, past: CallHistory) -> PolicyVerdict:
        verdict = super().judge(rules, call, past)
        self.course.verdict, self.course.judged, self.course.asks = verdict, True, verdict.rule
        return verdict

    def allowing(self, rules: TaskRules, call: PolicyCall, *, unsandboxed: bool) -> AllowRule | None:
        rule = super().allowing(rules, call, unsandboxed=unsandboxed)
        self.course.saved = allow_words(rule) if rule else ""
        return rule

    def preview(self, context: Context, requested: RequestedCall) -> str:
        """Return what stands for the change: that it could not be made, or changed meanwhile, was recorded so."""
        course = self.course
        marks = course.recorded.marks
        course.previews += 1
        if not marks.refused:
            return ""
        if not marks.asked:
            return self._shown(requested)
        return str(course.previews) if marks.answered else ""

    def answer(self, context: Context, request: ApprovalRequest) -> ApprovalReply:
        """Give the recorded decision on the call that the gate asks about."""
        course = self.course
        recorded = course.recorded
        if not recorded.marks.asked or recorded.marks.answered is None:
            raise _Undecided
        layout, name = context.store.layout, recorded.marks.asked[-1]
        asked, answer = approvals.read(layout, name), approvals.decision(layout, name)
        if asked is None or answer is None:
            course.gone = name
            raise _Undecided
        call = call_hash(request.tool, request.arguments)
        masked = call_hash(asked.tool, asked.arguments)  # as the record of the call is
        known = asked.hash if call in (asked.hash, masked) or not recorded.whole else call
        course.reply = settled(answer, known)
        return course.reply

    def run(self, context: Context, requested: RequestedCall) -> ToolResult:
        """Make the call in the shadow, and give what is on record of it."""
        course = self.course
        self._ask_without_sandbox(context, requested)
        if requested.tool.name == REQUEST_HOST and course.recorded.asked:
            course.asks = request_host.REASON
            request_host.ask_person(context)
        course.rerun = self._runner(requested, course.recorded)
        call = course.recorded.call
        return ToolResult(call.text or "", call.ok, summary=call.summary)

    def _ask_without_sandbox(self, context: Context, requested: RequestedCall) -> None:
        """Ask where the tool itself would: before a command to which no sandbox is had."""
        course = self.course
        custom = requested.tool.name in context.rules.custom and course.recorded.asked
        if requested.tool.name not in COMMANDS and not custom:
            return
        choice = admission.choose_tier(context)
        if choice.tier == REFUSED:
            raise ToolError(choice.reason)
        if choice.tier == ASK:
            course.asks = course.asks or _NO_SANDBOX
            admission.ask_person(context, requested.call.target, requested.call.folder, choice.reason)


class ReplayGate:
    """The tool gate of one attempt. Raises BadRules as the toolbox does."""

    def __init__(self, context: Context, before: CallHistory, how: RecordedHandling) -> None:
        self._how = how
        self.out_of_steps = ""  # what a model is told whose steps are used up; the attempt ends there
        memo = TaskMemo(outputs=sys.maxsize)  # no result is kept beside the task once more
        asking = msgspec.structs.replace(context, ask=lambda request: how.answer(context, request), memo=memo)
        self.toolbox = Toolbox(context.role, context.spec, asking, before, how)

    def judge_again(self, recorded: RecordedCall) -> JudgedCall:
        """Put one recorded call to the gate."""
        self._how.begin(recorded)
        course = self._how.course
        name = recorded.call.name
        try:
            result = self.toolbox.call(name, recorded.call.arguments)
            decision = self._decision(course, result, name)
        except StepLimit as error:
            self.out_of_steps = str(error)
            decision = CallDecision(DecisionKind.LIMITED, str(error), course.verdict.rule)
        except _Undecided:
            kind = DecisionKind.OPEN if course.gone or recorded.marks.asked else DecisionKind.ASKED
            decision = CallDecision(kind, "a person has to allow it", course.asks)
        return JudgedCall(decision, course.rerun, course.gone)

    def _decision(self, course: _Course, result: ToolResult, name: str) -> CallDecision:
        if course.reply is not None and not course.reply.allowed:
            return CallDecision(DecisionKind.REFUSED, result.text, course.asks)
        if result.refused and course.judged and course.verdict.decision == "deny":
            kind = DecisionKind.LIMITED if course.verdict.limited else DecisionKind.DENIED
            return CallDecision(kind, result.text, course.verdict.rule)
        if result.refused:
            rule = _FITTING if name in self.toolbox.rules.tools else TOOLS_RULE
            return CallDecision(DecisionKind.DENIED, result.text, rule)
        if course.reply is not None:
            return CallDecision(DecisionKind.ASKED, rule=course.asks)
        return CallDecision(DecisionKind.ALLOWED, rule=course.saved or course.verdict.rule)
