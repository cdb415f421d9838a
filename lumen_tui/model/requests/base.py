"""The base of all requests, and what their fields say of themselves."""

from __future__ import annotations

from msgspec import Struct


class Arg:
    """What a person reads about a field, and how a command line spells it.

    `names` are options such as `--wu`: those with one dash are beside `--field-name`, one with two dashes replaces it.
    With `place` the field is not an option but a word of the command, called so in its help.
    """

    __slots__ = ("duration", "help", "metavar", "names", "place")

    def __init__(self, help: str, *names: str, place: str = "", metavar: str = "", duration: bool = False) -> None:
        self.help = help
        self.names = names
        self.place = place
        self.metavar = metavar
        self.duration = duration  # seconds, which a person may write as 10m or 2h


class Request(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="verb"):
    """What one verb of the program needs to know. Its tag is the verb's name, such as `task.new`.

    `actions.registry` holds the function that carries a request out; the fields are checked there, and where a request
    is made of words from outside (`actions.registry.named`), by their types as well.
    """

    @property
    def verb(self) -> str:
        """The name of the verb in the journal of actions, such as `task.new`."""
        return str(type(self).__struct_config__.tag)
