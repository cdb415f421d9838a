"""Search: a new index over 100,000 notes, queries to it, and a query after one more note."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks import planted
from benchmarks.table import Row, share
from lumen_tui.model import times
from lumen_tui.model.searching import parse
from lumen_tui.queries.search.search import Searcher
from lumen_tui.storage.layout import Layout

NOTES, QUESTIONS = 100_000, 100
_LETTERS = "etaoinshrdlucmfwypvbgk"


def _words(chance: random.Random) -> tuple[list[str], list[float]]:
    """Return 20,000 words and their weights, the first ones much more frequent, as in a language."""
    words = ["".join(chance.choices(_LETTERS, k=chance.randint(3, 10))) for _ in range(20_000)]
    return words, [1 / (place + 5) for place in range(len(words))]


def make_notes(layout: Layout, words: list[str], weights: list[float], chance: random.Random, newest: float) -> None:
    """Write notes of 30 words each, in sessions and work units."""
    with layout.memory.open("w") as out:
        for number in range(NOTES):
            record = {
                "id": f"mem-{number:013d}", "type": ("note", "discovery", "checkpoint")[number % 3],
                "content": " ".join(chance.choices(words, weights, k=30)),
                "created_at": times.iso(newest - number * 60), "session_id": f"ses-{number % 5000}",
                "wu_id": f"WU-{number % 400:03d}", "tags": [f"t{number % 50}"],
            }  # fmt: skip
            out.write(json.dumps(record) + "\n")


def found_answers(folder: Path, newest: float, seeds: Iterable[int]) -> float:
    """Return the share in per cent of planted answers that are among the first ten hits."""
    found = []
    for seed in seeds:
        layout = Layout(folder / f"planted-{seed}")
        layout.create()
        questions = planted.write(layout.memory, newest, seed)
        with Searcher(layout) as searcher:
            for question in questions:
                hits = searcher.search(parse(question.text, newest), newest).hits
                found.append(question.answer in [hit.ref for hit in hits])
    return 100 * sum(found) / len(found)


def measure(folder: Path, newest: float) -> Iterator[Row]:
    """Yield seconds for the index, and ms for a query of three words that are neither rare nor everywhere."""
    answers = found_answers(folder, newest, range(3, 7))
    yield Row("M6", "answers of planted conversations among ten hits", answers, "%", 70, True)
    layout = Layout(folder / "search")
    chance = random.Random(1)
    layout.create()
    words, weights = _words(chance)
    make_notes(layout, words, weights, chance, newest)
    queries = [" ".join(chance.choices(words[40:4000], k=3)) for _ in range(QUESTIONS)]
    with Searcher(layout) as searcher:
        begin = time.perf_counter()
        searcher.search(parse(queries[0], newest), newest)
        yield Row("M6", f"{NOTES:,} notes indexed, and searched once", time.perf_counter() - begin, "s", 3.0)
        taken = []
        for query in queries:
            begin = time.perf_counter()
            searcher.search(parse(query, newest), newest)
            taken.append((time.perf_counter() - begin) * 1000)
        yield Row("M6", "a search in them, median", share(taken, 50), "ms", 30.0)
        yield Row("M6", "a search in them, 95 of 100", share(taken, 95), "ms", 100.0)
        with layout.memory.open("a") as out:
            out.write('{"id":"mem-new","type":"note","content":"frobnicate","created_at":""}\n')
        begin = time.perf_counter()
        searcher.search(parse("frobnicate", newest), newest)
        yield Row("M6", "a search right after another note", (time.perf_counter() - begin) * 1000, "ms", 30.0)
