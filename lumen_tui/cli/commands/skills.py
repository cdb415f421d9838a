"""`skills list | check | show`: the skills of a folder as tasks there have them, and what is wrong with them."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from lumen_tui.actions import checks, refusal
from lumen_tui.actions.outcome import ActionError
from lumen_tui.cli.session import Session, document, say, table, talk
from lumen_tui.model import agent
from lumen_tui.model.capsule import tokens_of
from lumen_tui.model.skills import Skill, SkillProblem, Skills
from lumen_tui.model.text import one_line, safe

if TYPE_CHECKING:
    from lumen_tui.cli.parser import CommandGroup, Parser
    from lumen_tui.tools.base import Context

_NONE = "no skills here: a folder with a SKILL.md in .agents/skills, .claude/skills or skills is one"


def declare(commands: CommandGroup) -> None:
    """Add the commands of this module."""
    group = commands.group("skills", "How certain kinds of work are done, by folders with a SKILL.md.", alone="list")
    listing = group.add("list", run_list, "The skills that a task in a folder has.", "skills list --folder ~/project")
    check = group.add(
        "check",
        run_check,
        "What is wrong with skills and their files; exit code 1 where something is.",
        "skills check pdf",
    )
    check.add_argument("name", metavar="NAME", nargs="?", default="", help="this one alone")
    show = group.add("show", run_show, "A skill as read_skill returns it, with where it is from.", "skills show pdf")
    show.add_argument("name", metavar="NAME", help="its name")
    for command in (listing, check, show):
        _declare_place(command)
        command.json()
    for command in (listing, check):
        command.set_defaults(without_state=True)  # a folder is checked before anything works in it


def _declare_place(command: Parser) -> None:
    command.add_argument("--folder", default="", metavar="DIR", help="the folder of the task [here]")
    command.add_argument("--role", default="", metavar="ROLE", help="as this role has them [all there are]")


def run_list(session: Session, args: Namespace) -> int:
    _, found = _found(session, args)
    if args.json:
        document(found)
        return 0
    table([(skill.name, _tokens(skill), skill.place, one_line(skill.description, 90)) for skill in found.skills])
    if not found.skills:
        talk(_NONE)
    if refused := sum(problem.refused for problem in found.problems):
        talk(f"{refused} not used: `lumen-tui skills check` says why")
    return 0


def _tokens(skill: Skill) -> str:
    return f"{tokens_of(f'- {skill.name}: {skill.description}')} tokens"


def run_check(session: Session, args: Namespace) -> int:
    context, found = _found(session, args)
    problems = [problem for problem in found.problems if not args.name or _is_about(problem, args.name)]
    skills = [skill for skill in found.skills if args.name in ("", skill.name)]
    if args.name and not (problems or skills):
        _named(found, args.name)
    from lumen_tui.tools.skills import contents  # behind the check: with the sandbox in which scripts run
    from lumen_tui.tools.skills.tool import forbidden_of

    problems += [problem for skill in skills for problem in contents.check(skill, forbidden_of(context, skill))]
    if args.json:
        document({"checked": [skill.name for skill in skills], "problems": problems})
    else:
        for problem in problems:
            say(f"{one_line(problem.where, 600)}: {one_line(problem.what)}{' (not used)' if problem.refused else ''}")
        if not problems:
            say(f"{len(skills)} skill{'' if len(skills) == 1 else 's'}, nothing wrong" if skills else _NONE)
    return 1 if problems else 0


def _is_about(problem: SkillProblem, name: str) -> bool:
    return name in problem.path.split("/")


def run_show(session: Session, args: Namespace) -> int:
    context, found = _found(session, args)
    skill = _named(found, args.name)
    from lumen_tui.tools.skills.tool import SkillArguments, read_skill  # as above

    text = read_skill(context, SkillArguments(name=skill.name)).text
    if args.json:
        document({"skill": skill, "text": text})
        return 0
    facts = (
        ("name", skill.name),
        ("from", f"{skill.path} ({skill.place})"),
        ("for", skill.description),
        ("license", skill.license),
        ("needs", skill.compatibility),
        ("allowed-tools", f"{skill.allowed_tools} (no effect)" if skill.allowed_tools else ""),
        *((key, value) for key, value in skill.metadata),
    )
    table([(one_line(label, 30), one_line(value, 1024)) for label, value in facts if value])
    say(f"\n{safe(text)}")
    return 0


def _named(found: Skills, name: str) -> Skill:
    if skill := found.named(name):
        return skill
    if problem := next((one for one in found.problems if one.refused and _is_about(one, name)), None):
        raise ActionError(f"that skill is not used: {one_line(problem.where, 600)}: {one_line(problem.what)}")
    near = refusal.nearest(name, [skill.name for skill in found.skills])
    raise ActionError(f"there is no skill {one_line(name, 70)!r} here", candidates=near, missing=True)


def _found(session: Session, args: Namespace) -> tuple[Context, Skills]:
    """Return the surroundings of a task in the folder, and its skills."""
    import time

    from lumen_tui.model.roles import Role
    from lumen_tui.model.tasks import Spec
    from lumen_tui.store.settings.config import load_config
    from lumen_tui.store.settings.roles import load_role
    from lumen_tui.tools.base import Context, TaskRules
    from lumen_tui.tools.sandbox import secrets
    from lumen_tui.tools.skills import finding

    role = Role("anyone", purpose="")
    if args.role:
        role = load_role(session.layout, checks.role_name(session.layout, args.role))
    folder = os.path.realpath(os.path.expanduser(args.folder or os.curdir))
    if not os.path.isdir(folder):
        raise ActionError(f"--folder: {one_line(folder, 200)} is no folder", missing=True)
    spec = Spec(id="tsk-example", objective="", folder="" if role.name == agent.ROLE else folder)
    hidden = secrets.existing(os.environ.get("HOME", ""), load_config(session.layout)[0].sandbox.hidden)
    context = Context(
        role=role,
        spec=spec,
        store=session.store,
        folder=session.layout.task(spec.id),
        now=time.time,
        monotonic=time.monotonic,
        environ=os.environ,
        rules=TaskRules(shell=role.shell if args.role else "any", hidden=tuple(hidden)),
    )
    return context, finding.of_task(context)
