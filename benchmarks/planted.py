"""Conversations with known answers: ten sessions of topics, each asked about, settled a few turns later, and mentioned.

A topic has four words of its own. Of the questions four in ten are answered in a turn that has three of them, four in
the turn after the one that has them, two in the second or third turn after it; these answers have one of the words, or
none. Every word of a topic is also said in passing in other sessions.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import NamedTuple

from lumen_tui.model import times

SESSIONS, TOPICS, WORDS = 10, 24, 300  # topics of one session, with one question each; words that topics are made of
_STEPS = (0, 1, 0, 1, 2, 0, 1, 3, 0, 1)  # turns from the one that has a topic's words to the answer
_OPENINGS = (
    "How do we settle {} with {} and {}?", "I am still unsure about {} for {} once {} is in.",
    "What did we say on {} and {}, now that {} has moved?", "Before I go on with {}: is {} fine next to {}?",
)  # fmt: skip
_ANSWERS = (
    "Let us take {n} and look at it again in {m} weeks.", "Agreed: {n}, and not more than {m} of them at once.",
    "I would go for {n}; anything above {m} was too slow.", "Then it is {n}. The older value of {m} goes away.",
)  # fmt: skip
_FILLERS = (
    "Yes, that is how I see it too.", "Can you look at what the others did there?", "I ran it once more and it holds.",
    "There was a comment on that last week.", "Fine. What is left for today?", "The numbers are in the sheet.",
    "Give me a minute to read it.", "It took a while, but the tests are green.", "We should write that down somewhere.",
    "I do not remember who decided that.", "Both ways have their merits.", "Let me check and come back to you.",
)  # fmt: skip


class Question(NamedTuple):
    """Words to search for, and the turn that has the answer."""

    text: str
    answer: str
    steps: int


def _words(chance: random.Random) -> list[str]:
    """Return distinct made-up words."""
    syllables = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
    words = {"".join(chance.choices(syllables, k=3)) + chance.choice("nrlt") for _ in range(2 * WORDS)}
    return sorted(words)[:WORDS]


def _topic(chance: random.Random, words: list[str], steps: int) -> tuple[list[str], int]:
    """Return the turns of one topic, and which of them is the answer."""
    a, b, c, d = words
    answer = chance.choice(_ANSWERS).format(n=chance.randrange(3, 90), m=chance.randrange(3, 90))
    if steps == 0:
        return [chance.choice(_FILLERS), f"On {a} with {b} and {c}: {answer}", chance.choice(_FILLERS)], 1
    opening = chance.choice(_OPENINGS).format(a, b, c)
    told = f"{answer} That is with {d} in mind." if chance.random() < 0.5 else answer
    between = chance.sample(_FILLERS, steps - 1)
    return [chance.choice(_FILLERS), opening, *between, told, chance.choice(_FILLERS)], 1 + steps


def turns(seed: int) -> tuple[list[tuple[str, str, str]], list[Question]]:
    """Return (id, session, text) of each turn in order, and the questions."""
    chance = random.Random(seed)
    vocabulary = _words(chance)
    said: list[tuple[str, str, str]] = []
    questions: list[Question] = []
    for session in range(SESSIONS):
        for number in range(TOPICS):
            words, steps = chance.sample(vocabulary, 4), _STEPS[number % len(_STEPS)]
            lines, at = _topic(chance, words, steps)
            for pair in (chance.sample(vocabulary, 2), chance.sample(vocabulary, 2)):
                lines.append(f"By the way, {pair[0]} came up again, and so did {pair[1]}.")
            names = [f"mem-{len(said) + place:06d}" for place in range(len(lines))]
            said += [(name, f"ses-{session}", text) for name, text in zip(names, lines, strict=True)]
            asked = [*chance.sample(words[:3], 2), words[3]]
            questions.append(Question(" ".join(asked), names[at], steps))
    return said, questions


def write(path: Path, newest: float, seed: int) -> list[Question]:
    """Write the turns as notes of sessions, a minute apart, and return the questions."""
    said, questions = turns(seed)
    with path.open("w") as out:
        for number, (name, session, text) in enumerate(said):
            at = times.iso(newest - 60 * (len(said) - number))
            record = {"id": name, "type": "note", "content": text, "created_at": at, "session_id": session}
            out.write(json.dumps(record) + "\n")
    return questions
