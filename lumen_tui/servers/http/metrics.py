"""Figures for Prometheus, in its text format 0.0.4: the agent, what waits, what was spent, and this server."""

from __future__ import annotations

import bisect
import os
import resource
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from lumen_tui.model.health import HealthReport
from lumen_tui.model.snapshot import Snapshot
from lumen_tui.model.tasks import STATES, tally

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)  # seconds
_PAGE = os.sysconf("SC_PAGESIZE")
_Sample = tuple[Mapping[str, str], float]


class RequestFigures:
    """Requests of one server: how many, with which status, and how long they took."""

    def __init__(self) -> None:
        self._answers: Counter[tuple[str, int]] = Counter()
        self._slower = [0] * (len(_BUCKETS) + 1)  # requests in each bucket, and those beyond the last
        self._seconds = 0.0

    def count(self, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._answers[method if method in ("GET", "HEAD", "POST") else "other", status] += 1
        self._slower[bisect.bisect_left(_BUCKETS, seconds)] += 1
        self._seconds += seconds

    def lines(self) -> Iterator[str]:
        """Yield the counter of requests and the histogram of their seconds."""
        samples: list[_Sample] = [
            ({"method": method, "status": str(status)}, number) for (method, status), number in self._answers.items()
        ]
        yield from _family("lumen_http_requests_total", "counter", "Requests that were answered.", samples)
        name, total = "lumen_http_request_seconds", 0
        yield from _family(name, "histogram", "Seconds until a request was answered, streams apart.", [])
        for bound, number in zip((*map(str, _BUCKETS), "+Inf"), self._slower, strict=True):
            total += number
            yield f'{name}_bucket{{le="{bound}"}} {total}'
        yield f"{name}_sum {self._seconds:.6f}"
        yield f"{name}_count {total}"


def exposition(snapshot: Snapshot, report: HealthReport, requests: RequestFigures, listeners: int) -> str:
    """Return all figures as text."""
    lines = [*_agent(snapshot, report), *_server(listeners), *requests.lines()]
    return "\n".join(lines) + "\n"


def _agent(snapshot: Snapshot, report: HealthReport) -> Iterator[str]:
    checks: list[_Sample] = [({"check": name}, float(check.status == "pass")) for name, check in report.checks.items()]
    yield from _family("lumen_health", "gauge", "1 for each check of `lumen-tui health` that passes.", checks)
    yield from _figure("lumen_ready", "Whether the engine starts work that it is given now.", float(report.ready))
    yield from _figure("lumen_loop", "The last loop of the main agent.", snapshot.loop.loop if snapshot.loop else 0)
    counts = tally(snapshot.tasks)
    states: list[_Sample] = [({"state": name}, counts[state]) for state, name in STATES.items()]
    yield from _family("lumen_tasks", "gauge", "Tasks that are not archived, by state.", states)
    needs = Counter(str(need.need) for need in snapshot.attention)
    kinds: list[_Sample] = [({"kind": kind}, number) for kind, number in sorted(needs.items())]
    yield from _family("lumen_attention", "gauge", "What needs a person, by kind.", kinds)
    yield from _figure("lumen_signals", "Signals on file.", len(snapshot.signals))
    yield from _figure("lumen_signals_unread", "Signals that the operator has not read.", snapshot.unread)
    yield from _figure("lumen_discoveries_open", "Discoveries that nobody judged.", len(snapshot.discoveries))
    spend = snapshot.spend
    for unit, used, cap in (("usd", spend.usd, spend.usd_cap), ("tokens", spend.tokens, spend.tokens_cap)):
        yield from _figure(f"lumen_spent_today_{unit}", "Spent on this day of the budget.", used)
        yield from _figure(f"lumen_cap_today_{unit}", "Its cap; 0 for none.", cap)


def _server(listeners: int) -> Iterator[str]:
    yield from _figure("lumen_http_listeners", "Open streams of events.", listeners)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    name = "process_cpu_seconds_total"
    yield from _family(name, "counter", "Processor time of this server.", [({}, usage.ru_utime + usage.ru_stime)])
    yield from _figure("process_resident_memory_bytes", "Its memory.", _resident())
    yield from _figure("process_open_fds", "Its open files.", len(os.listdir("/proc/self/fd")))


def _resident() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE


def _figure(name: str, text: str, value: float) -> Iterator[str]:
    return _family(name, "gauge", text, [({}, value)])


def _family(name: str, kind: str, text: str, samples: Iterable[_Sample]) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        inner = ",".join(f'{label}="{_escaped(word)}"' for label, word in labels.items())
        yield f"{name}{{{inner}}} {value:.10g}" if inner else f"{name} {value:.10g}"


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
