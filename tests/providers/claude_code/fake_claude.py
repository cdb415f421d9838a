"""A program that says what Claude Code said once: `fake_claude.py RECORDING [arguments…]`.

A recording is what went over the pipes of the real program (see record.py): `{"out": …}` is written, `{"in": …}` is
waited for. Everything that is heard, and the environment, is left in $TMPDIR/heard.jsonl. Besides:
`{"stderr": "words"}`, `{"raw": "a line that is no JSON"}`, `{"sleep": seconds}`, `{"exit": code}`.
"""

import json
import os
import sys
import time
from typing import TextIO


def say(stream: TextIO, line: str) -> None:
    stream.write(line + "\n")
    stream.flush()


def main() -> int:
    with open(os.path.join(os.environ["TMPDIR"], "heard.jsonl"), "a", encoding="utf-8") as heard:
        heard.write(json.dumps({"argv": sys.argv[2:], "env": dict(os.environ), "cwd": os.getcwd()}) + "\n")
        heard.flush()
        with open(sys.argv[1], encoding="utf-8") as recording:
            for step in map(json.loads, recording):
                if "in" in step:
                    line = sys.stdin.readline()
                    if not line:
                        return 1
                    heard.write(line)
                    heard.flush()
                elif "out" in step:
                    say(sys.stdout, json.dumps(step["out"]))
                elif "raw" in step:
                    say(sys.stdout, step["raw"])
                elif "stderr" in step:
                    say(sys.stderr, step["stderr"])
                elif "sleep" in step:
                    time.sleep(step["sleep"])
                elif "exit" in step:
                    return int(step["exit"])
        while sys.stdin.readline():
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
