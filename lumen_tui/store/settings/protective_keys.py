"""Which settings restrict what agents may do, and which section closes where one of them is invalid."""

from __future__ import annotations

from lumen_tui.model.config import Config
from lumen_tui.store.settings import config_errors

WHOLE = ("sandbox", "budget", "approvals", "web", "allow")  # sections in which every setting restricts
_ANY = "*"  # a name that the operator chose
# In other sections these restrict. Without its price, or with a server that seems to need no key, a call is free.
_GATES = {
    ("models", "provider"): "budget",  # `offline` lets no model be called
    ("models", "prices"): "budget",
    ("models", "endpoints", _ANY, "key_env"): "budget",
    ("evolution", "enabled"): "evolution",
    ("evolution", "extractor"): "evolution",
    ("evolution", "judge"): "evolution",
    ("memory", "enforcement", "require_checkpoint_for_done"): "memory",
}
CLOSABLE = (*WHOLE, "evolution", "memory")
SECTIONS = frozenset([*WHOLE, *(gate[0] for gate in _GATES)])  # kept for when their file cannot be read


def closes(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sections that an invalid setting concerns; for an unknown one, those of what may be meant by it."""
    if keys[0] in WHOLE:
        return (keys[0],)
    meant = _meant(keys)
    return tuple(dict.fromkeys(section for gate, section in _GATES.items() if _concerns(gate, meant)))


def _meant(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys with the first unknown one replaced by the closest known one, or cut before it."""
    known = next((depth for depth in range(1, len(keys) + 1) if not config_errors.is_known(Config, keys[:depth])), 0)
    if not known:
        return keys
    above = keys[: known - 1]
    near = config_errors.close(keys[known - 1], config_errors.fields(Config, above))
    return (*above, near, *keys[known:]) if near else above


def _concerns(gate: tuple[str, ...], keys: tuple[str, ...]) -> bool:
    """Return whether one is the other, or is below it."""
    return all(_same(part, key) for part, key in zip(gate, keys, strict=False))


def _same(part: str, key: str) -> bool:
    return part in (_ANY, key)
