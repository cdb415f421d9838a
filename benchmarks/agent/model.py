"""A model that is a script. It reads what it is sent as a model would: texts of messages, names of tools.

It knows the world of the stories (which message is routine, which needs a task, which a plan) and nothing of the
program: no layout of a prompt, no count of calls that would be good for a figure. What it writes is as long as what
models write.
"""

from __future__ import annotations

import re
import threading

from lumen_apiserver import Answer, Request, text, think, tool, tools, use

_WORK = ("FAILED", "DOWN", "ORDER", "which of")  # in messages that need somebody to do something
_NUMBER = re.compile(r"#(\d{4})\b[^\n#]{0,200}")
_THOUGHT = (
    "Let me see what is new here. The order asks for two things that do not depend on each other, so two workers can "
    "look at the same time. I need to give them the folder and say what a good result is. I note what I promised, so "
    "that the next loop knows what these results are for and whom to answer."
)
_LETTER = """Where things are
- The service runs; the last release was on Thursday. The backup of the database is done each night at 02:00.
- Messages of the monitors are read as they come. Those that only confirm a state need nothing.

Waiting for
{open}

Promised
- Ann gets a short answer to each order, with the evidence, and hears of anything that needs her decision.

To keep in mind
- Nothing is deployed or deleted without Ann's word. The disk of the build machine was at 91 % on Monday.
"""


class Mind:
    """What the scripted model remembers between its calls. A real one has its letter to itself for that."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Answer:
        """Return the answer to one request."""
        with self._lock:
            if not request.tool_names:
                return self.otherwise(request)
            return self._lead(request) if "deposit" in request.tool_names else self._work(request)

    def _lead(self, request: Request) -> Answer:
        """The main agent: look at what is new, give out work, write the letter."""
        if "create_task" in request.called or "remember" in request.called:
            return self._deposit("two tasks are out; their results come with a later loop")
        new = {match.group(1): match.group(0) for match in _NUMBER.finditer(request.first_text)}
        new = {number: words for number, words in new.items() if number not in self._seen}
        hard = any("which of" in words or "ORDER" in words or "DOWN" in words for words in new.values())
        strong = "opus" in request.model
        if hard and not strong and "escalate" in request.tool_names:
            return tool(
                "escalate", reason="This needs a plan: several ways are possible, and the choice has consequences."
            )
        self._seen |= set(new)
        wanted = [
            words for words in new.values() if any(mark in words for mark in ("FAILED", "DOWN", "ORDER", "which of"))
        ]
        if not wanted:
            answered = "results" if "Result of" in request.first_text else "nothing that needs work"
            return self._deposit(answered)
        made = self._orders(wanted[0])
        return think(_THOUGHT, made) if strong else made

    def _orders(self, words: str) -> Answer:
        """Give out work for one message; two tasks for an order."""
        about = words[6:].strip(" .:")[:120]
        context = (
            f"It came as a message: {about}. A good result names the cause, the files and lines, and the next step."
        )
        first = use("create_task", objective=f"Check {self._folder}: {about}", role="researcher", context=context)
        if "ORDER" not in words:
            return tools(first)
        second = use("create_task", objective=f"Check the settings in {self._folder}: {about}", role="researcher",
                     context=context)  # fmt: skip
        return tools(first, second, say="Two workers look into it: one at the logs, one at the settings.")

    def _deposit(self, waiting: str) -> Answer:
        done = use("deposit", wake_state=_LETTER.format(open=f"- {waiting}."), decided=[f"this time: {waiting}"])
        return tools(done)

    def _work(self, request: Request) -> Answer:
        """A worker: look at one thing after the other, then write the result."""
        text = request.first_text
        steps = 60 if "Read all" in text else 12 if "Survey" in text else 4
        summed_up = _SUMMED_UP.search(text)
        done = len(request.called) + (int(summed_up.group(1)) if summed_up else 0)
        if done >= steps - 1:
            return tool("write_result", text=_RESULT.format(folder=self._folder))
        if done == 0:
            return tool("list_dir", path=self._folder, say="I look at what is there first.")
        if done == 1:
            return tool("grep", pattern="timeout", path=self._folder)
        return tool("read_file", path=f"{self._folder}/{'page' if steps == 60 else 'part'}-{done - 2:02d}.log")

    def otherwise(self, request: Request) -> Answer:
        """Where somebody asks without tools, for a summary of earlier steps: as long as a model writes one."""
        return text(_SUMMARY.format(folder=self._folder))


_SUMMED_UP = re.compile(r"The first (\d+) steps of this session")
_SUMMARY = """\
- **Goal**: say where the timeouts of the nightly report come from, with evidence for each page of the logs.
- **Done**: step 1 listed {folder}; step 2 looked for `timeout` and found settings.toml line 2; the steps since
  then read one page of the logs each, in order, from page-00.log on. Each page has 230 requests of one subnet.
- **Facts**: settings.toml sets `request_timeout = 30` and `retries = 2`. On the pages read so far every request to
  `/report` between 09:12 and 09:51 ended with `504 timeout after 30 s`; the upstream hosts are 10.0.0.* and so on,
  one subnet a page, so that the number of the page is the third part of the address. No other path is concerned.
  No page has a request that was answered within 30 seconds. The clock of all hosts is UTC.
- **Files**: nothing was changed. Read: settings.toml, and the pages in order; none of them differs in form.
- **Failed**: nothing; `grep` for `retry` found no line, so retries are not logged.
- **Open**: read the pages that are left, in order; then write the result with the pages as evidence, and say what
  could not be found out: why the report was late that day, as the logs of the scheduler are not in this folder.
  Ann wants the hosts named by subnet.
"""
_RESULT = """# Result of the look at {folder}

The timeouts come from one place: `settings.toml` sets `request_timeout = 30`, and the upstream answers within 34 to 41
seconds under load. Evidence:

- `part-00.log` lines 12 to 40: 29 requests ended with `timeout after 30 s`, all of them to `/report`.
- `part-01.log` line 7: the same request succeeded after 36 s when it was repeated by hand.
- No other path is concerned; the errors begin at 09:12 and end at 10:40, when the nightly report was built late.

Next step: raise the limit for `/report` to 60 seconds, or build the report before 08:00. What I could not find out: why
the report was late that day, as the logs of the scheduler are not in this folder.
"""
