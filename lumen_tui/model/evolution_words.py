"""Whose words a message holds: a person's own, as against those pasted, quoted, forwarded, fenced or marked up in it.

Nobody can tell from a text who typed it. These rules name what a person's own words look like, and take the rest for
somebody else's: a paste that is taken for a person's word gives orders, and a rule that is missed can be said again.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from lumen_tui.model.patterns import lazy_re

SHORTEST, LONGEST = 8, 300  # characters of a sentence
_MOST_TYPED = 1200  # characters of a message that a person types; what is longer was put together elsewhere
_MOST_LINES = 12
_RUN = 5  # words in a row that say that one text was taken from another

_MARKUP = lazy_re(
    r"```|~~~|</?[a-z!][^>\n]{0,200}>|!?\[[^\]\n]{0,200}\]\(|&(?:#?\w{2,8});"
    r"|^[ \t]*(?:>|\#{1,6} |\|.*\||[-=_*]{3,}[ \t]*$)",
    re.I | re.M,
)
_OUTPUT = lazy_re(
    r"""
    ^[ \t]*(?: [$%❯»] \s | @ | at \s \S+ \( | File \s " | Traceback | \d{4}-\d\d-\d\d | \[?\d\d:\d\d | [+-]{3} \s
        | [{\[|<] | \# | (?:error|warning|info|debug|fatal|npm|usage|note)\b[:\s\[] | \S+:\d+(?::\d+)?:? )
    | ^(?:\ {4}|\t)
    | ^\S+(?:Error|Exception)\b | \bexit \s (?:code|status) :? \s \d
    """,
    re.M | re.X | re.I,
)
_MAIL = lazy_re(
    r"""
    ^[ \t]*(?: (?:from|to|cc|subject|date|sent|reply-to) [ \t]* : | fwd?: | re: | -{2,} [ \t]* (?:original|forwarded)
        | begin \s forwarded | on \s .{5,80} \s wrote: | sent \s from \s my
        | (?:hi|hello|dear|hey) \s [\w .]{1,40} [,!] [ \t]*$
        | (?:best|kind|warm)? [ \t]* (?:regards|wishes|sincerely|yours) \b [\w .]* ,? [ \t]*$ )
    | \b(?:forwarded|wrote:|subject:)
    """,
    re.I | re.M | re.X,
)
_QUOTED = lazy_re(r"[“”„«»‹›]|\"[^\"\n]*\s[^\"\n]*\"|(?<!\w)'[^'\n]{12,}'(?!\w)|(?<!\w)`[^`\n]{81,}`")
# What no keyboard types into a terminal.
_TYPESET = lazy_re(r"[‘’–—…•·©®™§†\u00a0\u2000-\u200f\u202a-\u202f\u2060-\u206f\ufeff]")
_ELSEWHERE = lazy_re(
    r"""
    \b(?: (?<!always\ )(?<!never\ )say | sa(?:id|ys|ying)
      | states | wr(?:ote|ites) | tells | told | claims? | suggest(?:s|ed|ions?)? | recommend\w*
      | according | quot(?:e|es|ed|ing) | paste[ds]? | pasting | copied | forward(?:s|ed|ing)? | attached | screenshots?
      | e-?mails? | found | got | printed | returned | output | article | blog | web\ ?(?:page|site) | wiki | tutorial
      | stack\ ?overflow | reddit | tweet | reviewers? | feedback | colleagues? | customers? | boss | below | above
      | following | here(?:'s|\ is|\ are) | this\ is\ what | e\.g | for\ (?:example|instance) | supposed | apparently
      | seems? | looks?\ like | thinks? | wonder )\b
    """,
    re.I | re.X,
)
# What an agent is asked to do, in the form of asking.
_VERBS = """
    add allow answer append apply ask assume avoid batch be begin bind break build bump bypass cache call catch change
    check choose clean clone close combine comment commit compile configure confirm convert copy create default
    delete deploy describe disable document drop edit enable ensure escape explain export expose extract fetch fix
    follow force format generate give go group guess handle hardcode hide hold ignore implement import improve
    include indent inline install invent keep kill leave lint list load log look make merge mention mock modify move
    name nest omit open optimize order overwrite pass pin place prefer prefix print propose pull push put quote
    raise read rebase refactor remove rename replace reply report require reset resolve respond restart restore
    retry reuse revert review rewrite run save say search send separate set share show skip sort speak specify split
    squash stage start state stop store summarize swallow switch tag tell test throw tidy touch translate trust try
    type undo update upgrade upload use validate verify wait warn wrap write
"""
# How else a sentence to an agent begins; one of a page begins with what it is about.
_OPENERS = """
    i i'd i'll i'm i've we we'd we'll we're we've you you're let let's please always never don't do dont no yes yeah
    ok okay thanks thank sorry actually also and but so then now first just using from going in for when after
    before get remember decision rule great good perfect nice cool right fine sure done continue proceed find
"""
VERBS = frozenset(_VERBS.split())
BEGINNINGS = VERBS | frozenset(_OPENERS.split())
_ARTICLES = frozenset({"the", "our"})  # of a fact
# Tools, languages and services by name: a choice between two of them is meant for good.
_TOOLS = """
    npm pnpm yarn bun deno node pip uv poetry pipenv conda mamba pdm hatch pytest unittest nose tox nox jest vitest
    mocha jasmine playwright cypress selenium ruff black flake8 pylint isort mypy pyright eslint biome prettier
    tslint webpack vite rollup esbuild parcel turbopack make just cmake bazel gradle maven docker podman sqlite
    postgres postgresql mysql mariadb mongodb redis duckdb requests httpx aiohttp axios fetch flask django fastapi
    express react vue svelte angular tailwind bootstrap typescript javascript python rust go java kotlin tabs spaces
    grep rg ripgrep find fd git jj svn github gitlab rebase merge tmux screen bash zsh fish logging print pathlib
    os.path dataclasses pydantic msgspec attrs toml yaml json cargo nextest terraform pulumi ansible aws gcp azure
    vercel netlify systemd cron sqlalchemy prisma drizzle graphql rest grpc
"""
TOOL_NAMES = frozenset(_TOOLS.split())
_END = lazy_re(r"(?<=[.!?;])[\"')\]]*\s+(?=[\"'(`A-Z0-9a-z])")
_BULLET = lazy_re(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_WORD = lazy_re(r"[^\W_]+(?:['./+-][^\W_]+)*")


def own_lines(message: str) -> tuple[str, ...]:
    """Return the lines of a typed message that are the person's own words; none of what looks brought in.

    A fence, markup, a quotation or a mail's head says that something was brought in: then only whole lines before it
    are taken, and of a long message none.
    """
    lines = message.splitlines()
    if len(message) > _MOST_TYPED or sum(bool(line.strip()) for line in lines) > _MOST_LINES or _MAIL.search(message):
        return ()
    return tuple(itertools.takewhile(lambda line: not _brought_in(line) and not line.rstrip().endswith(":"), lines))


def own_sentences(message: str) -> Iterator[str]:
    """Yield the sentences of a person's own lines exactly as they are in the message."""
    for line in own_lines(message):
        for sentence in _END.split(_BULLET.sub("", line)):
            if SHORTEST <= len(stripped := sentence.strip()) <= LONGEST:
                yield stripped


def _brought_in(text: str) -> bool:
    return any(pattern.search(text) for pattern in (_MARKUP, _OUTPUT, _QUOTED))


def is_plain(message: str) -> bool:
    """Return whether a message is one short paragraph to the agent in which nothing points to another source.

    It asks nothing, and each of its sentences begins like one that is said to somebody.
    """
    text = message.strip()
    if len(text) > 2 * LONGEST or "\n" in text or "?" in text or _brought_in(text) or is_attributed(text):
        return False
    if _MAIL.search(text) or _TYPESET.search(text) or _BULLET.match(text):
        return False
    begun = [words_of(sentence)[:1] for sentence in _END.split(text)]
    return all(words and (words[0] in BEGINNINGS or words[0] in _ARTICLES) for words in begun)


def is_attributed(text: str) -> bool:
    """Return whether a text says that its words are somebody else's."""
    return _ELSEWHERE.search(text) is not None


def is_own(quote: str, message: str) -> bool:
    """Return whether a quote is in a person's own words in a message."""
    return any(quote in line for line in own_lines(message))


def words_of(text: str) -> list[str]:
    """Return the words of a text for comparing, in lower case."""
    return _WORD.findall(text.casefold())


def runs_of(text: str) -> list[tuple[str, ...]]:
    """Return every run of five words of a text; a shorter text is one run."""
    words = words_of(text)
    return [tuple(words[at : at + _RUN]) for at in range(max(1, len(words) - _RUN + 1))] if words else []
