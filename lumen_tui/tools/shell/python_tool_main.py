"""The process of one call of a Python tool: `python -I python_tool_main.py FILE FUNCTION ARGUMENTS`, source on stdin.

The source comes as text and not by its path, so that what runs is what was accepted. Standard output takes the result
alone: what the tool prints goes to standard error, where a log is.
"""

from __future__ import annotations

import json
import linecache
import os
import sys
import traceback
from types import ModuleType

FAILED = 86  # the exit code of a tool that raised an error


def main(arguments: list[str]) -> int:
    file, function, given = arguments
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)
    source = sys.stdin.buffer.read()
    sys.stdin.close()
    module = ModuleType(file.removesuffix(".py"))
    module.__file__ = file
    sys.modules[module.__name__] = module
    lines = source.decode("utf-8", "replace").splitlines(keepends=True)
    linecache.cache[file] = (len(source), None, lines, file)  # for tracebacks
    try:
        exec(compile(source, file, "exec"), module.__dict__)  # noqa: S102 - what a tool is
        result = getattr(module, function)(**json.loads(given))
        text = "" if result is None else result if isinstance(result, str) else json.dumps(result, default=str)
    except BaseException as error:  # noqa: BLE001 - whatever it raises is told
        traceback.print_exc()
        out.write("".join(traceback.format_exception_only(error)).strip().splitlines()[-1])
        out.flush()
        return FAILED
    out.write(text)
    out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
