"""Roles: hire, adjust, fire, rehire. Every change is recorded in personnel.jsonl and can be undone."""

from __future__ import annotations

import contextlib

from lumen_tui.actions import acting, checks, edits, refusal
from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.model import agent, fields, ids, renamed, times
from lumen_tui.model.records import Change
from lumen_tui.model.requests.roles import AdjustRole, FireRole, HireRole, RehireRole
from lumen_tui.model.roles import PersonnelEntry, Role, fetches_nothing
from lumen_tui.model.text import one_line
from lumen_tui.storage import files, frontmatter, locks
from lumen_tui.storage.frontmatter import BadFile
from lumen_tui.storage.store import Store
from lumen_tui.store.audit import journal
from lumen_tui.store.settings import roles, toolservers
from lumen_tui.store.settings.config import load_config
from lumen_tui.store.settings.roles import RoleTexts

_MAX_ROLE = 20_000  # bytes; both sides of a change must fit into one journal line


def hire(store: Store, request: HireRole, *, by: str, now: float) -> Done:
    """Write the file under the lock of roles; both sides are whole texts."""
    if request.key and any(
        entry.role == request.name and entry.key == request.key for entry in store.personnel.records(PersonnelEntry)
    ):
        return Done(summary=f"{request.name} {fields.UNDER_KEY}", target=request.name)
    summary = f"{request.name} hired{_kept(_checked(store, request.name, request.text))}"
    with locks.waiting_lock(store.layout.lock("roles")):
        if request.name in _in_force(store):
            raise ActionError(f"role {request.name!r} is active already: adjust it, or hire under another name")
        after: RoleTexts = {"hired": request.text, "retired": None}
        own = fields.label(request.key, "key")
        return _change(store, request.name, after, verb="role.hire", summary=summary, by=by, now=now, key=own)


def adjust(store: Store, request: AdjustRole, *, by: str, now: float) -> Done:
    """Write the hired file under the lock of roles; both sides are whole texts."""
    summary = f"{request.name} adjusted{_kept(_checked(store, request.name, request.text))}"
    with locks.waiting_lock(store.layout.lock("roles")):
        _must_be_in_force(store, request.name)
        before = roles.role_texts(store.layout, request.name)
        if request.text == (before["hired"] or roles.shipped_text(request.name)):
            raise ActionError(f"nothing about {request.name!r} was changed", missing=True)
        after: RoleTexts = {**before, "hired": request.text}
        return _change(store, request.name, after, verb="role.adjust", summary=summary, by=by, now=now)


def fire(store: Store, request: FireRole, *, by: str, now: float) -> Done:
    """Move the text, with who, when and why in it, to roles/retired under the lock of roles."""
    clean_reason = checks.reason(request.reason)
    with locks.waiting_lock(store.layout.lock("roles")):
        _must_be_in_force(store, request.name)
        text = roles.role_texts(store.layout, request.name)["hired"] or roles.shipped_text(request.name) or ""
        marked = roles.mark_retired(text, f"{times.iso(now)} by {one_line(by, 100)}: {one_line(clean_reason)}")
        after: RoleTexts = {"hired": None, "retired": marked}
        return _change(
            store,
            request.name,
            after,
            verb="role.fire",
            summary=f"{request.name} fired",
            by=by,
            now=now,
            reason=clean_reason,
        )


def rehire(store: Store, request: RehireRole, *, by: str, now: float) -> Done:
    """Move the text back under the lock of roles, without an expiry that is over."""
    with locks.waiting_lock(store.layout.lock("roles")):
        retired = roles.role_texts(store.layout, ids.check_name(request.name, "role"))["retired"]
        if retired is None or request.name in _in_force(store):
            known = roles.list_roles(store.layout)[1]
            near = refusal.nearest(request.name, known)
            raise ActionError(f"there is no retired role {request.name!r}", candidates=near, missing=True)
        text = _without_past_expiry(request.name, roles.unmark_retired(retired), now)
        shipped = text == roles.shipped_text(request.name)
        after: RoleTexts = {"hired": None if shipped else text, "retired": None}
        return _change(
            store, request.name, after, verb="role.rehire", summary=f"{request.name} hired again", by=by, now=now
        )


def rename_tools(store: Store, now: float) -> list[str]:
    """Give tools in the files of roles their present names, each file as one action of the engine.

    Return the roles that were changed. A file that this does not do justice to stays, and `doctor` names it.
    """
    names = sorted({path.stem for path in store.layout.roles.rglob("*.md")})
    with locks.waiting_lock(store.layout.lock("roles")):
        return [f"role {name}" for name in names if _rename_tools(store, name, now)]


def _rename_tools(store: Store, name: str, now: float) -> bool:
    """Change one role, hired or retired; return whether there was anything to change."""
    with contextlib.suppress(ids.BadId, ActionError):
        before = roles.role_texts(store.layout, name)
        after: RoleTexts = {kind: text and _with_present_tools(text) for kind, text in before.items()}
        if after != before:
            summary = f"{name}: tools as they are called now"
            _change(store, name, after, verb="role.adjust", summary=summary, by=acting.ENGINE, now=now)
            return True
    return False


def _with_present_tools(text: str) -> str:
    """Return the text of a role with tools as they are called now; as it is where that would change more."""
    head, fence, prompt = text.partition("\n+++\n")
    if not fence or "\N{REPLACEMENT CHARACTER}" in text:
        return text
    written = renamed.in_toml(head) + fence + prompt
    try:
        means = frontmatter.split(written)[0] == renamed.in_table(frontmatter.split(text)[0])
    except BadFile:
        return text
    return written if means else text


def _without_past_expiry(name: str, text: str, now: float) -> str:
    """Return the role file without an expiry that has passed: the role would be fired again at once."""
    try:
        until = times.epoch(roles.parse_role(name, text, "hired").until)
    except BadFile:
        return text
    if not 0 < until <= now:
        return text
    head, mark, prompt = text.partition("\n+++\n")
    lines = [line for line in head.split("\n") if not line.startswith("until")]
    return "\n".join(lines) + mark + prompt


def _kept(role: Role) -> str:
    """Return as the end of a sentence which tool it keeps against its file."""
    if role.name == agent.ROLE or "write_result" in role.tools:
        return ""
    return "; it keeps write_result, by which results get out"


def _checked(store: Store, name: str, text: str) -> Role:
    ids.check_name(name, "role")
    if len(text.encode("utf-8", "replace")) > _MAX_ROLE:
        raise ActionError(f"the role is longer than {_MAX_ROLE:,} bytes: shorten its prompt")
    try:
        role = roles.parse_hire(name, text)
    except BadFile as error:
        raise ActionError(f"role {name}, line {error.line}: {error}") from error
    if not role.prompt.strip():
        raise ActionError(f"role {name} has no prompt: write below the closing +++ what the role is to do")
    config = load_config(store.layout)[0]
    if fetches_nothing(role, config.web):
        raise ActionError(f"role {name}: web_fetch needs hosts: give --hosts, or name some under [web] in lumen.toml")
    if problem := next(toolservers.role_problems(role, config), None):
        raise ActionError(f"role {name}: {problem.what}")
    return role


def _in_force(store: Store) -> list[str]:
    """Return the names in force, and those whose file must be repaired first."""
    return [
        *[role.name for role in roles.list_roles(store.layout)[0]],
        *[path.stem for path in store.layout.roles.glob("*.md")],
    ]


def _must_be_in_force(store: Store, name: str) -> None:
    if name not in _in_force(store):
        checks.role_name(store.layout, name)


def _change(
    store: Store,
    name: str,
    after: RoleTexts,
    *,
    verb: str,
    summary: str,
    by: str,
    now: float,
    reason: str = "",
    key: str = "",
) -> Done:
    """Write the files and record the change; if it cannot be recorded, everything is restored."""
    before = roles.role_texts(store.layout, name)
    change = Change(kind="role", key=name, before=dict(before), after=dict(after))
    action = edits.new_action(verb, [change], summary=summary, by=by, now=now, reason=reason)
    try:
        with journal.carrying_out(store.layout, action):
            _put(store, name, before, after)
            with contextlib.suppress(files.StoreError):  # the role is in force, and the action says so
                note(store, name, verb.partition(".")[2], summary, reason=reason, by=by, now=now, key=key)
    except files.LineTooLong as error:
        raise ActionError(f"the file of role {name} is too long to be kept for undo: shorten it first") from error
    return Done(summary=summary, target=name, action_id=action.id)


def _put(store: Store, name: str, before: RoleTexts, after: RoleTexts) -> None:
    """Write both files, or restore them."""
    try:
        roles.put_role_texts(store.layout, name, after)
    except files.StoreError:
        roles.put_role_texts(store.layout, name, before)
        raise


def note(
    store: Store, name: str, verb: str, summary: str, *, by: str, now: float, reason: str = "", key: str = ""
) -> None:
    """Append a line to personnel.jsonl."""
    entry = PersonnelEntry(at=times.iso(now), verb=verb, role=name, by=by, reason=reason, summary=summary, key=key)
    store.personnel.append(entry)
