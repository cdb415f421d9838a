"""The parts of `evolve` that look at what was learnt, judge it, and go back."""

from __future__ import annotations

from argparse import Namespace

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.cli.session import Session, document, say, table, talk, told
from lumen_tui.model import evolution, ids
from lumen_tui.model.evolution import Observation


def judge(session: Session, args: Namespace) -> int | None:
    """Carry out what the options ask for; None where sessions are to be read."""
    done = _action(session, args)
    if done is not None:
        return told(done, as_json=args.json)
    if args.list:
        return _list(session, args)
    if args.show:
        return _show(session, args)
    if args.rejections:
        return _rejections(session, args)
    if args.versions:
        return _versions(session, args)
    return _diff(session, args) if args.diff else None


def _action(session: Session, args: Namespace) -> Done | None:
    if args.accept:
        return session.perform("evolution.accept", ids=args.accept)
    if args.reject:
        return session.perform("evolution.reject", ids=args.reject, reason=args.reason)
    if args.edit:
        return session.perform("evolution.edit", ids=args.edit, text=args.text)
    if args.restore is not None:
        return session.perform("evolution.restore", version=args.restore)
    return None


def _list(session: Session, args: Namespace) -> int:
    from lumen_tui.store.evolution import evolved

    found = [one for one in evolved.observations(session.layout).values() if args.list in ("all", one.status)]
    if args.json:
        document([evolved.facts(one) for one in found])
        return 0
    table([(one.id, one.status, one.kind, one.trust, f"{one.count}×", one.text) for one in found])
    if not found:
        talk("nothing was learnt yet" if args.list == "all" else f"nothing is {args.list}")
    return 0


def _one(session: Session, name: str) -> Observation:
    from lumen_tui.store.evolution import evolved

    found = [one for one in evolved.observations(session.layout).values() if one.id.startswith((name, f"evo-{name}"))]
    if not found:
        ids.check_name(name, "observation id")
    if len(found) != 1:
        text = f"several observations begin with {name!r}" if found else f"there is no observation {name!r}"
        raise ActionError(text, candidates=tuple(one.id for one in found[:5]), missing=not found)
    return evolved.clean(found[0])


def _show(session: Session, args: Namespace) -> int:
    one = _one(session, args.show)
    if args.json:
        document(one)
        return 0
    say(one.text)
    rows = [
        ("id", one.id), ("status", one.status), *evolution.why_rows(one), ("kind", one.kind),
        ("judged by", one.by or "rules"), ("file", f"evolved/{one.target}"), ("trust", one.trust),
        ("confidence", f"{one.confidence:.2f}"),
        ("seen", f"{one.count}×"), ("quote", f"“{one.quote}”"),
    ]  # fmt: skip
    rows += [("source", f"session {source.session}, line {source.line} {source.at}") for source in one.sources]
    if one.contradicts:
        rows.append(("contradicts", one.contradicts))
    table(rows)
    return 0


def _rejections(session: Session, args: Namespace) -> int:
    from lumen_tui.store.evolution import evolved

    found = evolved.rejections(session.layout)
    if args.json:
        document([{**evolved.rejection_facts(one), "by": one.whose} for one in found])
        return 0
    table([
        (one.at[:10], f"{one.session[:8]}:{one.line}", one.whose, one.id or "-", "; ".join(one.reasons), one.text)
        for one in found
    ])  # fmt: skip
    if not found:
        talk("nothing was turned away")
    elif any(one.id for one in found):
        talk("`evolve --accept ID` takes over what a model turned away")
    return 0


def _versions(session: Session, args: Namespace) -> int:
    from lumen_tui.store.evolution import versions

    found = versions.listed(session.layout)
    if args.json:
        document(found)
        return 0
    rows = [(str(one.version), one.at[:19].replace("T", " "), one.by, f"{one.metrics.entries} entries", one.why)
            for one in found]  # fmt: skip
    table(rows)
    if not found:
        talk("there is no version yet")
    return 0


def _diff(session: Session, args: Namespace) -> int:
    from lumen_tui.store.evolution import version_diff

    if len(args.diff) > 2:
        raise ActionError("--diff takes one or two versions")
    try:
        text = version_diff.between(session.layout, *args.diff)
    except LookupError as error:
        raise ActionError(
            f"there is no version {error.args[0]}: `evolve --versions` lists them", missing=True
        ) from error
    if args.json:
        document({"diff": text})
    elif text:
        say(text)
    else:
        talk("they are the same")
    return 0
