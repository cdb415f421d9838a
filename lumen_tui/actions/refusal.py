"""The error of an action that was not carried out. Apart from `outcome`, so that raising it imports no library."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NEAR = 0.6  # likeness, of 1, from which a word may be meant by another
_SHOWN = 4  # names of what there is, where nothing is near


class ActionError(Exception):
    """An action that was not carried out; the text says why and what to do next. Nothing was written."""

    def __init__(
        self, text: str, *, candidates: tuple[str, ...] = (), missing: bool = False, alternative: str = ""
    ) -> None:
        super().__init__(f"{text}{alternative}")
        self.reason = text  # without what could be done instead
        self.candidates = candidates  # nearest names, or what an ambiguous prefix could be
        self.missing = missing  # the thing is not there (exit code 3) rather than the call being wrong (2)


def ambiguous(text: str, candidates: Iterable[str], noun: str = "ids") -> ActionError:
    """Return the error for a prefix of several ids, naming the first of them."""
    message = f"{text!r} is the beginning of several {noun}: give more of it"
    return ActionError(message, candidates=tuple(candidates)[:8])


def nearest(word: str, known: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """Return known words that `word` may stand for: those it abbreviates, then those spelled nearly the same.

    A long option stands for long options, a short one for itself alone.
    """
    import difflib  # costs more than raising the error

    bare = word.lstrip("-").lower()
    alike = {name.lstrip("-").lower(): name for name in known if _dashes(name) == _dashes(word)}
    if _dashes(word) == 1:
        return (alike[bare],) if bare in alike else ()
    begun = [name for name in alike if len(bare) > 1 and name.startswith(bare)]
    near = dict.fromkeys([*begun, *difflib.get_close_matches(bare, alike, count, _NEAR)])
    return tuple([alike[name] for name in near][:count])


def _dashes(word: str) -> int:
    """Return 0 for a word, 1 for a short option, 2 for a long one, even where a dash is missing."""
    return 0 if word[:1] != "-" else 1 if len(word) == 2 else 2


def no_such(problem: str, word: str, known: Sequence[str], shown_first: Sequence[str] | None = None) -> ActionError:
    """Return the error for an unknown name, with near matches, else with some of `shown_first` (all known)."""
    near = nearest(word, known)
    shown = known if shown_first is None else shown_first
    more = f" and {len(shown) - _SHOWN:,} more" if len(shown) > _SHOWN else ""
    text = f"{problem}; there is {', '.join(shown[:_SHOWN])}{more}" if shown and not near else problem
    return ActionError(text, candidates=near, missing=True)
