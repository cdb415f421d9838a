"""The base of all requests."""

from __future__ import annotations

from msgspec import Struct


class Request(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="verb"):
    """What one verb of the program needs to know. Its tag is the verb's name, such as `task.new`.

    `actions.registry` holds the function that carries a request out; the fields are checked there, and where a request
    is made of words from outside (`actions.registry.named`), by their types as well.
    """

    @property
    def verb(self) -> str:
        """The name of the verb in the journal of actions, such as `task.new`."""
        return str(type(self).__struct_config__.tag)
