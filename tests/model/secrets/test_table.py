"""The table of secrets: every rule knows its own tokens, in whatever they stand, and the quick look misses none."""

from __future__ import annotations

import json
import random
import re
import string
import uuid
from itertools import product

import pytest
from lumen_rows import each_row

from lumen_tui.model.secrets import may_hold
from lumen_tui.model.secrets.masking import secrets
from lumen_tui.model.secrets.redaction import redact, redact_value
from lumen_tui.model.secrets.rules import UUID, Named, Rule, named_rules, token_rules
from lumen_tui.tools.policy.fence import hides

LETTERS = {
    "d": string.digits,
    "h": "0123456789abcdef",
    "H": "0123456789abcdefABCDEF",
    "U": string.ascii_uppercase + "234567",
    "l": string.ascii_lowercase + string.digits,
    "a": string.ascii_letters + string.digits,
    "w": string.ascii_letters + string.digits + "_",
    "-": string.ascii_letters + string.digits + "-_",
    "b": string.ascii_letters + string.digits + "+/",
    "B": string.ascii_uppercase + "234567",
    ".": string.ascii_letters + string.digits + "-_~",
    "%": string.ascii_letters + string.digits,
}
PLACES = (
    "{}",
    "export TOKEN={}",
    "key: {}",
    '{{"value": "{}", "next": 1}}',
    "curl -H 'X-Key: {}' https://host/path",
    "see {} and more",
    "a=1&x={}&b=2",
    "line\n{}\nline",
    "'{}'",
    "<v>{}</v>",
    r'"a\n{}\n"',
    "it is {}.",
)


def drawn(template: str, source: random.Random) -> str:
    """A token of this template; its runs hold a digit and a letter, as nearly every drawn one does."""

    def run(found: re.Match[str]) -> str:
        if found[1]:
            return str(uuid.UUID(int=source.getrandbits(128), version=4))
        letters = LETTERS[found[2]]
        text = [source.choice(letters) for _ in range(int(found[4]))]
        if len(text) > 8:
            text[3], text[5] = source.choice([c for c in letters if c.isdigit()] or ["A"]), letters[10 % len(letters)]
        return "".join(text)

    return re.sub(r"\{(?:(u)|([dhHlUaw\-bB.%])(=?)(\d+)(?:,(\d+))?)\}", run, template)


def test_the_table_has_more_than_210_rules_of_different_names() -> None:
    names = [rule.name for rule in (*token_rules(), *named_rules())]
    assert len(names) == len(set(names)) > 350
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name) for name in names)


@pytest.mark.threat("S7", "shapes of secrets, wherever they stand")
def test_a_token_is_masked_wherever_it_stands() -> None:
    for rule in token_rules():
        _masked_wherever_it_stands(rule)


def _masked_wherever_it_stands(rule: Rule) -> None:
    source = random.Random(rule.name)  # noqa: S311 - the same sample each time
    for place in PLACES:
        token = drawn(rule.template, source)
        beside = "" if rule.keyword in token else f"{rule.keyword} "
        text = beside + place.format(token)
        [first, *_] = found = secrets(text)
        assert token not in redact(text), (rule.name, text)
        assert any(secret.rule == rule.name for secret in found) or len(first.rule) > 0, rule.name
        assert redact(redact(text)) == redact(text), "a mask is no secret"


@pytest.mark.threat("S7", "shapes of secrets, wherever they stand")
def test_a_value_is_masked_behind_its_name() -> None:
    for rule in named_rules():
        _masked_behind_its_name(rule)


def _masked_behind_its_name(rule: Named) -> None:
    source = random.Random(rule.name)  # noqa: S311 - the same sample each time
    shapes = re.findall(r"\[([^\]]+)\]\{(\d+)\}", rule.form.pattern.replace(UUID, ""))
    values = [
        "".join(source.choice([c for c in string.printable[:94] if re.match(f"[{letters}]", c)]) for _ in range(int(n)))
        for letters, n in shapes
    ] or [str(uuid.UUID(int=source.getrandbits(128), version=4))]
    word = rule.words[0].strip("_")
    for value in values:
        for form in ("{}_SECRET_KEY={}", '"{}_api_key": "{}"', "{}ApiToken = '{}'", "--{}-api-key {}"):
            text = form.format(word, f"a1B{value[3:]}" if len(value) != 36 else value)
            assert "[masked: " in redact(text), text


def test_what_names_give_away_and_what_they_do_not() -> None:
    value = "Wq7" + "xK2pL9vT4"
    for secret in (
        f"password={value}",
        f"PASSWORD: {value}",
        f'"db_password": "{value}"',
        f"aws_secret_access_key = {value * 4}",
        f"AccountKey={value * 7}==;EndpointSuffix=x",
        f"api_key='{value}'",
        f"client-secret: {value}",
        f"--password {value}",
        f"login ann password {value}",
        f"PGPASSWORD={value} psql",
        f"token={value}&next=1",
        "password=correct-horse",
        f"Authorization: Bearer {value}",
        f"postgres://ann:{value}@host/db",
        f"curl -u ann:{value} https://host",
        f'System.setProperty("MY_TOKEN", "{value}")',
        f"<appToken>{value}</appToken>",
    ):
        assert "[masked: " in redact(secret), secret
        assert value not in redact(secret)
    for plain in (
        "token = self._tokens.pop()",
        "password = getpass.getpass()",
        "password: required",
        "api_key=${API_KEY}",
        "secret: /run/secrets/db",
        "token_count=12345678",
        "password=password",
        "key = sorted(names)",
        "token=<yours>",
        "api_key = os.environ['API_KEY']",
        "password: str = field(default='')",
        "max_token=16384",
        "the token is wrong, and the password too",
        "session_id=8f14e45fceea167a5a36dedd4bea2543",
        "token_type: Bearer",
    ):
        assert redact(plain) == plain


def test_a_report_of_what_passed_is_no_password() -> None:
    for plain in (
        "Targeted suites pass: tests/tui, tests/actions",
        "Targeted suites pass: 48 tests in 12 s",
        "All targeted suites pass: tests/engine (212), tests/actions (1,044)",
        "Checks pass: ruff+mypy+3 suites",
        "checks pass: lint/format, 3.11+3.12",
        "The three suites pass: engine=212 actions=1044",
        "First pass: 1,234,567 rows, second pass: v2-rewrites",
        "render pass: 16.6ms/frame",
        "LLVM pass: -O2,-inline (12.3ms)",
        "Gates pass: G1-G12",
        "tests pass: 123456",
        "pass: 1234567 fail: 0 skip: 12",
        "Pass: 184623, Fail: 0",
        "--- PASS: TestParse/with_2_args (0.00s)",
        "    --- PASS: TestParse/with_2_args (0.00s)",
        "PASS: tests/foo-bar_2.t",
        "INFO 10:12:01 smoke tests pass: api/v2/users, api/v2/orders",
    ):
        assert redact(plain) == plain
    for secret in (
        "pass: hunter2!x",
        "pass = hunter2x",
        "  pass: correct-horse-7",
        "PASS: Xk29aPqz",
        "PASS=tests/k3j9x",
        "user: bob pass: Xk29aPq!",
        "user bob, pass: correct-horse-7",
        "wifi pass: sunflower77",
        "wifi pass: 12345678",
        "the pass: password123",
        "pass: aB3/xY9+kQ",
        "my new pass: Tr0ub4dor&3",
        "my_pass: tests/tui-3",
        'say pass: "tests/tui 3"',
    ):
        assert "[masked: password]" in redact(secret), secret


@pytest.mark.threat("S7", "shapes of secrets, wherever they stand")
def test_a_private_key_is_masked_whole_and_in_pieces() -> None:
    source = random.Random(7)  # noqa: S311 - the same sample each time
    lines = ["MII" + "".join(source.choices(LETTERS["b"], k=61))]
    lines += ["".join(source.choices(LETTERS["b"], k=64)) for _ in range(20)] + ["Ab3/xYz9=="]
    begin, end = "-----BEGIN RSA " + "PRIVATE KEY-----", "-----END RSA " + "PRIVATE KEY-----"
    whole = "\n".join([begin, *lines, end])
    pieces = (
        whole,
        "\n".join(lines),
        "\n".join(lines[5:9]),
        "\n".join([*lines[3:], end]),
        lines[0],
        lines[7],
        "\n".join(f"key.pem:{number}:{line}" for number, line in enumerate(lines)),
        whole.replace("\n", "\\n"),
    )
    for piece in pieces:
        shown = redact(f"before\n{piece}\nafter")
        assert not any(line in shown for line in lines[:-1]), piece
        assert shown.startswith("before\n")
        assert shown.endswith("\nafter")


def test_what_is_public_of_a_key_stays() -> None:
    source = random.Random(8)  # noqa: S311 - the same sample each time
    lines = ["MII" + "".join(source.choices(LETTERS["b"], k=61)) for _ in range(4)]
    for kind in ("CERTIFICATE", "PUBLIC KEY", "PGP SIGNATURE"):
        text = "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"])
        assert redact(text) == text


def test_a_field_that_is_called_secret_holds_one() -> None:
    given = {"env": {"DB_PASSWORD": "hunter2hunter2", "HOME": "/root"}, "names": ["a", "b"], "count": 3}
    assert redact_value(given, redact) == {**given, "env": {"DB_PASSWORD": "[masked: password]", "HOME": "/root"}}


def test_nobody_is_asked_about_a_call_whose_mask_could_hide_a_command() -> None:
    assert hides("password=x1;curl|sh")
    assert not hides("echo " + "ghp_" + "a1B2" * 9)


def test_the_quick_look_never_says_no_to_a_secret() -> None:
    source = random.Random(9)  # noqa: S311 - the same sample each time
    for rule in token_rules():
        for place in PLACES:
            token = drawn(rule.template, source)
            text = place.format(token) if rule.keyword in token else f"{rule.keyword} {place.format(token)}"
            assert not secrets(text) or may_hold(text.encode()), text


NAMES = ("api_key", "API-KEY", "apiKey", "db_password", "token", "SECRET", "MY_PASS", "pwd", "hmac_key", "gh_pat")
CLOSED = ("", '"', "'", '\\"', '\\\\"', '"]', "`", "&quot;", "%22", " ")
GIVEN = (":", "=", "==", ":=", "::=", "=>", "?=", "+=", ".=", "||=", "%3D", ",")


@each_row("value", ["hunter2hunter2", "aB3dE5gH7jK9mN1pQ3sT5vW7", "0123456789abcdef" * 2])
def test_the_quick_look_never_says_no_to_a_value_behind_a_name(value: str) -> None:
    for name, close, sign, between, quote in product(NAMES, CLOSED, GIVEN, ("", " ", "\t"), ("", '"', '\\"')):
        text = f"x {name}{close}{between}{sign}{between}{quote}{value}"
        for data in (text.encode(), json.dumps({"message": text}).encode()):
            assert may_hold(data) or not secrets(text), text


@pytest.mark.sweep(most=6)
@pytest.mark.parametrize(
    "piece",
    [
        "sk-",
        "eyJ",
        "a-",
        "token=",
        "MII",
        "k=v1,",
        'password: "',
        "-----BEGIN ",
        "x@",
        "sl.",
        "AzFu-",
        "secret secret:",
        "://a:",
        "\\n",
        "AAAA-",
        "-u a:",
        "9.",
        "a_key:",
    ],
)
def test_no_text_of_64_kib_makes_the_rules_try_more_than_its_length(piece: str, cpu_seconds) -> None:
    text = (piece * 70_000)[: 64 * 1024]
    once = cpu_seconds(lambda: secrets(text[: 8 * 1024]))
    assert cpu_seconds(lambda: secrets(text)) < 40 * once + 0.5, (
        "eight times as much text, not sixty-four times the work"
    )
