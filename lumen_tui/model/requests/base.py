"""The base of all requests, and what their fields say of themselves."""

from __future__ import annotations

import functools

from msgspec import Struct, structs, to_builtins


class Arg:
    """What a person reads about a field, and how a command line spells it.

    `names` are options such as `--wu`: those with one dash are beside `--field-name`, one with two dashes replaces it.
    With `place` the field is not an option but a word of the command, called so in its help. Without `help` the
    `choices` are named. `opposite` is the option that says no to a field of type `bool | None`, with its help.
    """

    __slots__ = ("choices", "commas", "duration", "help", "metavar", "names", "opposite", "place")

    def __init__(
        self,
        help: str,
        *names: str,
        place: str = "",
        metavar: str = "",
        choices: tuple[str, ...] = (),
        opposite: tuple[str, str] = ("", ""),
        duration: bool = False,
        commas: bool = False,
    ) -> None:
        self.help = help or ", ".join(choices)
        self.names = names
        self.place = place
        self.metavar = metavar
        self.choices = choices
        self.opposite = opposite
        self.duration = duration  # seconds, which a person may write as 10m or 2h
        self.commas = commas  # several words, which a person writes as one with commas between them


class Request(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="verb"):
    """What one verb of the program needs to know. Its tag is the verb's name, such as `task.new`.

    `actions.registry` holds the function that carries a request out; the fields are checked there, and where a request
    is made of words from outside (`actions.registry.named`), by their types as well.
    """

    @property
    def verb(self) -> str:
        """The name of the verb in the journal of actions, such as `task.new`."""
        return str(type(self).__struct_config__.tag)

    def given(self) -> dict[str, object]:
        """Return the fields that differ from their defaults, as plain values."""
        fields: dict[str, object] = to_builtins(self)
        del fields["verb"]
        return fields


class DeclaredField(Struct, frozen=True):
    """A field of a request that says what it is; `default` is msgspec.NODEFAULT where it must be given."""

    hint: object  # its type
    arg: Arg
    default: object


@functools.cache
def declared_fields(kind: type[Request]) -> dict[str, DeclaredField]:
    """Return the fields of a request that say what they are, in order."""
    from typing import get_args

    declared = {}
    for field in structs.fields(kind):
        hint, *notes = get_args(field.type) or (field.type,)
        if notes and isinstance(notes[0], Arg):
            declared[field.name] = DeclaredField(hint, notes[0], field.default)
    return declared
