"""The slug of a lane, when two names of lanes mean one lane, and when one is a slip of the keyboard for the other."""

from __future__ import annotations

_ALIKE = 0.9  # likeness of whole names from which one is taken for a slip
_SHORT = 2  # characters of a word that tells lanes apart on purpose: `Team A` and `Team B`
_FEW = 6  # characters of a word below which another letter makes another word: `Core` and `Code`
_SLUG_LENGTH = 58


def key(name: str) -> str:
    """Return what two spellings of one lane have in common: neither case nor blanks tell lanes apart."""
    return " ".join(name.casefold().split())


def slug(lane: str) -> str:
    """Return the slug of a lane (`Framework: Core` -> `framework-core`); several lanes may share one."""
    flat = "".join([c if c.isascii() and c.isalnum() else "-" for c in lane.lower()])
    return "-".join(part for part in flat.split("-") if part)[:_SLUG_LENGTH].strip("-") or "lane"


def is_slip(name: str, known: str) -> bool:
    """Return whether `name` is nearly the lane `known` and not that lane itself."""
    first, second = key(name), key(known)
    if first == second:
        return False
    if _letters(first) == _letters(second):
        return True
    words, others = first.split(), second.split()
    if len(words) == len(others):
        pairs = [pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]]
        if any(_on_purpose(*pair) for pair in pairs):
            return False
        if all(_one_slip(*pair) for pair in pairs):
            return True
    from difflib import SequenceMatcher

    return SequenceMatcher(None, first, second).ratio() >= _ALIKE


def _letters(text: str) -> str:
    return "".join([letter for letter in text if letter.isalnum()])


def _on_purpose(word: str, other: str) -> bool:
    """Return whether the two differ by a number, or by a word that is all the difference there is."""
    if any(letter.isdigit() for letter in word + other):
        return True
    return max(len(_letters(word)), len(_letters(other))) <= _SHORT


def _one_slip(word: str, other: str) -> bool:
    """Return whether one typing error tells them apart: swapped, extra, missing or, in longer words, wrong letters."""
    if len(word) > len(other):
        word, other = other, word
    at = next((place for place, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), len(word))
    if len(other) - len(word) == 1:
        return word[at:] == other[at + 1 :]
    if len(other) != len(word):
        return False
    swapped = word[at + 1 : at + 2] + word[at : at + 1]
    if other[at : at + 2] == swapped and word[at + 2 :] == other[at + 2 :]:
        return True
    return len(word) >= _FEW and word[at + 1 :] == other[at + 1 :]
