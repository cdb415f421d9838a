"""Requests about facts and their probes."""

from __future__ import annotations

from collections.abc import Sequence

from lumen_tui.model.requests.base import Request


class AddFact(Request, tag="fact.add", frozen=True, kw_only=True):
    """Note a claim with its probes, each as text. A person's claim is confirmed by that person."""

    claim: str
    span_class: str = "steady"
    source: str = ""
    probes: Sequence[str] = ()
    wu_id: str = ""
    source_id: str = ""
    key: str = ""


class CheckFacts(Request, tag="fact.check", frozen=True, kw_only=True):
    """Run the probes of these facts now and wait for the readings."""

    fact_ids: str | Sequence[str]


class ConfirmFacts(Request, tag="fact.confirm", frozen=True, kw_only=True):
    """Confirm facts as a person. Refused for the agent, and where a probe sees something else."""

    fact_ids: str | Sequence[str]
    note: str = ""


class AddProbe(Request, tag="fact.probe", frozen=True, kw_only=True):
    """Give a fact another probe."""

    fact_id: str
    probe: str


class RetireFacts(Request, tag="fact.retire", frozen=True, kw_only=True):
    """Archive facts that nobody needs any more, drifted ones too."""

    fact_ids: str | Sequence[str]
    reason: str = ""
