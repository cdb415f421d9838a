"""What a mouth (the bell of a terminal, a message to a phone) tells of the transitions of the queue, and when.

Each transition once; the same of one item not again within a day; nothing in quiet hours but what may break them; and
one digest in place of a flood. A receipt says what a mouth has told, so that two of one name tell nothing twice.
A mouth that sends has two: one before, one with what came of it. What failed, and what a kill cut off, is sent again
under the same id, so that whoever receives both can tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

import msgspec
from msgspec import Struct

from lumen_tui.model import ids, times
from lumen_tui.model.notify_config import NotifyConfig, quiet_until
from lumen_tui.model.text import one_line
from lumen_tui.model.transitions import OpenItem, Transition, TransitionKind, words_of

REPEAT = times.DAY  # within which the same of one item is not told again
WINDOW = 300.0  # seconds in which more messages than the settings allow are a flood
SENDING, SENT, FAILED, REFUSED = "sending", "sent", "failed", "refused"  # of what is sent; refused: for good
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, times.HOUR  # seconds between two tries, three times as many after each
_TITLE, _BODY = 80, 200  # characters of a message
_NAMED = 3  # items that a digest names


class ToldReceipt(Struct, frozen=True, omit_defaults=True):
    """notifications.jsonl: one mouth told one transition; `shown` where a person had it before them anyway."""

    mouth: str  # such as `terminal ana`
    transition: str
    name: str  # the same for what tells the same of one item
    at: str
    digest: bool = False
    shown: bool = False
    outcome: str = ""  # of what is sent; empty where telling is all
    tries: int = 0
    problem: str = ""  # why it failed
    schema: int = 1


class ToldTransition(Transition, frozen=True, omit_defaults=True):
    """A transition with the last receipt of each mouth."""

    told: tuple[ToldReceipt, ...] = ()


def told_words(receipts: Iterable[ToldReceipt]) -> str:
    """Return by which mouths a transition was told, and which of them failed and why."""
    return ", ".join(_outcome_words(receipt) for receipt in receipts)


def _outcome_words(receipt: ToldReceipt) -> str:
    name, how = one_line(receipt.mouth, 60), " in a digest" if receipt.digest else ""
    if receipt.outcome in ("", SENT):
        return f"{name}{how}"
    if receipt.outcome == SENDING:
        return f"{name} is sending"
    tries = f" after {receipt.tries} tries" if receipt.tries > 1 else ""
    return f"{name} {receipt.outcome}{tries}: {one_line(receipt.problem, 160)}"


class Attempt(NamedTuple):
    """A try to send that failed or was cut off."""

    tries: int
    again: float  # when the next one is due, in seconds since 1970


class Receipts:
    """What one mouth has told."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._last: dict[str, float] = {}  # name -> when the same was told last
        self._messages: set[tuple[float, str]] = set()  # when, and which transition; none for a digest
        self._attempts: dict[str, Attempt] = {}

    def take(self, receipt: ToldReceipt) -> None:
        """Take in a receipt of the mouth."""
        at = times.epoch(receipt.at)
        if receipt.outcome in (SENDING, FAILED):
            pause = retry_pause(receipt.tries) if receipt.outcome == FAILED else 0.0
            self._attempts[receipt.transition] = Attempt(receipt.tries, at + pause)
            return
        self._attempts.pop(receipt.transition, None)
        self._told.add(receipt.transition)
        if receipt.outcome == REFUSED:
            return
        self._last[receipt.name] = max(at, self._last.get(receipt.name, 0.0))
        if not receipt.shown:
            self._messages.add((at, "" if receipt.digest else receipt.transition))

    def wants(self, transition: Transition) -> bool:
        """Return whether a transition was never told, nor the same of its item within a day before it."""
        last = self._last.get(transition.name)
        return transition.id not in self._told and (last is None or transition.moment - last >= REPEAT)

    def attempt(self, transition: Transition) -> Attempt | None:
        """Return the last try to send a transition, unless it was sent."""
        return self._attempts.get(transition.id)

    def tries(self, transition_id: str) -> int:
        """Return how often it was tried to send a transition that was not sent yet."""
        known = self._attempts.get(transition_id)
        return known.tries if known else 0

    def recent(self, now: float) -> list[tuple[float, str]]:
        """Return the messages of the last minutes in which a flood is counted."""
        self._messages = {message for message in self._messages if now - message[0] < WINDOW}
        return sorted(self._messages)


class Telling(NamedTuple):
    """What a mouth tells now, `digest` as one message, and when it looks again, in seconds since 1970."""

    transitions: tuple[Transition, ...] = ()
    digest: bool = False
    again: float = float("inf")


def telling(
    items: Iterable[OpenItem], receipts: Receipts, config: NotifyConfig, now: float, zone_offset: float = 0.0
) -> Telling:
    """Decide what a mouth tells of the items on the queue. `zone_offset`: seconds by which local time is ahead of UTC.

    Of several transitions of one item only the last is told.
    """
    wanted = [item.transitions[-1] for item in items if _is_wanted(item, receipts, config)]
    attempts = {transition.id: receipts.attempt(transition) for transition in wanted}
    later = {name: attempt.again for name, attempt in attempts.items() if attempt and attempt.again > now}
    ripe = [transition for transition in wanted if transition.id not in later]
    ends = quiet_until(config.quiet, now, zone_offset)
    heard = [transition for transition in ripe if not ends or transition.need in config.through_quiet]
    again = min([*later.values(), ends if ends and len(heard) < len(ripe) else float("inf")])
    recent = receipts.recent(now)
    if len(heard) + len(recent) <= config.most:
        return Telling(tuple(heard), again=again)
    digests = [at for at, transition in recent if not transition]
    if digests:
        return Telling(again=min(again, digests[-1] + WINDOW))
    return Telling(tuple(heard), digest=True, again=again)


def _is_wanted(item: OpenItem, receipts: Receipts, config: NotifyConfig) -> bool:
    last = item.transitions[-1]
    attempt = receipts.attempt(last)
    return last.need in config.kinds and receipts.wants(last) and (not attempt or attempt.tries < config.tries)


def retry_pause(tries: int) -> float:
    """Return how many seconds after the failure of this try the next one is due."""
    return min(_LONGEST_PAUSE, _FIRST_PAUSE * 3.0 ** max(0, tries - 1))


def receipts_for(
    mouth: str, told: Telling, items: Iterable[OpenItem], now: float, *, shown: bool = False
) -> list[ToldReceipt]:
    """Return the receipts for what is told: of each item's earlier transitions, too, which are no news any more."""
    names = {transition.item for transition in told.transitions}
    return [
        ToldReceipt(mouth, transition.id, transition.name, times.iso(now), told.digest, shown)
        for item in items
        if item.transitions[0].item in names
        for transition in item.transitions
    ]


def with_outcome(
    told: Collection[ToldReceipt], receipts: Receipts, outcome: str, problem: str = ""
) -> list[ToldReceipt]:
    """Return receipts of what is about to be sent, or what came of that, each with the number of its try."""
    tried = {receipt.transition: receipts.tries(receipt.transition) for receipt in told}
    more = outcome == SENDING
    return [
        msgspec.structs.replace(receipt, outcome=outcome, tries=tried[receipt.transition] + more, problem=problem)
        for receipt in told
    ]


class Message(NamedTuple):
    """What a mouth says: title and body one line each, safe; `id` is the same for each try to send it."""

    title: str
    body: str
    id: str = ""
    transitions: tuple[Transition, ...] = ()
    digest: bool = False


def messages(told: Telling, agent: str) -> list[Message]:
    """Return the messages: one for each transition, or a digest of all."""
    name = one_line(agent, 24)
    if told.digest:
        return [_digest(told.transitions, name)]
    return [
        Message(
            one_line(f"{name}: {transition.need} {_how(transition)}", _TITLE),
            one_line(transition.text, _BODY),
            transition.id,
            (transition,),
        )
        for transition in told.transitions
    ]


def _how(transition: Transition) -> str:
    return "needs you" if transition.kind is TransitionKind.APPEARED else words_of(transition)


def _digest(transitions: tuple[Transition, ...], name: str) -> Message:
    counted = Counter(transition.need for transition in transitions)
    many = ", ".join(f"{count} {need}" for need, count in counted.most_common())
    named = "; ".join(one_line(transition.text, 60) for transition in transitions[:_NAMED])
    count = f"{len(transitions)} need{'s' if len(transitions) == 1 else ''} you"
    number = f"ntf-{ids.short_hash(' '.join(sorted(transition.id for transition in transitions)))}"
    return Message(
        one_line(f"{name}: {count}", _TITLE), one_line(f"{many}: {named}", _BODY), number, transitions, digest=True
    )
