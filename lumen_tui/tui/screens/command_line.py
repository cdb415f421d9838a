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


class TypedBefore:
    """The lines of before, and how far back in them one is."""

    def __init__(self) -> None:
        self.lines: Sequence[str] = ()
        self.back = 0
        self._typed = ""  # before one went back

    def step(self, by: int, text: str) -> str:
        """Return the line so many further back; in front of the newest what was typed."""
        if not self.back:
            self._typed = text
        self.back = max(0, min(len(self.lines), self.back + by))
        return self.lines[-self.back] if self.back else self._typed


class Completion:
    """Completes the last word as far as all that fits has it in common, then goes through what fits."""

    def __init__(self) -> None:
        self._through: tuple[str, Sequence[Candidate], int] | None = None

    def forget(self) -> None:
        """Begin again: something else was typed."""
        self._through = None

    def after(self, text: str, candidates: Sequence[Candidate]) -> str:
        """Return the line after another `tab`, where these candidates fit."""
        if self._through is not None:
            base, fitting, place = self._through
            place = (place + 1) % len(fitting)
            self._through = (base, fitting, place)
            return lines.completed(base, lines.split_line(base), fitting[place].word).rstrip()
        line, common = lines.split_line(text), lines.common_start(candidates)
        if len(candidates) == 1:
            return lines.completed(text, line, common)
        if len(common) > len(line.part):
            return f"{text[: line.start]}{common}"
        if not candidates:
            return text
        self._through = (text, candidates, -1)
        return self.after(text, candidates)


class CommandPalette(Finder):
    """Answers the action of the room's command to run; a line of `lumen-tui` it carries out itself.

    A line is what begins with one of its commands and a blank. There up and down go through the lines that were typed
    before; `tab` completes.
    """

    SCOPE = "command_line"
    ASK = "a command, or a part of one; or a line of lumen-tui"

    def __init__(
        self, commands: Sequence[RoomCommand], why_not: WhyNot, keys: Mapping[str, str] | None = None, front: str = ""
    ) -> None:
        def why_row(command: RoomCommand) -> str:
            return "" if command.scope == _SHELL else why_not(command)

        super().__init__("Command", commands, keys or {}, why_row, front)
        self._grammar: Grammar | None = None
        self._before, self._completion = TypedBefore(), Completion()
        self._set = ""  # what was put into the field by completion or history

    def on_mount(self) -> None:
        super().on_mount()
        if (host := host_of(self.app)) is not None:
            self.run_worker(self._learn(host), group="grammar")

    async def _learn(self, host: Host) -> None:
        """Ask the command line what it takes, and read what was typed before; what is typed meanwhile is not held."""
        layout = Layout(Path(host.room.snapshot.root))
        try:
            self._before.lines = await looked(self, typed_lines, layout, host.operator, holds_keys=False)
            self._grammar = await looked(self, command_grammar, holds_keys=False)
        except (OSError, msgspec.DecodeError) as error:
            self.query_one(StatusLine).say(f"the command line cannot be asked: {error}", bad=True)
            return
        self.find(self._field.value)

    @property
    def _field(self) -> TextField:
        return self.query_one("#find", TextField)

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
        host = host_of(self.app)
        if self._grammar is None or host is None:
            return []
        return lines.candidates(self._grammar, lines.split_line(query), partial(values_in, host.room.snapshot))

    # What is typed.

    def on_input_changed(self, event: TextField.Changed) -> None:
        if event.value != self._set:
            self._completion.forget()
            self._before.back, self._set = 0, ""
        self.find(event.value)

    def _put(self, text: str) -> None:
        self._set = text
        self._field.value = text
        self._field.cursor_position = len(text)

    def action_complete(self) -> None:
        """Complete the last word."""
        text = self._field.value
        self._put(self._completion.after(text, self._candidates(text)))

    def action_move(self, how: str) -> None:
        """Choose a row; in a line, or before anything was typed, go through what was typed before."""
        text, before = self._field.value, self._before
        in_line = bool(before.back) or self._is_line(text) or (how == "up" and not text)
        if how in ("up", "down") and before.lines and in_line:
            self._put(before.step(1 if how == "up" else -1, text))
        else:
            super().action_move(how)

    # What is carried out.

    def action_take(self) -> None:
        query = self._field.value
        chosen = self._list.selected if self._chosen else None
        noun = chosen.action if chosen is not None and chosen.scope == _SHELL else ""
        typed = bool(query.strip()) and (chosen is None or noun == query.strip())
        if host_of(self.app) is not None and (self._before.back or self._is_line(query) or typed):
            self.run_worker(self._carry_out(query), group="line", exclusive=True)
        elif noun:
            self._put(f"{noun} ")
        else:
            super().action_take()

    async def _carry_out(self, text: str) -> None:
        """Carry out a line; a refusal leaves it to be mended."""
        host = host_of(self.app)
        grammar = self._grammar if self._grammar is not None else await looked(self, command_grammar)
        if host is not None:
            LineRun(self, host, grammar, text).begin()


class LineRun:
    """One line on its way: judged, asked about where it ends something, run, shown."""

    def __init__(self, palette: CommandPalette, host: Host, grammar: Grammar, text: str) -> None:
        self._palette = palette
        self._host = host
        self._grammar = grammar
        self._text = text
        self._words: Sequence[str] = ()

    def begin(self) -> None:
        """Say why not, ask, or start."""
        try:
            self._words = lines.whole_words(self._text)
        except ValueError as error:
            self._say(str(error))
            return
        if refusal := lines.why_not_here(self._grammar, self._words, self._host.room.refusal):
            self._say(refusal)
            return
        command, behind = self._grammar.find(self._words)
        if command is not None and command.words in _OWN and not behind:
            self._palette.dismiss(_OWN[command.words])
        elif lines.is_grave(self._grammar, self._words):
            meant = [one_line(self._text, 500), command.help if command is not None else ""]
            question = ConfirmKey("Run this?", meant, "confirm_yes", "run")
            self._host.push_screen(question, lambda sure: self._start() if sure else None)
        else:
            self._start()

    def _say(self, reason: str) -> None:
        self._palette.query_one(StatusLine).say(reason, bad=True)

    def _start(self) -> None:
        self._palette.query_one(StatusLine).show(Content.assemble(("Running …", "$room-muted")))
        self._host.run_worker(self._run(), group="line")

    async def _run(self) -> None:
        """Run to the end, whether the palette is left meanwhile or not; a room that ends waits for no line."""
        host, palette = self._host, self._palette
        root = Path(host.room.snapshot.root)
        start = partial(run_command, client=host.port.client, columns=max(20, palette.app.size.width - _MARGIN))
        try:
            ran = await asyncio.to_thread(start, root, host.operator, self._words)
        except (StoreError, OSError) as error:
            ran = CommandRun(1, "", f"{PROGRAM}: {error}")
        if not host.room.refusal:
            await asyncio.to_thread(keep_line, Layout(root), host.operator, self._text)
        failed, sentence = ran.code not in (0, _NOTHING_TO_DO) and not ran.out.strip(), first_sentence(ran)
        host.command_log.ran(f"{PROGRAM} {one_line(self._text, 2000)}", host.clock(), sentence, failed=failed)
        if failed and palette.there:
            self._say(sentence)
            return
        if palette.there:
            palette.dismiss(None)
        paged = not lines.writes(self._grammar, self._words) and bool(ran.out.strip())
        show_run(host, self._text, ran, sentence, failed=failed, paged=paged)


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
