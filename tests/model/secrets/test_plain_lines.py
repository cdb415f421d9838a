"""What is no secret stays: ten thousand lines such as logs, listings, lock files and code are made of."""

from __future__ import annotations

import random
import string
import uuid
from base64 import encodebytes
from collections.abc import Callable, Iterator
from pathlib import Path

from lumen_tui.model.secrets.redaction import redact

REPO = Path(__file__).resolve().parents[3]
HEX, LOWER = "0123456789abcdef", string.ascii_lowercase
WORDS = [
    "the",
    "token",
    "key",
    "secret",
    "session",
    "cache",
    "task",
    "disk",
    "request",
    "user",
    "auth",
    "worker",
    "started",
    "ended",
    "failed",
    "retry",
    "limit",
    "of",
    "from",
    "over",
    "build",
    "image",
    "layer",
    "commit",
    "branch",
    "merge",
    "index",
    "lock",
    "signal",
    "beat",
    "loop",
    "model",
    "result",
    "path",
    "file",
    "line",
    "error",
]


def hexes(source: random.Random, length: int) -> str:
    return "".join(source.choices(HEX, k=length))


def base64s(source: random.Random, length: int) -> str:
    return "".join(source.choices(string.ascii_letters + string.digits + "+/", k=length))


def uuids(source: random.Random) -> str:
    return str(uuid.UUID(int=source.getrandbits(128)))


def path(source: random.Random) -> str:
    parts = [
        source.choice((*WORDS, "python3.11", "site-packages", f"v{source.randrange(9)}.{source.randrange(20)}"))
        for _ in range(source.randrange(2, 9))
    ]
    return "/" + "/".join(parts) + source.choice((".py", ".log", "", ".so.6", ".tar.gz"))


KINDS: tuple[Callable[[random.Random], str], ...] = (
    lambda s: f"Nov 12 12:{s.randrange(60):02}:01 host systemd[{s.randrange(9999)}]: Started {path(s)}.",
    lambda s: f"{hexes(s, s.choice((32, 40, 56, 64, 96, 128)))}  {path(s)}",
    lambda s: f"commit {hexes(s, 40)}",
    lambda s: f"{hexes(s, 7)} {' '.join(s.choices(WORDS, k=7))} ({hexes(s, 9)})",
    lambda s: f"index {hexes(s, 9)}..{hexes(s, 9)} 100644",
    lambda s: f"request_id={uuid.UUID(int=s.getrandbits(128))} trace={hexes(s, 32)} span={hexes(s, 16)} status=200",
    lambda s: f'{{"id": "{uuid.UUID(int=s.getrandbits(128))}", "path": "{path(s)}", "sha256": "{hexes(s, 64)}"}}',
    lambda s: f"sha256:{hexes(s, 64)} pulled in {s.random():.3f}s",
    lambda s: f'    {{ url = "https://files.host/{hexes(s, 60)}/x-1.tar.gz", hash = "sha256:{hexes(s, 64)}" }},',
    lambda s: f'  "integrity": "sha512-{base64s(s, 86)}==",',
    lambda s: f'<script integrity="sha384-{base64s(s, 64)}"></script>',
    lambda s: f"data:image/png;base64,iVBORw0KGgo{base64s(s, s.randrange(100, 900))}",
    lambda s: base64s(s, 76),
    lambda s: f'  File "{path(s)}", line {s.randrange(900)}, in {s.choice(WORDS)}_{s.choice(WORDS)}',
    lambda s: f"{s.choice(WORDS)}_{s.choice(WORDS)} = self._{s.choice(WORDS)}.{s.choice(WORDS)}({s.choice(WORDS)})",
    lambda s: (
        f"{s.choice(WORDS[4:])}: {s.randrange(10**6)} {s.choice(WORDS[4:])}={s.randrange(10**9)} in {s.random():.2f} s"
    ),
    lambda s: f"Setting up lib{s.choice(WORDS)}{s.randrange(9)}:amd64 (2.{s.randrange(99)}-1ubuntu3) ...",
    lambda s: (
        f"key-{hexes(s, 32)} task-{s.randrange(999):03} tsk-{''.join(s.choices(LOWER + string.digits, k=13))} done"
    ),
    lambda s: f"token_count={s.randrange(10**6)} max_tokens: {s.randrange(10**5)} tokens/s: {s.random() * 90:.1f}",
    lambda s: f'etag: W/"{hexes(s, 32)}" x-request-id: {uuids(s)} cache_key={hexes(s, 40)}',
    lambda s: f"Collecting {s.choice(WORDS)}>={s.randrange(9)}.1 (from -r {path(s)[1:]} (line {s.randrange(99)}))",
    lambda s: f"https://host.example/{path(s)[1:]}?page={s.randrange(99)}&sort={s.choice(WORDS)}&id={hexes(s, 24)}",
    lambda s: " ".join(s.choices(WORDS, k=s.randrange(3, 20))).capitalize() + ".",
)


def lines(seed: int, count: int) -> Iterator[str]:
    source = random.Random(seed)  # noqa: S311 - the same sample each time
    for number in range(count):
        yield KINDS[number % len(KINDS)](source)


def test_of_ten_thousand_plain_lines_none_is_touched() -> None:
    assert [line for line in lines(11, 10_000) if redact(line) != line] == []


def test_a_digest_a_uuid_a_git_id_and_a_path_stay_whatever_stands_around_them() -> None:
    source = random.Random(12)  # noqa: S311 - the same sample each time
    for _ in range(300):
        for value in (hexes(source, 40), hexes(source, 64), str(uuid.UUID(int=source.getrandbits(128))), path(source)):
            for around in (
                "{}",
                "at {} now",
                "id={}",
                '"digest": "{}"',
                "({})",
                "{}:12: x",
                "sha256:{}",
                "-{}",
                "key={}",
                "public_key: {}",
                "cache-key: {}",
                "commit_token_hash={}",
            ):
                text = around.format(value)
                assert redact(text) == text


def test_our_own_code_and_documents_stay() -> None:
    touched = {}
    for file in [*sorted(REPO.glob("lumen_tui/**/*.py"))[::6], *sorted(REPO.glob("docs/**/*.md"))]:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if redact(line) != line:
                touched[f"{file.relative_to(REPO)}:{number}"] = redact(line)
    assert len(touched) <= 3, touched


def test_names_made_of_words_stay_whatever_they_begin_with() -> None:
    source = random.Random(13)  # noqa: S311 - the same sample each time
    algorithms = ("sk-ssh-ed25519-cert-v01@openssh.com", "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com")
    for line in (
        *(f"debug1: kex: host key algorithm: {name}" for name in algorithms),
        *(f"git checkout -b sk-{source.randrange(999)}-{'-'.join(source.choices(WORDS, k=6))}" for _ in range(300)),
        "using llvm::Pass::doInitialization;",
        "Auth::Token::decodeBase64Url2 has moved",
        '"output_token": "DistributionIdentityList.NextMarker",',
    ):
        assert redact(line) == line


def test_base64_of_a_program_stays_where_it_is_no_line_of_a_key() -> None:
    source = random.Random(14)  # noqa: S311 - the same sample each time
    table = b"".join(bytes(30 + source.randrange(40)) + source.randbytes(3) for _ in range(900))
    for line in encodebytes(table).decode().splitlines():  # 76 characters, and mostly "A", as of a symbol table
        assert redact(line) == line
