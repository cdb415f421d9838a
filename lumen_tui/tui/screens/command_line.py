"""`:` finds a command of the room by a part of its name, and takes whole lines of `lumen-tui`, with completion."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
from textual.content import Content

from lumen_tui.actions.typed_lines import keep_line, typed_lines
from lumen_tui.engine.launch import CommandRun, command_grammar, run_command
from lumen_tui.model import grammar as lines
from lumen_tui.model.grammar import PROGRAM, Candidate, Grammar
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.text import one_line, safe
from lumen_tui.storage.files import StoreError
from lumen_tui.storage.layout import Layout
from lumen_tui.tui.host import Host, host_of
from lumen_tui.tui.kit.fields import TextField
from lumen_tui.tui.kit.jobs import looked
from lumen_tui.tui.kit.parts import Fact, StatusLine
from lumen_tui.tui.kit.questions import ConfirmKey
from lumen_tui.tui.kit.screen import Keys
from lumen_tui.tui.kit.sheets import ReadingScreen
from lumen_tui.tui.room_command import RoomCommand
from lumen_tui.tui.screens.help import NAMED, Finder, WhyNot, likeness
from lumen_tui.tui.screens.line_values import values_in

_SHELL = "line"  # the scope of rows that are no commands of the room
_NOTHING_TO_DO = 3  # the exit code
_OWN = {"kill": "kill", "decay": "run_decay"}  # lines that the room itself asks about, and the command that does
_MARGIN = 10  # cells around a page


def _row(candidate: Candidate) -> RoomCommand:
    """Return a candidate as a row of the list."""
    return RoomCommand(candidate.word, (), candidate.word, candidate.help or " ", _SHELL)


class Palette(Finder):
    """Answers the action of the room's command to run; a line of `lumen-tui` it carries out itself.

    A line is what begins with one of its commands and a blank. There up and down go through the lines that were typed
    before; `tab` completes.
    """

    SCOPE = "command_line"
    ASK = "a command, or a part of one; or a line of lumen-tui"

    def __init__(
        self, commands: Sequence[RoomCommand], why_not: WhyNot, keys: Mapping[str, str] | None = None, front: str = ""
    ) -> None:
        super().__init__("Command", commands, keys or {}, self._why_row, front)
        self._why_command = why_not
        self._grammar: Grammar | None = None
        self._history: Sequence[str] = ()
        self._back = 0  # lines gone back in the history
        self._typed = ""  # what was typed before that
        self._cycle: tuple[str, list[Candidate], int] | None = None  # what completion goes through
        self._set = ""  # what was put into the field by completion or history
        self._waits = False  # for the end of a line

    def _why_row(self, command: RoomCommand) -> str:
        return "" if command.scope == _SHELL else self._why_command(command)

    def on_mount(self) -> None:
        super().on_mount()
        if host_of(self.app) is not None:
            self.run_worker(self._learn(), group="grammar")

    async def _learn(self) -> None:
        """Ask the command line what it takes, and read what was typed before; what is typed meanwhile is not held."""
        host = self._host
        layout = Layout(Path(host.room.snapshot.root))
        try:
            self._history = await looked(self, typed_lines, layout, host.operator, holds_keys=False)
            self._grammar = await looked(self, command_grammar, holds_keys=False)
        except (OSError, msgspec.DecodeError) as error:
            self.query_one(StatusLine).say(f"the command line cannot be asked: {error}", bad=True)
            return
        self.find(self._field.value)

    @property
    def _host(self) -> Host:
        host = host_of(self.app)
        if host is None:
            raise LookupError("this application has no state folder")
        return host

    @property
    def _field(self) -> TextField:
        return self.query_one("#find", TextField)

    @property
    def _snapshot(self) -> Snapshot:
        return self._host.room.snapshot

    def keys(self) -> Keys:
        return (*super().keys(), *self.offer("line_complete"))

    # What stands in the list.

    def order(self, query: str) -> list[RoomCommand]:
        """Before anything was typed, what can be run comes first, and that of the place in front before all."""
        if self._is_line(query):
            return [_row(each) for each in self._candidates(query)]
        matches = super().order(query)
        if query.strip():
            named = [command for command in matches if likeness(query, command, self._keys) >= NAMED]
            return [*named, *self._nouns(query.strip()), *(command for command in matches if command not in named)]
        return sorted(matches, key=lambda command: (bool(self._why_not(command)), self._behind(command)))

    def _nouns(self, start: str) -> list[RoomCommand]:
        nouns = self._grammar.nouns if self._grammar is not None else {}
        return [_row(Candidate(noun, text)) for noun, text in nouns.items() if noun.startswith(start)]

    def _is_line(self, query: str) -> bool:
        """Return whether a query is a line of `lumen-tui`, no part of the name of a room's command."""
        words = lines.split_line(query).words
        if self._grammar is None:
            return query.lstrip().startswith(PROGRAM)
        return bool(words) and (words[0] in self._grammar.nouns or not super().order(query))

    def _candidates(self, query: str) -> list[Candidate]:
        if self._grammar is None:
            return []
        return lines.candidates(self._grammar, lines.split_line(query), partial(values_in, self._snapshot))

    def _unchosen(self) -> str:
        return "Running …" if self._waits else super()._unchosen()

    # What is typed.

    def on_input_changed(self, event: TextField.Changed) -> None:
        if event.value != self._set:
            self._cycle, self._back, self._set = None, 0, ""
        self.find(event.value)

    def _put(self, text: str) -> None:
        self._set = text
        self._field.value = text
        self._field.cursor_position = len(text)

    def action_complete(self) -> None:
        """Complete the last word, as far as all that fits has it in common; then go through what fits."""
        if self._cycle is not None:
            text, found, place = self._cycle
            place = (place + 1) % len(found)
            self._cycle = (text, found, place)
            self._put(lines.completed(text, lines.split_line(text), found[place].word).rstrip())
            return
        text = self._field.value
        line, found = lines.split_line(text), self._candidates(text)
        common = lines.common_start(found)
        if len(found) == 1:
            self._put(lines.completed(text, line, common))
        elif len(common) > len(line.part):
            self._put(f"{text[: line.start]}{common}")
        elif found:
            self._cycle = (text, found, -1)
            self.action_complete()

    def action_move(self, how: str) -> None:
        """Choose a row; in a line, or before anything was typed, go through what was typed before."""
        if how in ("up", "down") and self._history and (self._back or self._is_line(self._field.value)):
            self._recall(1 if how == "up" else -1)
        elif how == "up" and self._history and not self._field.value:
            self._recall(1)
        else:
            super().action_move(how)

    def _recall(self, step: int) -> None:
        if not self._back:
            self._typed = self._field.value
        self._back = max(0, min(len(self._history), self._back + step))
        self._put(self._history[-self._back] if self._back else self._typed)

    # What is carried out.

    def action_take(self) -> None:
        query = self._field.value
        chosen = self._list.selected if self._chosen else None
        noun = chosen.action if chosen is not None and chosen.scope == _SHELL else ""
        if self._back or self._is_line(query) or (query.strip() and (chosen is None or noun == query.strip())):
            self._take_line(query)
        elif noun:
            self._put(f"{noun} ")
        else:
            super().action_take()

    def _take_line(self, text: str) -> None:
        if host_of(self.app) is None:
            super().action_take()
        elif not self._waits:
            self.run_worker(self._carry_out(text), group="line")

    async def _carry_out(self, text: str) -> None:
        """Carry out a line, after a question where it ends something; a refusal leaves it to be mended."""
        host = self._host
        grammar = self._grammar if self._grammar is not None else await looked(self, command_grammar)
        try:
            words = lines.whole_words(text)
        except ValueError as error:
            self._say(str(error))
            return
        if why := lines.why_not_here(grammar, words, host.room.refusal):
            self._say(why)
            return
        command, behind = grammar.find(words)
        if command is not None and command.words in _OWN and not behind:
            self.dismiss(_OWN[command.words])
        elif lines.is_grave(grammar, words):
            meant = [one_line(text, 500), command.help if command is not None else ""]
            question = ConfirmKey("Run this?", meant, "confirm_yes", "run")
            self.app.push_screen(question, lambda sure: self._start(text, words) if sure else None)
        else:
            self._start(text, words)

    def _say(self, why: str) -> None:
        self.query_one(StatusLine).say(why, bad=True)

    def _start(self, text: str, words: Sequence[str]) -> None:
        self._waits = True
        self.query_one(StatusLine).show(Content.assemble(("Running …", "$room-muted")))
        self._host.run_worker(self._run(self._host, text, words), group="line")

    async def _run(self, host: Host, text: str, words: Sequence[str]) -> None:
        """Run to the end, whether this is left meanwhile or not; a room that ends waits for no line."""
        root = Path(host.room.snapshot.root)
        columns = max(20, self.app.size.width - _MARGIN)
        try:
            ran = await asyncio.to_thread(
                run_command, root, host.operator, words, client=host.port.client, columns=columns
            )
        except (StoreError, OSError) as error:
            ran = CommandRun(1, "", f"{PROGRAM}: {error}")
        await asyncio.to_thread(keep_line, Layout(root), host.operator, text)
        self._waits = False
        failed = ran.code not in (0, _NOTHING_TO_DO) and not ran.out.strip()
        sentence = first_sentence(ran)
        host.command_log.ran(f"{PROGRAM} {one_line(text, 2000)}", host.clock(), sentence, failed=failed)
        if failed and self.there:
            self._say(sentence)
            return
        if self.there:
            self.dismiss(None)
        reads = self._grammar is not None and not lines.writes(self._grammar, words)
        show_run(host, text, ran, sentence, failed=failed, paged=reads and bool(ran.out.strip()))


def first_sentence(ran: CommandRun) -> str:
    """Return what a command said, on one line: its result, or what is wrong with what may have been meant."""
    text = ran.out.strip() or ran.err.strip() or "done"
    return one_line(" ".join(part.removeprefix(f"{PROGRAM}: ").strip() for part in text.splitlines()[:3]), 500)


def show_run(host: Host, text: str, ran: CommandRun, sentence: str, *, failed: bool, paged: bool) -> None:
    """Show what a command printed: a listing and more than a line on a page, else in the footer."""
    whole = "\n".join(part.rstrip() for part in (ran.out, ran.err) if part.strip())
    if not paged and len(whole.splitlines()) <= 1:
        host.room.say(sentence, bad=failed)
        return
    facts: list[Fact] = [("exit code", str(ran.code))] if ran.code else []
    facts += [("left out", f"{ran.more:,} bytes: run it in a shell")] if ran.more else []
    host.push_screen(ReadingScreen(one_line(f"{PROGRAM} {text.strip()}", 100), safe(whole), facts))
