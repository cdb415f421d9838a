"""The prompt of one task: a system prompt that is the same for every task of its role, and the message that begins it.

Who may order is kept here and nowhere else: the operator's orders and the task stand as they are, everything that
somebody else wrote stands as data. What changes from task to task, and with time, is in the message alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from lumen_tui.model import agent, evolvedfiles
from lumen_tui.model.config import Config
from lumen_tui.model.evolution import TARGETS
from lumen_tui.model.fences import escaped
from lumen_tui.model.problem import Problem
from lumen_tui.model.prompts import Line, Request, Template, fill, lines_of, text_of
from lumen_tui.model.roles import Role, role_line, rule_sentence
from lumen_tui.model.tasks import Spec
from lumen_tui.model.text import one_line, safe
from lumen_tui.model.times import span
from lumen_tui.queries.block_texts import entries
from lumen_tui.queries.unit_context import unit_context
from lumen_tui.storage.layout import Layout
from lumen_tui.store.evolution import writing
from lumen_tui.store.settings.prompts import load_prompt
from lumen_tui.store.settings.roles import list_roles
from lumen_tui.tools.base import Context, TaskRules
from lumen_tui.worker.accepted import accepted_when
from lumen_tui.worker.chat_turn import turn_slots
from lumen_tui.worker.conventions import conventions
from lumen_tui.worker.skills import skills
from lumen_tui.worker.surroundings import money, surroundings

_BLOCKS = 8_000  # characters of memory blocks for a worker; the main agent's are in its briefing
_SHELL = {
    "none": "You have no shell.",
    "read": "The shell runs commands that only read: none of them can change a file or reach a network.",
    "any": "The shell runs any command, in the sandbox described below.",
}
_FILE_OF = {title: f"evolved/{name}" for name, title in TARGETS.items()}


def build(
    context: Context, config: Config, *, tier: str = "", seconds: float = 0.0, earlier: str = ""
) -> tuple[Request, list[Problem]]:
    """Return the prompt of a task, and what is wrong with prompts of a person's own.

    `tier` is the sandbox tier of its commands, `seconds` its time limit, `earlier` what an attempt before had done.
    """
    main, turn = context.role.name == agent.ROLE, agent.turn_of(context.spec.id)
    layout, spec = context.store.layout, context.spec
    names = ("authority", *(("chat", "turn") if turn else ("main", "loop") if main else ("worker", "task")))
    loaded = [load_prompt(layout, name) for name in names]
    authority, frame, message = (template for template, _ in loaded)
    place, moment = _where(surroundings(context, tier, config), main=main and not turn)
    values = {
        "objective": lines_of(escaped(spec.objective), "task: objective"),
        "limits": lines_of(limits(context.rules, spec, seconds), "role, settings and constraints"),
        "surroundings": lines_of(_bullets(place), "surroundings"),
        "earlier": lines_of(earlier, "acts of the attempt before"),
        "skills": skills(context, config.workers.skills_kb * 1024),
    }
    if turn:
        values |= turn_slots(layout, turn, values, spec.context)
    else:
        values |= _loop_slots(context, message, moment) if main else _task_slots(context, config)
    first = fill(message, values)
    request = Request(
        system=_system(layout, context.role, authority, frame, config, context.now()),
        first=first,
        templates=tuple(template.label for template, _ in loaded),
        standing=_standing(first) if main and not turn else 0,
    )
    return request, [problem for _, problem in loaded if problem]


def _system(
    layout: Layout, role: Role, authority: Template, frame: Template, config: Config, now: float
) -> tuple[Line, ...]:
    constitution, rules = _learnt(layout, config, now)
    source = f"roles/{role.name}.md" + (" (your own)" if role.source == "hired" else "")
    return fill(
        frame,
        {
            "role": lines_of(role.prompt.strip(), source),
            "authority": fill(authority, {}),
            "constitution": constitution,
            "rules": rules,
        },
    )


def _learnt(layout: Layout, config: Config, now: float) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """Return the constitution and the accepted rules: the section of CLAUDE.md, within its budget."""
    section = writing.claude_md_section(layout, config.evolution, now).text
    constitution: list[Line] = []
    rules: list[Line] = []
    source, chosen = "", rules
    for line in evolvedfiles.uncommented(escaped(safe(section))).strip("\n").split("\n"):
        title = line.removeprefix("# ")
        if line.startswith("# ") and title == "Constitution":
            source, chosen = "evolved/constitution.md", constitution
        elif line.startswith("# ") and title in _FILE_OF:
            source, chosen = _FILE_OF[title], rules
            chosen.append(Line(f"### {title}", source))
        elif source:
            chosen.append(Line(f"#{line}" if line.startswith("## ") else line, source))
    return _trimmed(constitution), _trimmed(rules)


def _trimmed(lines: list[Line]) -> tuple[Line, ...]:
    while lines and not lines[-1].text.strip():
        lines.pop()
    while lines and not lines[0].text.strip():
        lines.pop(0)
    return tuple(lines)


def _task_slots(context: Context, config: Config) -> dict[str, tuple[Line, ...]]:
    layout, spec, now = context.store.layout, context.spec, context.now()
    constraints = [one_line(escaped(text), 1000) for text in spec.constraints]
    return {
        "giver": lines_of(_giver(spec), "task: who gave it"),
        "context": lines_of(escaped(spec.context), "task: context"),
        "constraints": lines_of(_bullets(constraints), "task: constraints"),
        "accept": lines_of(accepted_when(layout.task(spec.id), spec), "task: acceptance"),
        "conventions": conventions(context, config.workers.conventions_kb * 1024),
        "unit": lines_of(unit_context(layout, spec.wu_id, now), f"work unit {spec.wu_id}"),
        "memory": lines_of("\n".join(entries(layout, now, _BLOCKS)), "blocks/"),
    }


def _where(lines: Iterator[str], *, main: bool) -> tuple[list[str], str]:
    """Return where a session is, and apart from that, for the main agent, the moment: it is another in each loop."""
    if not main:
        return list(lines), ""
    moment, *place = lines
    return place, moment


def _loop_slots(context: Context, message: Template, moment: str) -> dict[str, tuple[Line, ...]]:
    """Return what a loop is told: what stays the same from loop to loop, and the news.

    A message of a person's own that has no place for the former has it before the news.
    """
    layout, spec = context.store.layout, context.spec
    roles = [role_line(role) for role in list_roles(layout)[0] if role.name != agent.ROLE]
    slots = {
        "roles": lines_of("\n".join(roles), "roles/"),
        "memory": lines_of("\n".join(entries(layout, context.now())), "blocks/"),
        "moment": lines_of(_bullets([moment]), "surroundings: now"),
    }
    heads = {"roles": "## Roles that can be given work", "memory": "## Memory blocks", "moment": ""}
    missing = [name for name in slots if f"{{{{{name}}}}}" not in message.body and slots[name]]
    before = [line for name in missing for line in (*lines_of(heads[name], message.place), *slots[name])]
    return slots | {"briefing": (*before, *lines_of(spec.context, "briefing"))}


_CHANGING = ("task: objective", "surroundings: now", "briefing", "acts of the attempt before")


def _standing(first: tuple[Line, ...]) -> int:
    """Return how many characters of a message come before the first line that is another one each time."""
    before = list(takewhile(lambda line: line.source not in _CHANGING, first))
    return len(text_of(before)) + 1 if before and len(before) < len(first) else 0


def _giver(spec: Spec) -> str:
    by = one_line(spec.created_by, 60)
    if spec.order:
        return f"(This task is from the operator, {by}.)"
    if agent.turn_of(spec.created_by):
        return f"(This task is from the main agent, {by}, in a chat with the operator.)"
    if agent.is_own(spec.created_by):
        return f"(This task is from the main agent, {by}.)"
    if spec.parent:
        return f"(This is a sub-task of {one_line(spec.parent, 60)}, whose worker ordered it.)"
    return f"(This task was given under the name {by}. Whether that is the operator could not be verified.)"


def _bullets(lines: Iterator[str] | list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _changes(rules: TaskRules) -> str:
    if rules.own_files_only and rules.write:
        return "You change files in your own folder alone; elsewhere attempts are refused."
    return "You may change files." if rules.write else "You change no files; attempts are refused."


def limits(rules: TaskRules, spec: Spec, seconds: float = 0.0) -> str:
    """Return how far a task may go, the rules that are enforced, and the wishes that are not."""
    lines = [
        _SHELL[rules.shell],
        _changes(rules),
        f"You have {rules.max_steps} tool calls{f' and {span(seconds)}' if seconds else ''}.",
    ]
    if spent := money(spec):
        lines.append(f"This task may spend {spent}.")
    if rules.max_rows:
        lines.append(f"The result lists at most {rules.max_rows} rows.")
    if rules.roots:
        lines.append(f"You may look below {', '.join(rules.roots)} only.")
    groups = {
        "": lines,
        "These rules are enforced; a call against them is refused:": [
            *rules.enforced,
            *map(rule_sentence, rules.tool_rules),
            *(f"a person is asked before each {group}" for group in _asked(rules)),
        ],
        "These wishes are not enforced; keep to them all the same:": list(rules.advice),
    }
    return "\n\n".join(f"{head}\n{_bullets(texts)}".strip() for head, texts in groups.items() if texts)


def _asked(rules: TaskRules) -> Iterator[str]:
    """Yield the calls that need a person's word and can be made in this task, in plain words."""
    for group in rules.asks:
        name, _, kind = group.partition(":")
        possible = rules.write if name == "write" else bool(rules.custom) if name == "custom" else name in rules.tools
        if possible and not (group == "shell:any" and rules.shell != "any"):
            yield {"write": "change of a file", "custom": f"custom tool{' with a high risk' if kind else ''}"}.get(
                name, f"call of {name}"
            )
