"""Letters of other alphabets that pass for Latin ones: `сurl` with a Cyrillic с is another program than curl.

A text in another language is none of it: words are told that mix alphabets, and whole ones only where nothing else in
the text is of that alphabet. Forms of Latin letters and signs (wide, mathematical, numerals) are told anywhere.
"""

from __future__ import annotations

import unicodedata

from lumen_tui.model.patterns import lazy_re

WORDS = "letters of another alphabet that look like Latin ones"
_WORD = lazy_re(r"[^\W\d_]+")
_TOKEN = lazy_re(r"[^\s\"'`{}()\[\],;=]+")
_ALPHABETS = frozenset({"CYRILLIC", "GREEK", "CHEROKEE", "ARMENIAN", "LISU", "MATHEMATICAL"})
_ALIKE = frozenset("асԁеһіјӏкорԛѕԝхуАВЕЅІЈКМНОРСТХУѴԌԚԜονρΑΒΕΖΗΙΚΜΝΟΡΤΥΧօոսհցԼՕՍ")
# What letters are taken for; capitals first, as that of Ν is another letter than that of ν.
_CAPITALS = str.maketrans("ΑАΒВΕЕΙІΚКΜМΝΟОΡРСΤТΥУХΧ", "AABBEEIIKKMMNOOPPCTTYYXX")
_LETTERS = str.maketrans("аɑαсϲԁеҽіιıјոпоοօрρгѕтτνѵухχ", "aaaccdeeiiijnnoooppr" + "sttvvyxx")
_FORMS = ("<super>", "<sub>", "<circle>", "<square>", "<fraction>")  # that nobody takes for the plain sign
_MOST = 3  # words that are named


def mixed(word: str) -> bool:
    """Return whether a word mixes Latin with letters that only look like it."""
    if word.isascii():
        return False
    alphabets = {_alphabet(char) for char in word}
    return "LATIN" in alphabets and bool(alphabets & _ALPHABETS)


def latin(word: str) -> str:
    """Return the small Latin letters for which a word is taken at a glance."""
    if word.isascii():
        return word.lower()
    plain = "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
    return plain.translate(_CAPITALS).casefold().translate(_LETTERS)


def look_alikes(text: str) -> str:
    """Return which words of a text are not what they look like, with the first such letter; empty for none."""
    if text.isascii():
        return ""
    foreign = {_alphabet(char) for char in text if char.isalpha() and not char.isascii() and char not in _ALIKE}
    found = [f"{token[:40]} (U+{ord(char):04X})" for token in _TOKEN.findall(text) if (char := _first(token, foreign))]
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return f"{WORDS}: {', '.join(dict.fromkeys(found[:_MOST]))}{more}" if found else ""


def _first(token: str, foreign: set[str]) -> str:
    """Return the first letter of a token that passes for another; `foreign` are alphabets of the text."""
    for match in _WORD.finditer(token):
        word = match.group()
        alike: list[str] = [char for char in word if char in _ALIKE]
        if alike and (mixed(word) or (len(alike) == len(word) and _alphabet(alike[0]) not in foreign)):
            return alike[0]
    return next((char for char in token if not char.isascii() and _is_form(char)), "")


def _is_form(char: str) -> bool:
    """Return whether a character is another form of one sign of ASCII, such as a wide letter."""
    plain = unicodedata.normalize("NFKC", char)
    return len(plain) == 1 and "!" <= plain <= "~" and not unicodedata.decomposition(char).startswith(_FORMS)


def _alphabet(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]
