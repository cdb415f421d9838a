"""look-up: what a setting is in a TOML, JSON, INI or KEY=VALUE file."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Iterator

from msgspec import Struct

from lumen_tui.model.patterns import lazy_re
from lumen_tui.providers.offline.grammar import Asked, Fields, PlaybookKind, PlaybookPlan
from lumen_tui.providers.offline.objective_parser import tokens
from lumen_tui.providers.offline.report import Play, PlaybookFailed, PlaybookReport, code, line, many, table, text_of
from lumen_tui.providers.offline.vocabulary import words

_SUFFIXES = (".toml", ".json", ".ini", ".cfg", ".conf", ".env", ".properties", ".service")
_SECRET = lazy_re(r"passw|secret|token|api_?key|private|credential", re.IGNORECASE)
_SHOWN = 100
_WHAT_IT_IS = words("version size count amount number name")
_FUNCTION = words(
    "a an the of in is are to for on what which whats how many much does do i we it's and with by me my your from "
    "at that this there any all show tell get give find list value values set key keys"
)


class _Node(Struct, frozen=True):
    """One place in the data: its keys on the way down, and what is there."""

    keys: tuple[str, ...]
    value: object


def _fields(ask: Asked) -> Fields | None:
    if len(ask.paths) != 1 or not ask.paths[0].endswith(_SUFFIXES):
        return None
    listing = ask.has("keys", "settings", "sections", "options", "variables")
    soft = [token for token in tokens(ask.text) if token not in _FUNCTION]
    return {
        "view": "keys" if listing else "several" if ask.has("and") else "",
        "patterns": (*ask.quoted, *soft),
        "number": len(ask.quoted) + 1,
    }


def look_up(plan: PlaybookPlan) -> Play:
    """Report the one value that the words of the objective name. PlaybookFailed where they name none, or several."""
    data = _decoded(plan.path, (yield from text_of(plan.path)))
    nodes = list(_nodes(data))
    quoted, plain = plan.patterns[: plan.number - 1], plan.patterns[plan.number - 1 :]
    hard = [term.lower().removesuffix("'s") for term in (*plan.terms, *quoted)]
    soft = [word for word in plain if word not in hard and any(word in _parts(node.keys[-1]) for node in nodes)]
    where = f"in {line(plan.path)}"
    if plan.view == "several":
        matches = [_one(nodes, [term], where) for term in dict.fromkeys((*hard, *soft))]
        return PlaybookReport(f"Settings {where}", "\n".join(f"- {_shown(node)}" for node in matches))
    if not hard and not soft:
        if plan.view != "keys" and not isinstance(data, list):
            raise PlaybookFailed(f"which setting {where}? It has {_names(nodes)}")
        return PlaybookReport(f"Settings {where}", _shown(_Node((), data)))
    node = _one(nodes, [*hard, *soft], where)
    return PlaybookReport(f"{line('.'.join(node.keys))} {where}", _shown(node))


def _one(nodes: list[_Node], terms: list[str], where: str) -> _Node:
    """Return the only node that the terms name; words for what it is, such as version, need not be in its name."""
    fitting = _fitting(nodes, terms)
    core = [term for term in terms if term not in _WHAT_IT_IS]
    if not fitting and core and len(core) < len(terms):
        fitting = _fitting(nodes, core)
    phrase = line(" ".join(terms))
    if not fitting:
        raise PlaybookFailed(f"nothing {where} is called {phrase}: it has {_names(nodes)}")
    if len(fitting) > 1:
        raise PlaybookFailed(f"{phrase} may be any of {_names(fitting)} {where}: which one?")
    return fitting[0]


def _names(nodes: list[_Node]) -> str:
    shown = ", ".join(line(".".join(node.keys)) for node in nodes[:12])
    return f"{shown} and {len(nodes) - 12} more" if len(nodes) > 12 else shown


def _decoded(path: str, text: str) -> object:
    try:
        if path.endswith(".toml"):
            return tomllib.loads(text)
        if path.endswith(".json"):
            return json.loads(text)
        if path.endswith((".ini", ".cfg", ".service")):
            parser = configparser.RawConfigParser(strict=False)
            parser.read_string(text)
            return {section: dict(parser[section]) for section in parser.sections()}
    except (ValueError, RecursionError, configparser.Error) as error:
        raise PlaybookFailed(f"{line(path)} cannot be read: {line(str(error)[:200])}") from error
    return _pairs(path, text)


def _pairs(path: str, text: str) -> dict[str, str]:
    """Return the KEY=VALUE lines; PlaybookFailed where a line is none."""
    pairs: dict[str, str] = {}
    for row in text.splitlines():
        if not row.strip() or row.lstrip().startswith(("#", ";")):
            continue
        match = re.fullmatch(r"\s*(?:export\s+)?([\w.-]+)\s*=\s*(.*?)\s*", row)
        if match is None:
            raise PlaybookFailed(f"{line(path)} is not made of KEY=VALUE lines: search it for a text instead")
        pairs[match[1]] = match[2].strip("\"'")
    return pairs


def _nodes(value: object, keys: tuple[str, ...] = ()) -> Iterator[_Node]:
    if keys:
        yield _Node(keys, value)
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _nodes(inner, (*keys, str(key)))


def _parts(key: str) -> set[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower()
    return {key.lower(), *re.split(r"[._\-\s/]+", spaced)}


def _fitting(nodes: list[_Node], terms: list[str]) -> list[_Node]:
    """Return the nodes that the terms name: by their whole dotted name, else each term by one of the keys."""
    dotted = [term for term in terms if "." in term]
    if dotted:
        return [node for node in nodes if ".".join(node.keys).lower() == dotted[0]] if len(terms) == 1 else []
    fitting = [node for node in nodes if _named(node, terms)]
    exact = [node for node in fitting if node.keys[-1].lower() in terms]
    fitting = exact or fitting
    at_top = [node for node in fitting if len(node.keys) == 1]
    return at_top if len(at_top) == 1 and exact else fitting


def _named(node: _Node, terms: list[str]) -> bool:
    """Whether each term is a key on the way or a part of one, and the last key has one of them."""
    every = set().union(*(_parts(key) for key in node.keys))
    last = _parts(node.keys[-1])
    return all(_in(term, every) for term in terms) and any(_in(term, last) for term in terms)


def _in(term: str, parts: set[str]) -> bool:
    return term in parts or term.rstrip("s") in parts or f"{term}s" in parts


def _shown(node: _Node) -> str:
    if any(_SECRET.search(key) for key in node.keys):
        raise PlaybookFailed(f"{line('.'.join(node.keys))} looks like a secret, and is not shown")
    name = code(".".join(node.keys)) if node.keys else "The file"
    if isinstance(node.value, dict):
        rows = [[code(key), _value(key, value)] for key, value in list(node.value.items())[:_SHOWN]]
        return f"{name} holds {many(len(node.value), 'setting')}.\n\n{table(('key', 'value'), rows)}"
    if isinstance(node.value, list):
        rows = [[_value("", value)] for value in node.value[:_SHOWN]]
        return f"{name} holds {many(len(node.value), 'item')}.\n\n{table(('value',), rows)}"
    return f"{name} is {_value('', node.value)}."


def _value(key: str, value: object) -> str:
    if _SECRET.search(key):
        return "(looks like a secret: not shown)"
    if isinstance(value, str):
        return code(value)
    text = json.dumps(value, ensure_ascii=False, default=str)
    return code(text if len(text) < 200 else f"{text[:200]}…")


LOOK_UP = PlaybookKind(
    "look-up",
    "what a setting is in a TOML, JSON, INI or KEY=VALUE file",
    (),
    words(
        "value values setting settings set key keys configured config configuration option options define defined "
        "enabled turned sections variables variable field property entry size count amount version called listed "
        "contain contains or default turned use uses used number many flag declared equal equals under item items "
        "read say says in content specified"
    ),
    look_up,
    _fields,
    words("terms quoted"),
    which="which file",
)
