"""Errors in settings, in plain words: those of the conversion itself speak in terms of the program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import get_args, get_origin, get_type_hints

import msgspec

MISSING = object()  # the value that did not fit is not available
_LISTED = 12  # settings that a message lists at most
_SHOWN = 40  # characters of a value that a message repeats
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text in quotes",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}


def place(error: msgspec.ValidationError) -> str:
    """Return the dotted name of what did not fit, as far as the error names it; empty for the whole."""
    match = re.search(r"at `\$\.?([^`]*)`$", str(error))
    field = re.search(r"field `([^`]*)`", str(error))
    path = re.sub(r"\[[^\]]*\]", "", match.group(1)) if match else ""
    return ".".join([part for part in (path, field.group(1) if field else "") if part])


def in_words(error: msgspec.ValidationError, whole: type, table: object = MISSING) -> str:
    """Return `name: what is wrong with it` for a `table` that could not be converted to the type `whole`."""
    path = place(error)
    message = of_value(error, whole, path.split("."), value_at(table, path.split(".")))
    return f"{path}: {message}" if path else message


def value_at(table: object, keys: Sequence[str]) -> object:
    """Return the value in a tree of tables under these keys; MISSING where there is none."""
    for key in keys:
        if not isinstance(table, dict) or key not in table:
            return MISSING
        table = table[key]
    return table


def of_value(error: msgspec.ValidationError, whole: type, keys: Sequence[str], value: object = MISSING) -> str:
    """Return what is wrong with the value under `keys` of the type `whole`."""
    text, _, at = str(error).partition(" - at `")
    if "[" in at and (item := _item(whole, keys)) is not None:
        return _of_item(text, at, item)
    if "unknown field" in text:
        return f"there is no such setting{instead(whole, keys)}"
    if "missing required field" in text:
        return "it is missing"
    hint = _hint(whole, keys)
    shown = _shown(value)
    if text.startswith("Invalid enum value"):
        return f"{shown or 'the value'} is unknown: one of {_choices(hint)}"
    if match := re.fullmatch(r"Expected `([\w]+)(?: \| null)?`, got `\w+`", text):
        kind = _choices(hint) if _is_choice(hint) else _KINDS.get(match.group(1), match.group(1))
        return f"{kind} is needed" + (f", not {shown}" if shown else "")
    if isinstance(value, str) and not value.strip():
        return "it is empty"
    if allowed := _range(hint):
        return f"{shown or 'the number'} is out of range: {allowed}"
    return text.replace("`", "")


def _item(whole: type, keys: Sequence[str]) -> object:
    """Return the declared item type of the list that these keys lead to or through; None where there is none."""
    lists = (_hint(whole, keys[:depth]) for depth in range(1, len(keys) + 1))
    return next((get_args(hint)[0] for hint in lists if get_origin(hint) in (tuple, list)), None)


def _of_item(text: str, at: str, item: object) -> str:
    """Return what is wrong with something in a list; `at` says where in it."""
    if field := re.search(r"field `([^`]*)`", text):
        if "unknown field" not in text:
            return f"{field.group(1)!r} is missing in it"
        return f"there is no {field.group(1)!r} in it{near(item, (field.group(1),))}"
    inner = at.rstrip("`").rpartition("].")[2].split(".") if "]." in at else []
    if text.startswith("Invalid enum value"):
        known = _choices(_hint(item, inner))
        return f"{text.removeprefix('Invalid enum value ')} in it is unknown: one of {known}"
    match = re.fullmatch(r"Expected `([\w]+)(?: \| null)?`, got `\w+`", text)
    message = f"{_KINDS.get(match.group(1), match.group(1))} is needed" if match else text.replace("`", "")
    return f"{'.'.join(inner)}: {message}" if inner else f"{message} in it"


def _choices(hint: object) -> str:
    """Return the allowed values; the empty one, which means leaving it out, is not listed."""
    return ", ".join(str(choice) for choice in get_args(hint) if choice != "")


def _is_choice(hint: object) -> bool:
    return bool(get_args(hint)) and all(isinstance(choice, str) for choice in get_args(hint))


def near(whole: object, keys: Sequence[str]) -> str:
    """Return a suggestion for the first unknown one of these names; everything in a misspelled section is unknown."""
    depth = next((depth for depth in range(1, len(keys)) if _hint(whole, keys[:depth]) is None), len(keys))
    known = _fields(_hint(whole, keys[: depth - 1]))
    meant = close(keys[depth - 1], known)
    return f"; did you mean {meant}?" if meant else ""


def instead(whole: object, keys: Sequence[str]) -> str:
    """Return what to write for an unknown setting: the likely one, or the list of those that exist."""
    known = fields(whole, keys[:-1])
    return near(whole, keys) or (f"; one of {', '.join(known)}" if 0 < len(known) <= _LISTED else "")


def close(name: str, known: Sequence[str], likeness: float = 0.6) -> str:
    """Return the known name that is closest to another, ignoring case; empty where none is close."""
    folded = {each.casefold(): each for each in known}
    import difflib  # costs more than the rest of a sound file

    near = difflib.get_close_matches(name.casefold(), folded, 1, likeness)
    return folded[near[0]] if near else ""


def is_known(whole: object, keys: Sequence[str]) -> bool:
    """Return whether the type `whole` has such a setting."""
    return _hint(whole, keys) is not None


def fields(whole: object, keys: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the settings directly under these keys."""
    return _fields(_hint(whole, keys))


def _fields(kind: object) -> tuple[str, ...]:
    return tuple(getattr(kind, "__struct_fields__", ()))


def _hint(whole: object, keys: Sequence[str]) -> object:
    """Return the declared type under these keys, with its bounds; for a table the type of its values."""
    for key in keys:
        if key in _fields(whole):
            whole = get_type_hints(whole, include_extras=True)[key]
        elif get_origin(whole) is dict:
            whole = get_args(whole)[1]
        else:
            return None
    return whole


def _range(hint: object) -> str:
    bounds = next((part for part in getattr(hint, "__metadata__", ()) if isinstance(part, msgspec.Meta)), None)
    if bounds is None:
        return ""
    if bounds.ge is not None and bounds.le is not None:
        return f"{_number(bounds.ge)} to {_number(bounds.le)}"
    return " and ".join(_sides(bounds))


def _sides(bounds: msgspec.Meta) -> Iterator[str]:
    for word, number in (
        ("above", bounds.gt),
        ("from", bounds.ge),
        ("below", bounds.lt),
        ("up to", bounds.le),
    ):
        if number is not None:
            yield f"{word} {_number(number)}"


def _number(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:g}"


def _shown(value: object) -> str:
    """Return the value as TOML writes it, cut short; empty where it is not available."""
    if value is MISSING:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list | tuple):
        return "a table" if isinstance(value, dict) else "a list"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
