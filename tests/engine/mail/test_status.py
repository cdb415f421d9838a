"""What `mail` and `mail test` say of how mail is set up and how it goes, on real servers."""

from __future__ import annotations

import json

from lumen_dovecot import PASSWORD, USER, dovecot
from lumen_smtp import ANA, letter

from lumen_tui.__main__ import main


def out(mailed, capsys, *words: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["--state", str(mailed.world.root), "mail", *words])
    shown = capsys.readouterr()
    return code, shown.out + shown.err


async def test_it_names_what_is_set_up_what_is_wrong_and_what_was_refused(inbox, monkeypatch, capsys, tmp_path) -> None:
    inbox.settings(more=f'maildir = "{tmp_path}/nowhere"\n')
    inbox.deliver(letter("x\nlumen-" + "x" * 32, "eve@example.org"), monkeypatch)
    await inbox.beat()
    await inbox.until(lambda: "no Maildir" in out(inbox, capsys)[1])
    code, shown = out(inbox, capsys)
    assert code == 0
    assert f"{tmp_path}/nowhere: {tmp_path}/nowhere is no Maildir: it has no new/ (since" in shown
    assert "never reached" in shown
    assert "imap" in shown and "not set up" in shown
    assert "spoofed: it has a token and comes from no operator's address" in shown
    told = json.loads(out(inbox, capsys, "--json")[1])
    assert told["sources"]["maildir"]["lasting"] is True
    assert [line["outcome"] for line in told["refused"]] == ["refused"]


async def test_a_test_looks_at_each_place_and_sends_a_message(
    mailed, certificate, trusted, monkeypatch, capsys, tmp_path
) -> None:
    for name in ("new", "cur", "tmp"):
        (tmp_path / "Maildir" / name).mkdir(parents=True)
    monkeypatch.setenv("IMAP_PASSWORD", PASSWORD)
    with dovecot(certificate) as server:
        server.put(letter("hi").as_bytes())
        settings = (
            f'maildir = "{tmp_path}/Maildir"\nimap = "imaps://localhost:{server.tls_port}"\nimap_user = "{USER}"\n'
            'imap_password = "env:IMAP_PASSWORD"\n'
        )
        mailed.settings(more=settings)
        code, shown = out(mailed, capsys, "test")
        assert code == 1
        assert "imap: localhost: its certificate is refused: self-signed certificate" in shown
        assert f"smtp: sent to {ANA}" in shown
        mailed.settings(more=settings.replace("imaps:", "imap:").replace(str(server.tls_port), str(server.port)))
        code, shown = out(mailed, capsys, "test")
    assert code == 0, shown
    assert "imap: INBOX: 1 messages; the server tells of new ones" in shown
    assert f"maildir: {tmp_path}/Maildir: 0 in new/" in shown
    assert [message["Auto-Submitted"] for message in mailed.post.letters] == ["auto-generated"] * 2


def test_nothing_set_up_is_a_sentence(inbox, capsys) -> None:
    inbox.world.layout.config.write_text("")
    code, shown = out(inbox, capsys, "test")
    assert code == 2
    assert "no mail is set up" in shown
