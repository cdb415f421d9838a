"""The level of a line is what its format says, not a word in its text."""

from __future__ import annotations

import re

from lumen_rows import each_row

from lumen_tui.providers.offline.playbooks import levels

LINES = [
    ("2026-11-20 08:12:01,123 ERROR payments: declined", "error"),
    ("2026-11-20 08:12:01,123 INFO 0 errors found", "info"),
    ("2026-11-20 08:12:01,123 - shop - ERROR - INFO is off", "error"),
    ("ERROR:root:no route", "error"),
    ("WARN  no ERROR here", "warning"),
    ("[2026-11-20 08:12:01] [error] disk", "error"),
    ("2026/11/19 00:00:00 [warn] 911#911: *1 no error", "warning"),
    ("[Wed Nov 18] [core:error] [pid 3] AH00037", "error"),
    ("time=2026-11-20 level=error msg=denied", "error"),
    ('{"ts": 1, "level": "info", "msg": "ERROR budget"}', "info"),
    ('{"msg": "x", "severity": "WARNING"}', "warning"),
    ("Nov 14 00:00:00 web1 backup[12]: error: cannot write", "error"),
    ("Nov 14 00:00:00 web1 postfix/smtpd[3]: warning: hostname", "warning"),
    ("E1120 08:00:00.000000 1 main.go:7] no quorum", "error"),
    ("2026-11-21 10:00:00 UTC [123] FATAL:  no pg_hba.conf entry", "fatal"),
    ("2026-11-18 06:10:22 status installed liberror-perl:all 0.17029-2", ""),
    ("GET /ERROR/404.html HTTP/1.1", ""),
    ("finished with 0 ERROR in all", ""),
    ("  File 'pool.py', line 88, in take", ""),
    ("ConnectionResetError: [Errno 104] reset", ""),
]


@each_row(("text", "level"), LINES)
def test_the_level_is_read_where_the_format_has_it(text, level):
    assert levels.level_of(text) == level


@each_row(("text", "level"), LINES)
def test_the_expression_of_a_level_finds_its_lines_and_no_others(text, level):
    found = [name for name in levels.LEVELS if re.search(levels.pattern((name,)), text)]
    assert found == ([level] if level else [])
