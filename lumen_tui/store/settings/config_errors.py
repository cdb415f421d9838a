"""What a file's settings may be, in plain words: the errors of the conversion say it in terms of the program."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

MISSING = object()  # where the value that did not fit is not at hand
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
    """The dotted name of what did not fit, as far as the error tells it; the empty string for the whole."""
    found = re.search(r"at `\$\.?([^`]*)`$", str(error))
    field = re.search(r"field `([^`]*)`", str(error))
    path = re.sub(r"\[[^\]]*\]", "", found.group(1)) if found else ""
    return ".".join([part for part in (path, field.group(1) if field else "") if part])


def in_words(error: msgspec.ValidationError, whole: type, table: Any = MISSING) -> str:
    """`name: what is wrong with it`, for `table` that was to become a `whole`."""
    path = place(error)
    said = of_value(error, whole, path.split("."), value_at(table, path.split(".")))
    return f"{path}: {said}" if path else said


def value_at(table: Any, keys: Sequence[str]) -> Any:
    """What stands in a tree of tables under these keys, MISSING where there is nothing."""
    for key in keys:
        if not isinstance(table, dict) or key not in table:
            return MISSING
        table = table[key]
    return table


def of_value(error: msgspec.ValidationError, whole: type, keys: Sequence[str], value: Any = MISSING) -> str:
    """What is wrong with the value under `keys` of a `whole`."""
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
    if found := re.fullmatch(r"Expected `([\w]+)(?: \| null)?`, got `\w+`", text):
        kind = _choices(hint) if _is_choice(hint) else _KINDS.get(found.group(1), found.group(1))
        return f"{kind} is needed" + (f", not {shown}" if shown else "")
    if isinstance(value, str) and not value.strip():
        return "it is empty"
    if allowed := _range(hint):
        return f"{shown or 'the number'} is out of range: {allowed}"
    return text.replace("`", "")


def _item(whole: type, keys: Sequence[str]) -> Any:
    """The declared type of what stands in the list that these keys lead to or through; None where there is none."""
    lists = (_hint(whole, keys[:depth]) for depth in range(1, len(keys) + 1))
    return next((get_args(hint)[0] for hint in lists if get_origin(hint) in (tuple, list)), None)


def _of_item(text: str, at: str, item: Any) -> str:
    """What is wrong with something in a list; `at` says where in it."""
    if field := re.search(r"field `([^`]*)`", text):
        if "unknown field" not in text:
            return f"{field.group(1)!r} is missing in it"
        return f"there is no {field.group(1)!r} in it{near(item, (field.group(1),))}"
    inner = at.rstrip("`").rpartition("].")[2].split(".") if "]." in at else []
    if text.startswith("Invalid enum value"):
        known = _choices(_hint(item, inner))
        return f"{text.removeprefix('Invalid enum value ')} in it is unknown: one of {known}"
    found = re.fullmatch(r"Expected `([\w]+)(?: \| null)?`, got `\w+`", text)
    said = f"{_KINDS.get(found.group(1), found.group(1))} is needed" if found else text.replace("`", "")
    return f"{'.'.join(inner)}: {said}" if inner else f"{said} in it"


def _choices(hint: Any) -> str:
    """What may be written; the empty choice is that of leaving it out."""
    return ", ".join(str(choice) for choice in get_args(hint) if choice != "")


def _is_choice(hint: Any) -> bool:
    return bool(get_args(hint)) and all(isinstance(choice, str) for choice in get_args(hint))


def near(whole: Any, keys: Sequence[str]) -> str:
    """What may be meant by the first of these names that nobody knows: a misspelled section holds only such."""
    depth = next((depth for depth in range(1, len(keys)) if _hint(whole, keys[:depth]) is None), len(keys))
    known = _fields(_hint(whole, keys[: depth - 1]))
    meant = close(keys[depth - 1], known)
    return f"; did you mean {meant}?" if meant else ""


def instead(whole: Any, keys: Sequence[str]) -> str:
    """What to write for a setting that there is not: the one that is meant, or those that there are."""
    known = fields(whole, keys[:-1])
    return near(whole, keys) or (f"; one of {', '.join(known)}" if 0 < len(known) <= _LISTED else "")


def close(name: str, known: Sequence[str], likeness: float = 0.6) -> str:
    """The known name that comes nearest to another, letter case left out; empty where none is near."""
    folded = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.casefold(), folded, 1, likeness)
    return folded[near[0]] if near else ""


def is_known(whole: Any, keys: Sequence[str]) -> bool:
    """Whether there is such a setting in a `whole`."""
    return _hint(whole, keys) is not None


def fields(whole: Any, keys: Sequence[str]) -> tuple[str, ...]:
    """The settings that stand directly under these keys."""
    return _fields(_hint(whole, keys))


def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(getattr(kind, "__struct_fields__", ()))


def _hint(whole: Any, keys: Sequence[str]) -> Any:
    """The declared type under these keys, with its bounds; for a list or a table that of what is in it."""
    for key in keys:
        if key in _fields(whole):
            whole = get_type_hints(whole, include_extras=True)[key]
        elif get_origin(whole) is dict:
            whole = get_args(whole)[1]
        else:
            return None
    return whole


def _range(hint: Any) -> str:
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


def _shown(value: Any) -> str:
    """The value as TOML has it, cut short; the empty string where it is not at hand."""
    if value is MISSING:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict | list | tuple):
        return "a table" if isinstance(value, dict) else "a list"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
