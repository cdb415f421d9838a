"""The chat: the conversation with the main agent as it grows, and a field in which one says something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from rich.cells import cell_len
from rich.segment import Segment
from textual.app import ComposeResult
from textual.geometry import Size

from lumen_tui.engine.port import Port
from lumen_tui.model import times
from lumen_tui.model.chat import ChatLine, Turn, call_words, end_words, segments
from lumen_tui.model.requests.base import Request
from lumen_tui.model.requests.chat import FreshChat, SendChat, StopChat
from lumen_tui.model.text import one_line, safe
from lumen_tui.queries.chat_views import ChatView
from lumen_tui.tui import words
from lumen_tui.tui.commands import BY_ACTION
from lumen_tui.tui.host import appearance_of, host_of
from lumen_tui.tui.key_names import plain_key
from lumen_tui.tui.kit import jobs
from lumen_tui.tui.kit.keys import KeysLine, command_of, key_of, keys_of
from lumen_tui.tui.kit.lines import Cell, ScrolledLines, line, sign
from lumen_tui.tui.kit.parts import StatusLine, markdown_lines
from lumen_tui.tui.kit.screen import DetailScreen, Keys, retitle
from lumen_tui.tui.kit.text_area import Prose
from lumen_tui.tui.room_command import RoomCommand
from lumen_tui.tui.theme import Appearance

_LOOK = 0.25  # seconds between two looks while the screen is open
_TURNS = 40  # of the conversation that are laid out; earlier ones are in the file
_LONGEST = 20_000  # characters of one answer that are laid out
_EMPTY = (
    "No messages yet. What you say here is an order to the main agent: it answers at once, looks things up and "
    "gives out work."
)

Drawn = list[list[Segment]]


class TalkLines:
    """How a conversation is drawn: who said what, which calls were made, how each turn ended."""

    def __init__(self, look: Appearance, key: Callable[[str], str]) -> None:
        self._look = look
        self._key = key  # of a command, as the operator has it
        self._over: dict[tuple[int, int], Drawn] = {}  # lines of turns that are over, by number and width
        self._view = ChatView()

    def draw(self, view: ChatView, width: int, waits: str) -> Drawn:
        """Return the lines of the newest turns; `waits` says why a message is not answered yet."""
        self._view = view
        conversation, ink = view.conversation, self._look.ink
        drawn: Drawn = []
        for turn in conversation.current[-_TURNS:]:
            if conversation.cut is not None and turn.number == conversation.cut.turn:
                text = "What is above is no longer sent to the agent: a digest stands for it."
                drawn += [line(width, (Cell(text, ink.muted),)), []]
            drawn += self._turn(turn, width)
        for message in conversation.waiting:
            drawn += [*self._message(message, width), line(width, (Cell(waits, ink.muted),)), []]
        if not drawn:
            drawn = markdown_lines(_EMPTY, width, ink)
        return [each or [Segment(" " * width)] for each in drawn]

    def _turn(self, turn: Turn, width: int) -> Drawn:
        if turn.end is None:
            return list(self._parts(turn, width))
        if (turn.number, width) not in self._over:
            self._over[turn.number, width] = list(self._parts(turn, width))
        return self._over[turn.number, width]

    def _parts(self, turn: Turn, width: int) -> Iterator[list[Segment]]:
        ink, shapes = self._look.ink, self._look.shapes
        for message in turn.messages:
            yield from self._message(message, width)
        for part in segments(turn, self._view.live) if turn.end is None else segments(turn):
            if isinstance(part, ChatLine):
                yield line(
                    width,
                    (
                        sign(shapes.runs if self._look.spoken else shapes.gutter, ink.faint),
                        Cell(call_words(part), ink.muted),
                    ),
                )
            else:
                yield from self._text(part, width)
        if turn.end is None:
            yield line(width, (Cell(self._doing(), ink.accent),))
        elif how := end_words(turn):
            yield line(width, (Cell(f"({how})", ink.bad),))
        yield []

    def _text(self, text: str, width: int) -> Iterator[list[Segment]]:
        yield from markdown_lines(safe(text[:_LONGEST]).strip("\n"), width, self._look.ink)
        if len(text) > _LONGEST:
            more = f"… {words.number(len(text) - _LONGEST)} more characters: lumen-tui chat --show"
            yield line(width, (Cell(more, self._look.ink.accent),))

    def _message(self, message: ChatLine, width: int) -> Iterator[list[Segment]]:
        ink, name = self._look.ink, one_line(message.by, 40)
        yield line(width, (Cell(name, ink.strong, cell_len(name)), Cell(times.stamp_of(message.at), ink.muted)))
        gutter = Segment(f"{self._look.shapes.quotes} ", ink.accent)
        for body in markdown_lines(message.text[:_LONGEST], max(1, width - cell_len(gutter.text)), ink):
            yield [gutter, *body]

    def _doing(self) -> str:
        live = self._view.live
        if asks := self._view.asks:
            return f"needs your approval: {one_line(asks.summary, 200)}; {self._key('chat_request')} answers"
        if live.waits:
            return one_line(live.waits, 200)
        return f"{one_line(live.doing, 200)} …" if live.doing else "…"


class ChatScreen(DetailScreen[None]):
    """Follows the conversation until it is left. What was typed stays until it was sent."""

    SCOPE = "chat"
    HOLDS = True

    def __init__(
        self, port: Port, look: Callable[[], ChatView], refusal: str, answer_request: Callable[[str], None]
    ) -> None:
        super().__init__("Chat")
        self._port = port
        self._refusal = refusal
        self._answer_request = answer_request
        self._view = ChatView()
        self._follows, self._seen_size = True, Size(0, 0)  # whether the end is in sight, in a window of this size
        self._drawing: TalkLines | None = None
        self._loader: jobs.Loader[ChatView] = jobs.Loader(self, look, self._loaded)

    def body(self) -> ComposeResult:
        yield ScrolledLines(self._lines, id="talk")
        yield Prose(placeholder="Say something to the agent", sends=True, id="say")
        yield StatusLine()

    def keys(self) -> Keys:
        acts = self.offer(
            "form_send_now", "how_to_leave", "chat_request", "chat_new", "page_up", form_send_now="or enter says it"
        )
        where_one_types = plain_key(keys_of(self, "help")[-1])
        return (*acts, (where_one_types, BY_ACTION["help"].label), *self.offer("back"))

    def why_not(self, command: RoomCommand) -> str:
        conversation = self._view.conversation
        if command.action == "how_to_leave" and conversation.open is None and not conversation.waiting:
            return "the agent is not answering"
        if command.action == "chat_request" and self._view.asks is None:
            return "nothing waits for your approval here"
        if command.action == "chat_new" and (conversation.open is not None or not conversation.current):
            return "the conversation is new" if conversation.open is None else "the agent is answering"
        return super().why_not(command)

    def on_mount(self) -> None:
        self._field.focus()
        self._loader.load()
        self.set_interval(_LOOK, self._loader.load)

    @property
    def _field(self) -> Prose:
        return self.query_one("#say", Prose)

    @property
    def _talk(self) -> ScrolledLines:
        return self.query_one("#talk", ScrolledLines)

    def _loaded(self, view: ChatView) -> None:
        if view is self._view:
            return
        self._view = view
        self.redraw_talk()
        self.query_one(KeysLine).show(self.keys())
        turn = view.conversation.open
        retitle(self, f"Chat, turn {words.number(turn.number)} is answered" if turn else "Chat", self._aside())

    def redraw_talk(self) -> None:
        """Lay the conversation out again; whoever looks at its end goes on seeing it."""
        self._talk.redraw()
        self._to_end()

    def _to_end(self) -> None:
        if self._follows:
            self._talk.action_row("bottom")

    def on_scrolled_lines_moved(self, _event: ScrolledLines.Moved) -> None:
        """Notice whether the end is in sight; in a window of another size it is brought back."""
        talk = self._talk
        if talk.size == self._seen_size:
            self._follows = not talk.below
        else:
            self._seen_size = talk.size
            self._to_end()

    def _aside(self) -> str:
        earlier = len(self._view.conversation.current) - _TURNS
        return f"{words.plural(earlier, 'earlier turn')}: lumen-tui chat --show" if earlier > 0 else ""

    def _lines(self, width: int, _height: int) -> Drawn:
        if self._drawing is None:
            self._drawing = TalkLines(appearance_of(self.app), partial(key_of, self))
        return self._drawing.draw(self._view, width, self._why_it_waits())

    def _why_it_waits(self) -> str:
        host = host_of(self.app)
        if host is not None and host.room.snapshot.engine.heartbeat is None:
            return f"waits: no engine drives the agent; {key_of(self, 'engine')} in the room starts one"
        return "waits for the agent"

    def on_prose_sent(self, _event: Prose.Sent) -> None:
        self.action_send()

    def action_send(self) -> None:
        if self._refused():
            return
        text = self._field.typed
        if not text:
            self.say("Say it in a few words first.", True)
            return
        self.run_worker(self._send(SendChat(text=text), text), group="act")

    async def _send(self, request: Request, text: str) -> None:
        if await jobs.submit(self, self._port, request):
            if text:
                self.say("")
                self._follows = True
                self._to_end()
            if text and self._field.typed == text:
                self._field.clear()
            self._loader.load()

    def action_stop(self) -> None:
        self._do(StopChat(), "how_to_leave")

    def action_new(self) -> None:
        self._do(FreshChat(), "chat_new")

    def _do(self, request: Request, action: str) -> None:
        if self._refused():
            return
        if why := self.why_not(command_of(type(self), action)):
            self.say(f"{why[0].upper()}{why[1:]}.")
            return
        self.run_worker(self._send(request, ""), group="act")

    def action_request(self) -> None:
        """Open the approval request that the turn waits for."""
        if self._view.asks is not None:
            self._answer_request(self._view.asks.id)

    def action_page(self, name: str) -> None:
        self._talk.action_row(name)

    def action_other_half(self) -> None:
        (self._talk if self._field.has_focus else self._field).focus()

    def _refused(self) -> bool:
        if self._refusal:
            self.say(self._refusal, bad=True)
        return bool(self._refusal)
