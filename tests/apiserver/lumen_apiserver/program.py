"""The server as a program, for tries by hand and for benchmarks."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from pathlib import Path

from lumen_apiserver.request import Request
from lumen_apiserver.server import ApiServer


def _out(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _tell(request: Request) -> None:
    said = " ".join(request.last_text.split())[-100:]
    _out(f"{request.method} {request.path} {request.model} tools={len(request.tool_names)} …{said}")


def _log(path: Path, request: Request) -> None:
    with path.open("a", encoding="utf-8") as log:
        line = {"kind": request.kind, "path": request.path, "query": request.query, "body": request.body}
        log.write(json.dumps(line) + "\n")


def main(arguments: list[str]) -> int:
    """Serve until interrupted. The first line on stdout is the URL."""
    parser = argparse.ArgumentParser(prog="python tests/apiserver", description=__doc__)
    parser.add_argument("script", nargs="?", type=Path, help="JSON, see lumen_apiserver/script.py")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path, help="append every request as a line of JSON")
    parser.add_argument("--quiet", action="store_true")
    found = parser.parse_args(arguments)
    server = ApiServer(found.port)
    if found.script:
        server.load(json.loads(found.script.read_text(encoding="utf-8")))

    def seen(request: Request) -> None:
        if not found.quiet:
            _tell(request)
        if found.log:
            _log(found.log, request)

    server.on_request = seen
    _out(server.url)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        _out(f"{len(server.requests)} requests")
    finally:
        server.close()
    return 0
