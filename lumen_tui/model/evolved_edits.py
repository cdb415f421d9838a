"""Edits by which the agent changes how it works, and versions of them: what each kind adds, and what shows its effect.

Every kind goes the same way: one bounded edit, kept in a version under its hash, tried on what can show its effect, let
in by the gate, and taken out by the pointer. Of what nothing here can show the effect a person decides.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import msgspec
from msgspec import Struct, structs

from lumen_tui.model import ids
from lumen_tui.model.digests import sha256
from lumen_tui.model.patterns import lazy_re
from lumen_tui.model.roles import ALL_TOOLS, Limits, Role, ToolRule, rule_fault, rule_sentence
from lumen_tui.model.search_weights import WEIGHT_BOUNDS, SearchWeights
from lumen_tui.model.skills import name_fault
from lumen_tui.model.text import one_line

MOST_CONTEXT = 2_000  # bytes that all edits of one role add to its prompt
_MOST_TEXT, _MOST_FILE = 600, 6_000  # bytes of one edit: of a sentence, and of what is read on demand
_ROOT = ""  # the version before the first promotion
_HASH = lazy_re(r"[0-9a-f]{64}")
SETTINGS = ("max_steps", "max_output_bytes", "timeout_seconds", "cpu_seconds", "memory_mb", "processes")
_SCRIPT = lazy_re(r"(?P<skill>[a-z0-9-]{1,64})/scripts/[A-Za-z0-9_-]{1,60}(?:\.[a-z]{1,6})?")


class EditKind(StrEnum):
    """What an edit changes."""

    RULE = "rule"  # on a role's tools
    PROMPT = "prompt"  # a paragraph at the end of a role's prompt
    SETTING = "setting"  # a limit of a role's tasks, lower than it is
    SKILL = "skill"  # evolved/skills/<name>/SKILL.md, for a role
    SCRIPT = "script"  # a file beside it, which commands of a task run in the sandbox
    WEIGHT = "weight"  # of the search
    ORDER = "order"  # of the sections of the briefing
    PLAYBOOK = "playbook"  # a word more by which an offline playbook is asked for
    MERGE = "merge"  # discoveries that say the same
    BLOCK = "block"  # the text of a memory block
    SUMMARY = "summary"  # the text of a summary of a work unit


class Measure(StrEnum):
    """What shows the effect of an edit."""

    REPLAY = "replay"  # recorded calls are put to the tool gate
    MODEL = "model"  # the tasks of the cases are done again
    RECALL = "recall"  # recorded searches are made again
    PERSON = "person"  # nothing here: a person takes it over, or leaves it


class EvolvedEdit(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One bounded edit. What it does to a role narrows what that may do, whatever its kind; none widens it."""

    role: str  # empty where it is not about one
    kind: EditKind
    rule: ToolRule | None = None
    text: str = ""  # a paragraph; of a skill its description in the first line, then what it says
    name: str = ""  # of the setting, skill, script, weight, playbook, block, summary; of a merge what stays
    value: float | None = None  # of a setting or weight
    base: str = ""  # of a block or summary the hash of the text that was read

    def __post_init__(self) -> None:
        """Have one spelling of a number, as its hash is that of what is written."""
        if self.value is not None:
            structs.force_setattr(self, "value", float(self.value))

    @property
    def sentence(self) -> str:
        """What it does, in words."""
        return self.rules.words(self)

    @property
    def context(self) -> str:
        """What it adds to its role's prompt: of a skill what lists it, as the rest is read on demand."""
        return self.rules.context(self)

    @property
    def digest(self) -> str:
        """A hash of what it does."""
        return sha256(msgspec.json.encode(self, order="deterministic"))

    @property
    def rules(self) -> KindRules:
        """What holds of its kind."""
        return KINDS[self.kind]

    @property
    def measure(self) -> Measure:
        """What shows its effect: of a setting the gate counts steps, and nothing else."""
        return Measure.MODEL if self.kind is EditKind.SETTING and self.name != "max_steps" else self.rules.measure

    @property
    def new_text(self) -> str:
        """What words it brings that somebody reads as if they were the agent's."""
        return " ".join(part for part in (self.sentence, self.text) if part)


def _value(edit: EvolvedEdit) -> str:
    return f"{edit.value:g}" if edit.value is not None else "?"


def _first_line(edit: EvolvedEdit) -> str:
    return f"{edit.name}: {edit.text.partition(chr(10))[0]}"


def _one_text(edit: EvolvedEdit) -> str:
    return "" if edit.text.strip() and not edit.name else "it is a text and nothing else"


def _rule_fault(edit: EvolvedEdit) -> str:
    return rule_fault(edit.rule, ALL_TOOLS)[1] if edit.rule is not None else "it names no rule"


def _setting_fault(edit: EvolvedEdit) -> str:
    if edit.name not in SETTINGS:
        return f"a setting is one of {', '.join(SETTINGS)}"
    try:
        msgspec.convert({edit.name: edit.value}, Limits, strict=False)
    except msgspec.ValidationError as error:
        return f"{edit.name} cannot be {_value(edit)}: {error}"
    return ""


def _weight_fault(edit: EvolvedEdit) -> str:
    if edit.name not in WEIGHT_BOUNDS:
        return f"a weight of the search is one of {', '.join(WEIGHT_BOUNDS)}"
    low, high = WEIGHT_BOUNDS[edit.name]
    return "" if edit.value is not None and low <= edit.value <= high else f"{edit.name} is {low:g} to {high:g}"


def _skill_fault(edit: EvolvedEdit) -> str:
    if reason := name_fault(edit.name):
        return reason
    first, _, body = edit.text.partition("\n")
    return "" if first.strip() and body.strip() else "a skill is its description in one line, then what it says"


def _script_fault(edit: EvolvedEdit) -> str:
    return "" if _SCRIPT.fullmatch(edit.name) and edit.text.strip() else "a script is SKILL/scripts/FILE, with its text"


def _named_text(edit: EvolvedEdit) -> str:
    try:
        ids.check_name(edit.name, "name")
    except ids.BadId as error:
        return str(error)
    return "" if edit.text.strip() else "it says nothing"


def _text_fault(edit: EvolvedEdit) -> str:
    return _named_text(edit) or ("" if _HASH.fullmatch(edit.base) else "it does not say for which text it was written")


def _rewritten(edit: EvolvedEdit) -> str:
    return f"{edit.kind} {edit.name} is rewritten, {len(edit.text):,} characters"


class KindRules(Struct, frozen=True):
    """What holds of a kind of edits."""

    measure: Measure
    words: Callable[[EvolvedEdit], str]
    fault: Callable[[EvolvedEdit], str]
    of_role: bool = False  # it is about one role
    by_version: bool = True  # the version in force has it; else a person's word carries it out, once
    most: int = _MOST_TEXT  # bytes
    context: Callable[[EvolvedEdit], str] = lambda edit: ""


KINDS: dict[EditKind, KindRules] = {
    EditKind.RULE: KindRules(
        Measure.REPLAY,
        lambda edit: rule_sentence(edit.rule) if edit.rule is not None else "",
        _rule_fault,
        of_role=True,
        context=lambda edit: rule_sentence(edit.rule) if edit.rule is not None else "",
    ),
    EditKind.PROMPT: KindRules(
        Measure.MODEL, lambda edit: edit.text, _one_text, of_role=True, context=lambda edit: edit.text
    ),
    EditKind.SETTING: KindRules(
        Measure.REPLAY, lambda edit: f"{edit.name} is {_value(edit)}", _setting_fault, of_role=True
    ),
    EditKind.SKILL: KindRules(
        Measure.MODEL,
        lambda edit: f"skill {_first_line(edit)}",
        _skill_fault,
        of_role=True,
        most=_MOST_FILE,
        context=_first_line,
    ),
    EditKind.SCRIPT: KindRules(
        Measure.PERSON, lambda edit: f"script {_first_line(edit)}", _script_fault, of_role=True, most=_MOST_FILE
    ),
    EditKind.WEIGHT: KindRules(
        Measure.RECALL, lambda edit: f"the search weighs {edit.name} with {_value(edit)}", _weight_fault
    ),
    EditKind.ORDER: KindRules(Measure.PERSON, lambda edit: f"the briefing begins with {edit.text}", _one_text),
    EditKind.PLAYBOOK: KindRules(
        Measure.PERSON, lambda edit: f"playbook {edit.name} is also asked for as {edit.text}", _named_text
    ),
    EditKind.MERGE: KindRules(
        Measure.PERSON, lambda edit: f"{edit.text} says what {edit.name} says", _named_text, by_version=False
    ),
    EditKind.BLOCK: KindRules(Measure.PERSON, _rewritten, _text_fault, by_version=False, most=24_000),
    EditKind.SUMMARY: KindRules(Measure.PERSON, _rewritten, _text_fault, by_version=False, most=16_384),
}
_PARTS = {  # what an edit has besides its role
    EditKind.RULE: {"rule"},
    EditKind.PROMPT: {"text"},
    EditKind.ORDER: {"text"},
    EditKind.SETTING: {"name", "value"},
    EditKind.WEIGHT: {"name", "value"},
    EditKind.BLOCK: {"name", "text", "base"},
    EditKind.SUMMARY: {"name", "text", "base"},
}


def edit_fault(edit: EvolvedEdit) -> str:
    """Return why an edit is none, or empty."""
    rules = edit.rules
    parts = ("rule", "text", "name", "value", "base")
    given = {part for part in parts if getattr(edit, part) not in (None, "")}
    wanted = _PARTS.get(edit.kind, {"name", "text"})
    if given != wanted:
        return f"an edit is one thing: a {edit.kind} has {' and '.join(sorted(wanted))}, and no more"
    try:
        if rules.of_role:
            ids.check_name(edit.role, "role")
        elif edit.role:
            return f"a {edit.kind} is about no role"
    except ids.BadId as error:
        return str(error)
    if len(f"{edit.sentence if edit.rule else edit.text}".encode("utf-8", "replace")) > rules.most:
        return f"an edit has {rules.most:,} bytes at most: make it smaller"
    return rules.fault(edit)


class EvolvedVersion(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """evals/versions/<hash>.json: the edits that are in force together. Its name is its hash; it never changes."""

    parent: str = _ROOT
    edits: tuple[EvolvedEdit, ...] = ()

    @property
    def data(self) -> bytes:
        """Its file, to the byte."""
        return msgspec.json.encode(self, order="deterministic") + b"\n"

    @property
    def name(self) -> str:
        """Its hash; empty for the root, which has no file."""
        return sha256(self.data) if self.edits or self.parent else _ROOT

    def with_edit(self, edit: EvolvedEdit) -> EvolvedVersion:
        """Return the challenger that has one edit more."""
        return EvolvedVersion(self.name, (*self.edits, edit))

    def applied(self, role: Role) -> Role:
        """Return a role with the edits for it. A role that a person hired or adjusted is that person's, as it is."""
        edits = [edit for edit in self.edits if edit.role == role.name] if role.source == "shipped" else []
        if not edits:
            return role
        rules = tuple(edit.rule for edit in edits if edit.rule is not None)
        texts = [edit.text for edit in edits if edit.kind is EditKind.PROMPT]
        limits = role.limits
        for edit in edits:
            if edit.kind is EditKind.SETTING and edit.value is not None:
                limits = narrowed(limits, edit.name, edit.value)
        prompt = "\n\n".join([role.prompt.rstrip(), *texts]) if texts else role.prompt
        return structs.replace(role, rules=(*role.rules, *rules), prompt=prompt, limits=limits)

    def weights(self) -> SearchWeights:
        """Return those of the search."""
        changed = {edit.name: edit.value for edit in self.edits if edit.kind is EditKind.WEIGHT}
        return msgspec.convert({**structs.asdict(SearchWeights()), **changed}, SearchWeights)

    def of_kind(self, kind: EditKind, role: str = "") -> dict[str, str]:
        """Return the texts of the edits of a kind for a role by their names, the last of a name."""
        return {edit.name: edit.text for edit in self.edits if edit.kind is kind and edit.role == role}

    def context(self, role: str) -> int:
        """Return how many bytes its edits add to the prompt of a role."""
        return sum(len(edit.context.encode("utf-8", "replace")) for edit in self.edits if edit.role == role)


def narrowed(limits: Limits, name: str, value: float) -> Limits:
    """Return limits of which one is not higher than a value. Where 0 leaves it to the settings, that is the highest."""
    now = getattr(limits, name)
    lower = value if not now else min(now, value)
    return structs.replace(limits, **{name: type(now)(lower)})


def is_version(name: str) -> bool:
    """Return whether a text may name a version; the empty one names the root."""
    return name == _ROOT or _HASH.fullmatch(name) is not None


def title(edit: EvolvedEdit) -> str:
    """Return an edit in a line, for lists."""
    return one_line(f"{edit.role}: {edit.sentence}" if edit.role else edit.sentence, 160)
