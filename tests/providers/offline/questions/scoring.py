"""Judge answers to the questions: right, refused or wrong.

    .venv/bin/python tests/providers/offline/questions/scoring.py tune      (or held; a word more names one question)

asks each of them through `lumen-tui run`, within the folder that the questions are about.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import folder

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Question:
    """What is asked, and what must and must not be in its answer; without `facts` it must be refused or asked back."""

    name: str
    ask: str
    facts: tuple[tuple[str, ...], ...]
    never: tuple[str, ...]


def questions(half: str, root: Path, words: Mapping[str, str]) -> Iterator[Question]:
    """Yield the questions of `half` ("tune" or "held") with the facts of the folder `root` as it is."""
    for name, entry in tomllib.loads((HERE / f"questions_{half}.toml").read_text(encoding="utf-8")).items():
        facts = _lines(entry.get("facts", ""), root, words)
        if "facts" in entry and not facts:
            raise ValueError(f"{name}: its command found no facts")
        never = tuple(_lines(entry.get("never", ""), root, words))
        yield Question(name, _filled(entry["ask"], words), tuple(tuple(fact.split("||")) for fact in facts), never)


def _filled(text: str, words: Mapping[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(f"{{{word}}}", value)
    return text


def _lines(command: str, root: Path, words: Mapping[str, str]) -> list[str]:
    if not command:
        return []
    done = subprocess.run(
        ["bash", "-c", _filled(command, words)], cwd=root, capture_output=True, text=True, check=False
    )
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def judge(question: Question, answer: str | None) -> str:
    """Return "right", "refused" or "wrong"; `answer` is None where the worker gave none."""
    if answer is None:
        return "refused" if question.facts else "right"
    if not question.facts:
        return "wrong"
    found = all(any(_holds(answer, one) for one in fact) for fact in question.facts)
    return "right" if found and not any(_holds(answer, one) for one in question.never) else "wrong"


def _holds(answer: str, fact: str) -> bool:
    """Say whether `fact` is in `answer` as a whole word or number: 41 is not in 417, 41.5 or x:41."""
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", answer).replace("\\|", "|").casefold()
    wanted = re.escape(re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", fact).casefold())
    before = r"(?<![\w.:-])" if fact[:1].isdigit() else r"(?<!\w)"
    return re.search(rf"{before}{wanted}(?![\w-])(?![.,:]\d)", plain) is not None


def main() -> int:
    """Ask and print; 1 where an answer was wrong."""
    half, *only = sys.argv[1:]
    counts = {"right": 0, "refused": 0, "wrong": 0}
    with tempfile.TemporaryDirectory(prefix="questions-") as top:
        root = Path(top, "shop")
        root.mkdir()
        for question in questions(half, root, folder.build(root, time.time())):
            if not only or question.name in only:
                answer = _asked(question.ask, root, Path(top, "state"))
                counts[judge(question, answer)] += 1
                sys.stdout.write(f"{judge(question, answer):8}{question.name:22}{question.ask}\n")
                sys.stdout.flush()
                if only:
                    sys.stdout.write(f"{question.facts}\n{question.never}\n{answer}\n")
    sys.stdout.write(f"{counts}\n")
    return counts["wrong"] > 0


def _asked(objective: str, root: Path, state: Path) -> str | None:
    command = [sys.executable, "-m", "lumen_tui", "--state", str(state), "run", objective]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main())
