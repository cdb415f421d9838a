"""Requests about facts and their probes."""

from collections.abc import Sequence
from typing import Annotated

from lumen_tui.model.facts import KINDS, SPANS
from lumen_tui.model.requests.base import Arg, Request


class AddFact(Request, tag="fact.add", frozen=True, kw_only=True):
    """Note a claim with its probes, each as text. A person's claim is confirmed by that person."""

    claim: Annotated[str, Arg("what holds, in a sentence", place="CLAIM")]
    span_class: Annotated[
        str,
        Arg(
            "how long a confirmation is valid: quick 3, steady 30, lasting 180 days",
            "-c",
            "--class",
            choices=tuple(SPANS),
        ),
    ] = "steady"
    source: Annotated[str, Arg("where it comes from", "-s")] = ""
    probes: Annotated[
        Sequence[str],
        Arg(
            f"KIND TARGET [AT] [~ REGEX] [= EXPECTED], of {', '.join(KINDS)}; repeatable",
            "-p",
            "--probe",
            metavar="PROBE",
        ),
    ] = ()
    wu_id: Annotated[str, Arg("the work unit that it belongs to", "--wu")] = ""
    source_id: Annotated[str, Arg("the node in which it was found", "--from", metavar="ID")] = ""
    key: Annotated[str, Arg("the same key makes the same fact, however often it is asked for")] = ""


class CheckFacts(Request, tag="fact.check", frozen=True, kw_only=True):
    """Run the probes of these facts now and wait for the readings."""

    fact_ids: Annotated[str | Sequence[str], Arg("the facts, or the beginning of their ids", place="ID")]


class ConfirmFacts(Request, tag="fact.confirm", frozen=True, kw_only=True):
    """Confirm facts as a person. Refused for the agent, and where a probe sees something else."""

    fact_ids: Annotated[str | Sequence[str], Arg("the facts, or the beginning of their ids", place="ID")]
    note: Annotated[str, Arg("how you know", "-n")] = ""


class AddProbe(Request, tag="fact.probe", frozen=True, kw_only=True):
    """Give a fact another probe."""

    fact_id: Annotated[str, Arg("the fact, or the beginning of its id", place="ID")]
    probe: Annotated[str, Arg("what is to be looked at, such as `file /etc/hosts`", place="PROBE")]


class RetireFacts(Request, tag="fact.retire", frozen=True, kw_only=True):
    """Archive facts that nobody needs any more, drifted ones too."""

    fact_ids: Annotated[str | Sequence[str], Arg("the facts, or the beginning of their ids", place="ID")]
    reason: Annotated[str, Arg("why", "-r")] = ""
