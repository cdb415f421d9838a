"""Answers from elsewhere: tokens are offered for one question, and each is redeemed once, by the ordinary verbs.

An answer is written down as taken before it is carried out, so that a kill in between neither loses nor repeats it: the
message that brought it comes again, and finds the question open or answered by itself.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from lumen_tui.actions.outcome import ActionError, Done
from lumen_tui.actions.registry import perform
from lumen_tui.model import times
from lumen_tui.model.answers import (
    CODE_GROUPS,
    CODE_LETTERS,
    DONE,
    LONGEST,
    OFFERED,
    REFUSED,
    TAKEN,
    TOKEN_BYTES,
    UNCLEAR,
    AnswerLine,
    Offer,
    Refusal,
    Verdict,
    read_reply,
    request_hash,
)
from lumen_tui.model.approvals import Approval
from lumen_tui.model.digests import sha256
from lumen_tui.model.requests.attention import AllowCalls, AnswerQuestion, DenyCalls
from lumen_tui.model.requests.base import Request
from lumen_tui.model.text import one_line
from lumen_tui.storage import locks
from lumen_tui.storage.store import Store
from lumen_tui.store import approvals
from lumen_tui.store.attention.answers import AnswerBook

FORGED, REPLAYED, EXPIRED, CHANGED, LATE = "forged", "replayed", "expired", "changed", "late"
MAIL = "mail"  # the way by which words come, and not buttons
_WORDS = 4000  # characters that come with an answer


class Answers:
    """Offers and redeems for one way in, such as `ntfy`, in the name of one operator. For one thread."""

    def __init__(self, store: Store, via: str, operator: str) -> None:
        self._store = store
        self._via = via
        self._operator = operator
        self._book = AnswerBook(store.layout)

    def close(self) -> None:
        """Close the journal."""
        self._book.close()

    def offer(self, request: Approval, choices: Sequence[tuple[str, Verdict, str]], now: float) -> list[Offer]:
        """Return a token for each choice (label, verdict, words), its hash written down. Raise files.StoreError."""
        tokens = [f"lumen-{secrets.token_urlsafe(TOKEN_BYTES)}" for _ in choices]
        self._book.write(
            *(
                self._offered(request, token, verdict, words, now)
                for token, (_, verdict, words) in zip(tokens, choices, strict=True)
            )
        )
        return [Offer(label, token) for token, (label, _, _) in zip(tokens, choices, strict=True)]

    def offer_code(self, question: Approval, now: float) -> str:
        """Return a code with which somebody types an answer in their own words. Raise files.StoreError."""
        groups = ("".join(secrets.choice(CODE_LETTERS) for _ in range(4)) for _ in range(CODE_GROUPS))
        code = "-".join(groups)
        self._book.write(self._offered(question, code, Verdict.REPLY, "", now))
        return code

    def _offered(self, request: Approval, token: str, verdict: Verdict, words: str, now: float) -> AnswerLine:
        return AnswerLine(
            kind=OFFERED,
            at=times.iso(now),
            digest=sha256(token.encode()),
            approval=request.id,
            request=request_hash(request),
            verdict=verdict,
            words=words,
            by=self._operator,
            via=self._via,
            expires=times.iso(min(request.expires, now + LONGEST)),
        )

    def heard(self, message: str) -> bool:
        """Return whether a message was dealt with already."""
        self._book.refresh()
        return self._book.heard(self._via, message)

    def last_heard(self) -> str:
        """Return the id of the last message that was dealt with; empty for none."""
        self._book.refresh()
        return self._book.last_heard(self._via)

    def waits_for(self, token: str) -> bool:
        """Return whether a text is a token that was offered and that was not used up yet."""
        self._book.refresh()
        offer = self._book.offered(token)
        return offer is not None and self._book.state(offer) not in (DONE, REFUSED)

    def redeem(self, token: str, message: str, now: float, words: str = "") -> Done:
        """Carry out the answer that a token gives, once; `words` come with it. Raise Refusal, files.StoreError.

        `message` is the id of what brought it. Whatever comes of it is written down under that id.
        """
        with locks.waiting_lock(self._store.layout.lock("answers")):
            self._book.refresh()
            offer = self._book.offered(token)
            try:
                if offer is None:
                    raise Refusal(FORGED, "no question was sent with this token")
                done = self._carry_out(offer, message, words, now)
            except Refusal as error:
                self._note(REFUSED, None if error.name == UNCLEAR else offer, message, now, why=str(error))
                raise
            self._note(DONE, offer, message, now)
            return done

    def _carry_out(self, offer: AnswerLine, message: str, words: str, now: float) -> Done:
        name = offer.approval
        if offer.via != self._via:
            raise Refusal(FORGED, "the token was sent another way")
        if (state := self._book.state(offer)) in (DONE, REFUSED):
            raise Refusal(REPLAYED, f"the token for {name} was used already")
        if now >= offer.closes:
            raise Refusal(EXPIRED, f"the token for {name} counted until {times.stamp_of(offer.expires)}")
        request = approvals.read(self._store.layout, name)
        if request is None or request_hash(request) != offer.request:
            raise Refusal(CHANGED, f"{name} is not what was shown: look at it again")
        answer = approvals.decision(self._store.layout, name) if state == TAKEN else None
        if answer is not None and (answer.via, answer.by) == (self._via, offer.by):
            return Done(summary=f"{name} had its answer when this was cut off", target=name)
        asked = _asked(offer, request, words, read=self._via == MAIL or offer.verdict == Verdict.REPLY)
        self._note(TAKEN, offer, message, now)
        try:
            return perform(self._store, asked, by=offer.by, now=now, client=self._via, order=True)
        except ActionError as error:
            raise Refusal(LATE, one_line(str(error), 300)) from error

    def _note(self, kind: str, offer: AnswerLine | None, message: str, now: float, *, why: str = "") -> None:
        self._book.write(
            AnswerLine(
                kind=kind,
                at=times.iso(now),
                digest=offer.digest if offer else "",
                approval=offer.approval if offer else "",
                verdict=offer.verdict if offer else "",
                by=offer.by if offer else "",
                via=self._via,
                message=message,
                why=why,
            )
        )


def _asked(offer: AnswerLine, request: Approval, words: str, *, read: bool) -> Request:
    """Return the request that carries an answer out, bound to the call by its hash; with `read` the words decide."""
    verdict, text = read_reply(offer.verdict, request, words) if read else (offer.verdict, words)
    text = text[:_WORDS]
    if verdict == Verdict.ANSWER:
        return AnswerQuestion(question_id=request.id, answer=offer.words or text, hash=request.hash)
    if verdict == Verdict.ALLOW:
        return AllowCalls(approval_ids=request.id, reason=text, hash=request.hash)
    return DenyCalls(approval_ids=request.id, reason=text, hash=request.hash)
