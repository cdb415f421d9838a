"""The folder that the questions are about: logs, sources with a git history, data, backups, releases.

What is in it comes from seeded generators; times of files and commits are counted back from `now`, as the questions are
about "yesterday" and "the last 7 days". The answers are not known here: each question has a shell command that finds
its own (`questions_*.toml`).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from pathlib import Path

DAY = 86_400.0
_ERRORS = (
    "payments.gateway: Timeout after {n} ms, req={r}",
    "payments.gateway: card declined for user={u}",
    "db.pool: connection reset by peer (attempt {a})",
    "mail.sender: cannot reach smtp host mx{a}.example.org",
)
_PLAIN = (
    "http.server: GET /cart req={r} took {n} ms",
    "scheduler: nightly check finished, 0 errors found",
    "http.server: error_handler registered for user={u}",
    "payments.gateway: payment accepted for user={u}",
    "session: user={u} req={r} access denied by policy",
)
_WARNED = (
    "cache: miss ratio {a}0 percent",
    "http.server: slow answer, no error yet, {n} ms",
    "disk: 8{a} percent used",
)


def build(root: Path, now: float) -> dict[str, str]:
    """Fill the empty folder `root`; return the names of days for the words in braces of the questions."""
    rng = random.Random(20261)  # noqa: S311 - the same folder each time
    _logs(root / "logs", rng, now)
    _sources(root, rng)
    _config(root)
    _data(root / "data", rng)
    _blobs(root, rng)
    _history(root, now)
    _age(root, now)
    day = time.localtime(now - 2 * DAY)
    return {
        "root": str(root),
        "day": f"{day.tm_mday} {time.strftime('%B', day)}",
        "day_iso": time.strftime("%Y-%m-%d", day),
        "yesterday": time.strftime("%Y-%m-%d", time.localtime(now - DAY)),
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _logs(logs: Path, rng: random.Random, now: float) -> None:
    _write(logs / "app.log", "".join(_app_lines(rng, now)))
    _write(logs / "app.log.1", "".join(_app_lines(rng, now - 30 * DAY)))
    _write(logs / "api.jsonl", "".join(_api_lines(rng)))
    _write(logs / "syslog", "".join(_syslog_lines(rng)))
    _write(logs / "nginx" / "access.log", "".join(_access_lines(rng)))
    _write(logs / "nginx" / "error.log", "".join(_nginx_errors(rng)))
    _write(logs / "dpkg.log", "".join(_dpkg_lines(rng)))
    _write(logs / "empty.log", "")
    _write(logs / "debug-old.log", "DEBUG nothing\n" * 40)


def _app_lines(rng: random.Random, now: float) -> list[str]:
    """Return lines as Python's logging writes them, of four days up to that of `now`, with tracebacks."""
    out = []
    for back, many in ((3, 310), (2, 420), (1, 370), (0, 59)):
        day = time.strftime("%Y-%m-%d", time.localtime(now - back * DAY))
        for second in sorted(rng.randrange(59 if back == 0 else 86_400) for _ in range(many)):
            at = f"{day} {second // 3600:02}:{second // 60 % 60:02}:{second % 60:02},{rng.randrange(1000):03}"
            out.append(f"{at} {_app_event(rng)}\n")
            if " ERROR db.pool" in out[-1]:
                out.append('Traceback (most recent call last):\n  File "pool.py", line 88, in take\n')
                out.append("ConnectionResetError: [Errno 104] Connection reset by peer\n")
    return out


def _app_event(rng: random.Random) -> str:
    level = rng.choices(("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"), (20, 60, 9, 10, 1))[0]
    if level == "CRITICAL":
        text = "watchdog: worker {a} lost"
    elif level == "ERROR":
        text = rng.choices(_ERRORS, (5, 3, 2, 2))[0]
    elif level == "WARNING":
        text = rng.choice(_WARNED)
    else:
        text = rng.choice(_PLAIN)
    n, r, u = rng.randrange(20, 9000), f"{rng.randrange(16**6):06x}", rng.randrange(100, 999)
    return f"{level} {text.format(n=n, r=r, u=u, a=rng.randrange(1, 6))}"


def _api_lines(rng: random.Random) -> list[str]:
    out = []
    for minute in range(700):
        level = rng.choices(("debug", "info", "warn", "error"), (10, 70, 12, 8))[0]
        words = rng.choice(("error budget at 99 percent", "served", "no warnings")) if level == "info" else "upstream"
        record = {"ts": f"2026-11-17T{minute // 60:02}:{minute % 60:02}:00Z", "level": level, "msg": words}
        record |= {"status": rng.choice((200, 200, 200, 404, 502)), "ms": rng.randrange(2, 900)}
        out.append(json.dumps(record) + "\n")
    return out


def _syslog_lines(rng: random.Random) -> list[str]:
    out = []
    for at in range(900):
        stamp = f"Nov 1{at // 300 + 4} {at % 300 // 13:02}:{at % 60:02}:{at * 7 % 60:02} web1"
        ip = f"203.0.113.{rng.randrange(1, 30)}"
        pid = rng.randrange(300, 9000)
        out.append(
            rng.choice(
                (
                    f"{stamp} sshd[{pid}]: Failed password for invalid user admin from {ip} port 5022 ssh2\n",
                    f"{stamp} sshd[{pid}]: Accepted publickey for deploy from {ip} port 5022 ssh2\n",
                    f"{stamp} CRON[{pid}]: (root) CMD (run-parts /etc/cron.hourly)\n",
                    f"{stamp} kernel: [{pid}.12] usb 1-1: new device\n",
                    f"{stamp} postfix/smtpd[{pid}]: warning: hostname {ip} does not resolve\n",
                    f"{stamp} systemd[1]: Started Daily apt download activities.\n",
                    f"{stamp} backup[{pid}]: error: cannot write /srv/backup: No space left on device\n",
                )
            )
        )
    return out


def _access_lines(rng: random.Random) -> list[str]:
    out = []
    ips = [f"198.51.100.{n}" for n in range(1, 38)]
    for at in range(1600):
        ip = rng.choices(ips, [40, 22, 15] + [1] * 34)[0]
        path = rng.choice(("/", "/cart", "/error/500.html", "/static/app.js", "/api/v1/orders", "/checkout"))
        status = rng.choices((200, 301, 404, 500, 502, 503), (80, 5, 8, 3, 2, 1))[0]
        when = f"19/Nov/2026:{at // 67:02}:{at % 60:02}:{at * 11 % 60:02} +0000"
        out.append(f'{ip} - - [{when}] "GET {path} HTTP/1.1" {status} {rng.randrange(90, 90000)} "-" "curl/8.5"\n')
    return out


def _nginx_errors(rng: random.Random) -> list[str]:
    out = []
    for at in range(140):
        level = rng.choice(("error", "error", "warn", "notice", "crit"))
        text = {
            "error": '*{n} open() "/srv/www/favicon.ico" failed (2: No such file or directory)',
            "warn": "*{n} an upstream response is buffered to a temporary file, no error",
            "notice": "signal 17 received, error log reopened",
            "crit": "*{n} SSL_do_handshake() failed",
        }[level].format(n=rng.randrange(9000))
        out.append(f"2026/11/19 {at // 12:02}:{at % 60:02}:00 [{level}] 911#911: {text}\n")
    return out


def _dpkg_lines(rng: random.Random) -> list[str]:
    out = []
    names = ("liberror-perl", "libtest-fatal-perl", "nginx", "curl", "git", "libc6", "openssl", "tzdata", "vim", "tmux")
    for day in (12, 18, 20):
        for at, name in enumerate(rng.sample(names, 6)):
            stamp, done = f"2026-11-{day} 06:1{at}:22", rng.choice(("install", "upgrade", "upgrade"))
            old = "<none>" if done == "install" else "1.0-1"
            out.append(f"{stamp} startup archives unpack\n{stamp} {done} {name}:amd64 {old} 1.0-{day}\n")
            out.append(f"{stamp} status half-installed {name}:amd64 {old}\n{stamp} status unpacked {name}:amd64\n")
            out.append(f"{stamp} configure {name}:amd64 1.0-{day}\n{stamp} status installed {name}:amd64 1.0-{day}\n")
    return out


def _sources(root: Path, rng: random.Random) -> None:
    shop = root / "src" / "shop"
    for number, name in enumerate(("cart", "vat", "orders", "mail", "stock", "users")):
        _write(shop / f"{name}.py", _python(name, 3 + number * 2, rng))
    _write(shop / "__init__.py", "")
    with open(shop / "vat.py", "a", encoding="utf-8") as vat:
        vat.write("\n\ndef calculate_vat(net, rate):\n    # FIXME: round half even\n    return net * rate\n")
    with open(shop / "mail.py", "a", encoding="utf-8") as mail:
        mail.write('\n\nimport requests\n\nHOST = os.environ["MAIL_HOST"]\n# TODO: retry\n# TODO: queue\n')
    _write(root / "src" / "web" / "app.js", "".join(f"// TODO tidy {n}\nlet v{n} = {n};\n\n" for n in range(11)))
    _write(root / "src" / "web" / "pay.js", "const stripe = Stripe('pk');\n" * 23)
    _write(root / "src" / "web" / "style.css", "body { margin: 0 }\n" * 61)
    _write(root / "tests" / "test_cart.py", "def test_cart():\n    assert 1  # FIXME real\n\n\n" * 13)
    _write(root / "docs" / "conf.py", 'extensions = ["autodoc", "todo"]  # autodoc of all\n')
    _write(root / "docs" / "guide.md", "# Guide\n\nPay with Stripe or by bank.\n" + "Some words.\n" * 30)
    _write(root / "README.md", "# shop\n\nA shop. Nothing to do here.\n")
    _write(root / "scripts" / "deploy.sh", "#!/bin/sh\nset -eu\n# TODO check the tag\nrsync -a . web1:/srv/shop\n")
    os.symlink("deploy.sh", root / "scripts" / "release.sh")


def _python(name: str, functions: int, rng: random.Random) -> str:
    out = [f'"""The module {name}."""\n\nimport os\n']
    for number in range(functions):
        out.append(f"\n\ndef {name}_{number}(value):\n")
        out.append(f"    # TODO: {name} {number}\n" if rng.random() < 0.4 else "    # done\n")
        out += [f"    value += {n}\n" for n in range(rng.randrange(3, 9))]
        out.append("    return value\n")
    return "".join(out)


def _config(root: Path) -> None:
    server = '[server]\nhost = "0.0.0.0"\nport = {port}\nworkers = {workers}\n'
    database = '\n[database]\nhost = "db1.internal"\npool = {pool}\ntimeout = 30\n'
    _write(root / "config" / "app.toml", (server + database).format(port=8443, workers=16, pool=25))
    _write(root / "config" / "old" / "app.toml", (server + database).format(port=8080, workers=16, pool=12))
    flags = {"feature_flags": {"new_checkout": True, "gift_cards": False}}
    flags |= {"mail": {"smtp_port": 2525, "from": "shop@example.org"}, "currencies": ["EUR", "USD", "CHF"]}
    _write(root / "config" / "settings.json", json.dumps(flags, indent=2) + "\n")
    _write(root / "config" / "shop.env", "DB_HOST=db1.internal\nDB_PORT=5433\nLOG_LEVEL=info\n")
    nginx = "worker_connections 2048;\nserver {\n    listen 80;\n    listen 443 ssl;\n    listen 9443 ssl;\n"
    nginx += "    proxy_pass http://127.0.0.1:8081;\n    # was 127a0b0c1\n    allow 127.0.0.1;\n}\n"
    _write(root / "config" / "nginx.conf", nginx)
    project = '[project]\nname = "shopd"\nversion = "2.7.1"\nrequires-python = ">=3.11"\n'
    _write(root / "pyproject.toml", project + 'dependencies = ["flask>=3", "sqlalchemy~=2.0", "requests"]\n')
    package = {"name": "shop-web", "version": "4.18.0", "scripts": {"build": "vite build", "test": "vitest run"}}
    package |= {"dependencies": {"vue": "^3.4.0", "pinia": "^2.1.7", "axios": "1.6.8"}}
    _write(root / "package.json", json.dumps(package, indent=2) + "\n")
    _write(root / ".gitignore", "logs/\nbackups/\nuploads/\nreleases/\n")


def _data(data: Path, rng: random.Random) -> None:
    rows = ["id,name,country,city,plan\n"]
    for number in range(1, 188):
        country = rng.choices(("DE", "FR", "US", "PL"), (6, 3, 3, 1))[0]
        plan = rng.choice(("free", "pro", "team"))
        rows.append(f'{number},"Customer {number}, Ltd",{country},City {number % 17},{plan}\n')
    _write(data / "customers.csv", "".join(rows))
    rows = ["order_id,customer_id,date,status,total\n"]
    for number in range(1, 442):
        status = rng.choices(("paid", "open", "refunded"), (8, 3, 1))[0]
        total = f"{rng.randrange(500, 40000) / 100:.2f}"
        rows.append(f"{9000 + number},{rng.randrange(1, 188)},2026-10-{number % 30 + 1:02},{status},{total}\n")
    _write(data / "orders.csv", "".join(rows))
    prices = [{"sku": f"A-{n:03}", "price": rng.randrange(100, 9999) / 100, "stock": n * 3} for n in range(64)]
    _write(data / "prices.json", json.dumps(prices, indent=1) + "\n")


def _blobs(root: Path, rng: random.Random) -> None:
    for number, size in enumerate((210_000, 3_410_000, 880_000, 1_620_000, 97_000, 2_250_000, 1_048_000), 1):
        _blob(root / "backups" / f"db-{number:02}.sql", size, number)
    for number in range(1, 24):
        _blob(root / "uploads" / f"img{number:03}.jpg", 900 + rng.randrange(4000), 100 + number)
    for number in (4, 9, 17):
        copy = root / "uploads" / "imported" / f"photo-{number}.jpg"
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes((root / "uploads" / f"img{number:03}.jpg").read_bytes())
    for release in ("2026-10", "2026-11"):
        for name in ("main.bin", "menu.txt", "help.txt"):
            _write(root / "releases" / release / name, f"{name} of the shop\n" * 12)
    _write(root / "releases" / "2026-10" / "legacy.txt", "old\n")
    _write(root / "releases" / "2026-11" / "plugins" / "giftcard.txt", "new\n")
    _write(root / "releases" / "2026-11" / "notes.txt", "new\n")
    _write(root / "releases" / "2026-11" / "menu.txt", "menu, changed\n")
    (root / "uploads" / "pending").mkdir()


def _blob(path: Path, size: int, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(random.Random(seed).randbytes(size))  # noqa: S311 - the same bytes each time


_PEOPLE = {
    "Ana Petrova": "ana@example.org",
    "Bob Lee": "bob@example.org",
    "Chen Wei": "chen@example.org",
}


def _history(root: Path, now: float) -> None:
    """Commit all of it, then 52 changes over 100 days, the last one two days before `now`."""
    rng = random.Random(77)  # noqa: S311 - the same history each time
    _git(root, now, "init", "-q", "-b", "main")
    _git(root, now, "add", "-A")
    _git(root, now - 103 * DAY, "commit", "-q", "-m", "Begin the shop", who="Chen Wei")
    ages = sorted((*(rng.uniform(8.5, 100) for _ in range(40)), *(rng.uniform(2.5, 6.5) for _ in range(11))))
    for age in reversed(ages):
        name = rng.choice(("cart", "cart", "vat", "orders", "mail", "stock"))
        verb = rng.choice(("Fix", "Add", "Tidy", "Speed up"))
        with open(root / "src" / "shop" / f"{name}.py", "a", encoding="utf-8") as source:
            source.write(f"# {verb} {age:.3f}\n")
        who = rng.choices(tuple(_PEOPLE), (5, 3, 2))[0]
        _git(root, now - age * DAY, "commit", "-qam", f"{verb} {name} again", who=who)
    _git(root, now - 30 * DAY, "tag", "v2.7.0", "HEAD~12")
    for name in ("src/shop/vat.py", "src/shop/orders.py", "docs/guide.md"):
        with open(root / name, "a", encoding="utf-8") as source:
            source.write("# totals\n")
    _git(root, now - 2 * DAY, "commit", "-qam", "Round VAT totals half even", who="Bob Lee")
    with open(root / "src" / "shop" / "stock.py", "a", encoding="utf-8") as source:
        source.write("# not committed yet\n")


def _git(root: Path, at: float, *words: str, who: str = "Ana Petrova") -> None:
    env = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for role in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{role}_NAME": who, f"GIT_{role}_EMAIL": _PEOPLE[who], f"GIT_{role}_DATE": f"@{int(at)} +0000"}
    subprocess.run(["git", *words], cwd=root, env=env, check=True, stdout=subprocess.DEVNULL)


_AGES = {  # days since the last change; the others are between 20 and 80 days old
    "logs/app.log": 0.01,
    "logs/api.jsonl": 0.4,
    "logs/debug-old.log": 130.0,
    "logs/app.log.1": 95.0,
    "backups/db-05.sql": 310.0,
    "backups/db-02.sql": 1.2,
    "data/orders.csv": 4.0,
    "data/prices.json": 6.0,
    "data/customers.csv": 33.0,
    "src/shop/stock.py": 0.2,
    "src/shop/vat.py": 2.0,
    "config/app.toml": 12.3,
}


def _age(root: Path, now: float) -> None:
    rng = random.Random(5)  # noqa: S311 - the same ages each time
    for folder, names, files in sorted(os.walk(root, topdown=False)):
        if ".git" in Path(folder).parts:
            continue
        for name in sorted(files):
            path = Path(folder, name)
            age = _AGES.get(str(path.relative_to(root)), rng.uniform(20, 80))
            os.utime(path, (now - age * DAY,) * 2, follow_symlinks=False)
        for name in sorted(names):
            if name != ".git":
                os.utime(Path(folder, name), (now - 81 * DAY,) * 2)
    os.chmod(root / "logs" / "app.log", 0o640)
