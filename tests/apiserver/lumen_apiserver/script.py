"""Which answer a request gets: rules in order, then the list, then what stands for everything else."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lumen_apiserver.answers import Answer, fail, text, use
from lumen_apiserver.request import Request

Made = Answer | Callable[[Request], Answer]


@dataclass
class Rule:
    """Answers for the requests that match."""

    match: Callable[[Request], bool]
    answers: list[Made]
    again: bool = False  # the last answer is given again and again

    def take(self) -> Made:
        return self.answers[0] if self.again and len(self.answers) == 1 else self.answers.pop(0)


class Script:
    """All rules; safe for many threads."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.main = Rule(lambda request: True, [], again=True)
        self.rest: Made = text("done")
        self._lock = threading.Lock()

    def choose(self, request: Request) -> Answer:
        """The answer of a request."""
        with self._lock:
            found = self._find(request)
        return found if isinstance(found, Answer) else found(request)

    def _find(self, request: Request) -> Made:
        for rule in self.rules:
            if rule.answers and rule.match(request):
                return rule.take()
        return self.main.take() if self.main.answers else self.rest


# ---- scripts in files

_FIELDS = {
    "model": lambda request: request.model, "last": lambda request: request.last_text,
    "first": lambda request: request.first_text, "system": lambda request: request.system_text,
    "path": lambda request: request.path, "called": lambda request: " ".join(request.called),
    "results": lambda request: "\n".join(request.results), "tools": lambda request: " ".join(request.tool_names),
}  # fmt: skip


def matcher(when: dict[str, Any]) -> Callable[[Request], bool]:
    """`{"model": "haiku", "last": "regex", "!called": "Bash"}`: every regular expression must be found, ! must not."""
    wanted = [(key.removeprefix("!"), not key.startswith("!"), re.compile(text, re.S)) for key, text in when.items()]
    for name, _, _ in wanted:
        if name not in _FIELDS:
            raise ValueError(f"{name!r} is none of {', '.join(_FIELDS)}")
    return lambda request: all(bool(regex.search(_FIELDS[name](request))) is yes for name, yes, regex in wanted)


def answer_of(value: Any) -> Answer:
    """An answer from JSON: a text; {"tool": name, "input": {...}, "say": ...}; {"tools": [...]}; {"fail": 429, ...};
    or the fields of Answer."""
    if isinstance(value, str):
        return text(value)
    value = dict(value)
    if "fail" in value:
        return fail(value.pop("fail"), value.pop("words", ""), **value)
    calls = value.pop("tools", [])
    if "tool" in value:
        calls = [{"tool": value.pop("tool"), "input": value.pop("input", {})}]
    said = value.pop("say", "") or value.pop("text", "")
    content = [{"type": "text", "text": said}] * bool(said) + [
        use(call["tool"], call.get("input", {})) for call in calls
    ]
    return dataclasses.replace(Answer(**value), **({"content": tuple(content)} if content else {}))


def load(script: Script, data: Any) -> None:
    """A script file: a list of answers, or {"rules": [{"when", "answers", "again"}], "answers": [...], "otherwise"}."""
    table = data if isinstance(data, dict) else {"answers": data}
    for rule in table.get("rules", []):
        answers: list[Made] = [answer_of(value) for value in rule["answers"]]
        script.rules.append(Rule(matcher(rule.get("when", {})), answers, bool(rule.get("again"))))
    script.main.answers = [answer_of(value) for value in table.get("answers", [])]
    script.main.again = bool(table.get("again", "otherwise" not in table))
    if "otherwise" in table:
        script.rest = answer_of(table["otherwise"])
