"""Exit codes of every verb that takes an id: 3 for what is not there, 2 for what can be the name of nothing."""

from __future__ import annotations

import shlex

import pytest

from lumen_tui.__main__ import main

CALLS = {
    "act-zzzz": """
        undo @
    """,
    "tsk-zzzz": """
        task show @ | task cancel @ | task retry @ | task log @ | task new x --depends-on @
    """,
    "nobody": """
        task new x --role @ | pause role @ | resume role @ | role show @ | role hire new --like @
        role adjust @ --tier haiku | role fire @ --reason no | role rehire @ | role stats @
        budget raise --usd 1 --role @
    """,
    "WU-999": """
        task new x --wu @ | inbox --wu @ | triage --wu @ | wu show @
        wu claim @ | wu block @ -r no | wu unblock @ | wu release @ | wu done @ | link @ blocks WU-001
        ready --wu @ | context --wu @
        recover --wu @ | summarize --wu @ | export --wu @ | fact add x --wu @ | search x --wu @
        archive-insert x --wu @ | mem:inbox --wu @ | mem:ready --wu @
        mem:summarize --wu @
    """,
    "apr-zzzz": """
        approve @ | deny @ -r no | approvals show @
    """,
    "sig-zzzz": """
        signal x --reply-to @
    """,
    "ses-zzzz": """
        create x --session @ | session show @ | session end @ | decide x --session @ | handoff x --session @
        checkpoint x --session @ | cleanup --session-id @ | af export x.af --session @
    """,
    "mem-zzzz": """
        create x --discovered-from @ | triage --promote @ --lane Core | triage --archive @ -r no
        triage --keep @ | triage --merge mem-y --into @ | link WU-001 related @ | decide --resolve @ --answer x
        archive @ -r no | unarchive @ | pin @ | touch @ | delete @ | promote @ --tag decision | why @
        fact check @ | fact confirm @ | fact retire @ | mem:delete @ | fact probe @ "port 1"
        mem:triage --archive @ --reason no
    """,
    "evo-zzzz": """
        evolve --show @ | evolve --accept @ | evolve --reject @ -r no | evolve --edit @ --text x
    """,
    "99": """
        evolve --diff @ | evolve --restore @ | capsule --loop @ | packets --loop @
    """,
    "nowhere": """
        relay show @ | relay held @ | blocks show @ | blocks append @ x | blocks replace @ x y
        blocks rethink @ x | blocks lock @ | blocks unlock @ | blocks set @ --limit 100 | blocks history @
        blocks restore @ --step 1
    """,
    "rly-zzzz": """
        relay release @ | relay drop @
    """,
    "arc-zzzz": """
        archive-withdraw @
    """,
}
WORDS = {words.strip(): name for name, calls in CALLS.items() for words in calls.replace("\n", "|").split("|")}
WORDS.pop("")


@pytest.fixture
def peopled(here):
    """A folder with one thing of each kind, so that what is not there is told from what nobody ever made."""
    for words in ("create one", "wu new One --lane Core", "signal hello", "relay submit place x --base 0"):
        assert main(words.split()) == 0
    return here


def _coded(words: str, name: str) -> int:
    try:
        return main([name if word == "@" else word for word in shlex.split(words)])
    except SystemExit as end:
        return int(end.code or 0)


def test_what_is_not_there_is_three_everywhere(peopled, capsys):
    capsys.readouterr()
    wrong = {}
    for words, name in WORDS.items():
        code, said = _coded(words, name), capsys.readouterr()
        if code != 3 or "Traceback" in said.err or said.out:
            wrong[words] = (code, said)
    assert wrong == {}


def test_what_can_name_nothing_is_two_everywhere(peopled, capsys):
    before = peopled.files()
    capsys.readouterr()
    wrong = {}
    for words in WORDS:
        code, said = _coded(words, "../x"), capsys.readouterr()
        if code != 2 or said.out:
            wrong[words] = (code, said)
    assert wrong == {}
    assert peopled.files() == before


def test_what_is_nearly_named_is_offered_with_three_too(peopled, capsys):
    for words, near in (("task new x --role bilder", "builder"), ("task new x --wu WU-010", "WU-001"),
                        ("role hire x --like Resercher", "researcher"), ("blocks show HUMAN", "")):  # fmt: skip
        assert _coded(words, "") == (3 if near else 2)
        assert f"did you mean: {near}" in capsys.readouterr().err or not near


def test_a_search_for_an_unknown_work_unit_says_so(peopled, capsys):
    capsys.readouterr()
    assert main(["search", "one", "--wu", "WU-001"]) == 0
    assert "known" not in capsys.readouterr().err
    assert main(["search", "--wu", "WU-999"]) == 3
    assert "no work unit WU-999 is known here" in capsys.readouterr().err
    assert main(["search", "one", "--wu", "bad"]) == 2
    assert "bad is no work unit: write it as" in capsys.readouterr().err
