"""Certificates of engine and hosts, and messages that count by who signed them."""

from __future__ import annotations

import time

import msgspec
import pytest

from lumen_tui.hosts.certificates import ENGINE, HOST, Authority, BadCertificate, Credentials, Sealed
from lumen_tui.model.ids import BadId

NOW = time.time()
DAY = 86400.0


def test_a_message_says_whose_word_it_is(issuer):
    engine, attic = issuer.engine(), issuer.give("attic")
    assert attic.open(engine.seal(b"begin"), ENGINE, NOW) == ("engine", b"begin")
    assert engine.open(attic.seal(b"done"), HOST, NOW) == ("attic", b"done")
    assert (attic.signer.name, attic.signer.kind) == ("attic", HOST)


@pytest.mark.threat("S9", "hosts that are not obeyed, certificates of others")
def test_a_host_is_not_obeyed_as_if_it_were_the_engine(issuer):
    attic, cellar = issuer.give("attic"), issuer.give("cellar")
    with pytest.raises(BadCertificate, match="host cellar speaks as if it were the engine"):
        attic.open(cellar.seal(b"begin"), ENGINE, NOW)


@pytest.mark.threat("S9", "hosts that are not obeyed, certificates of others")
def test_a_certificate_of_another_authority_is_refused(issuer, forger):
    with pytest.raises(BadCertificate, match="certificate of engine is of another authority"):
        issuer.give("attic").open(forger.engine().seal(b"begin"), ENGINE, NOW)


@pytest.mark.threat("S9", "hosts that are not obeyed, certificates of others")
def test_a_host_certificate_signs_no_other(issuer, tmp_path):
    """The file of a host has a key: what that signs is not the authority's word."""
    thief = Authority(tmp_path / "thief")
    (tmp_path / "thief").mkdir()
    blocks = issuer.give("attic").path.read_text().split("-----BEGIN")
    (tmp_path / "thief" / "authority.pem").write_text("-----BEGIN".join(blocks[:3]))
    (tmp_path / "stolen.pem").write_bytes(thief.issue("engine", ENGINE, NOW))
    stolen = Credentials(tmp_path / "stolen.pem", NOW)
    with pytest.raises(BadCertificate, match="certificate of engine is of another authority"):
        issuer.give("cellar").open(stolen.seal(b"begin"), ENGINE, NOW)


@pytest.mark.threat("S9", "hosts that are not obeyed, certificates of others")
@pytest.mark.parametrize("part", ["certificate", "body", "signature"])
def test_a_message_that_was_changed_is_refused(issuer, part):
    engine, attic = issuer.engine(), issuer.give("attic")
    message = msgspec.msgpack.decode(engine.seal(b"begin"), type=Sealed)
    data = getattr(message, part)
    for at in range(0, len(data), max(1, len(data) // 20)):
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        sealed = msgspec.msgpack.encode(msgspec.structs.replace(message, **{part: changed}))
        with pytest.raises(BadCertificate):
            attic.open(sealed, ENGINE, NOW)


@pytest.mark.threat("S9", "hosts that are not obeyed, certificates of others")
def test_a_signature_goes_with_its_own_certificate_only(issuer):
    engine, other = issuer.engine(), issuer.give("second", ENGINE)
    message = msgspec.msgpack.decode(engine.seal(b"begin"), type=Sealed)
    theirs = msgspec.msgpack.decode(other.seal(b"begin"), type=Sealed)
    mixed = msgspec.structs.replace(message, certificate=theirs.certificate)
    with pytest.raises(BadCertificate, match="was not signed by it"):
        issuer.give("attic").open(msgspec.msgpack.encode(mixed), ENGINE, NOW)


@pytest.mark.threat("S9", "hosts that are not obeyed, certificates of others")
@pytest.mark.parametrize("rubbish", [b"", b"\xff" * 50, b"\x93\xc4\x00\xc4\x00\xc4\x00", b"[]", b"\x80"])
def test_rubbish_is_no_message(issuer, rubbish):
    with pytest.raises(BadCertificate):
        issuer.give("attic").open(rubbish, ENGINE, NOW)


@pytest.mark.parametrize(("days", "good"), [(-1.5, True), (0, True), (800, True), (-3, False), (900, False)])
def test_a_certificate_has_a_time_and_clocks_may_differ_by_a_day(issuer, days, good):
    engine, attic = issuer.engine(), issuer.give("attic")
    sealed, at = engine.seal(b"x"), NOW + days * DAY
    if good:
        assert attic.open(sealed, ENGINE, at) == ("engine", b"x")
        return
    with pytest.raises(BadCertificate, match=r"the certificate of engine counts from .* and today is"):
        attic.open(sealed, ENGINE, at)


def test_a_certificate_that_counted_does_not_count_for_ever(issuer):
    attic, engine = issuer.give("attic"), issuer.engine()
    sealed = attic.seal(b"hello")
    assert engine.open(sealed, HOST, time.time()) == engine.open(sealed, HOST, time.time()) == ("attic", b"hello")
    with pytest.raises(BadCertificate, match="the certificate of attic counts from"):
        engine.open(sealed, HOST, time.time() + 900 * 86_400)


def test_the_authority_is_made_once_and_only_its_owner_reads_it(issuer):
    path = issuer.root / "authority" / "authority.pem"
    before = path.read_bytes()
    issuer.authority.create(NOW + DAY)
    assert path.read_bytes() == before
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_the_key_of_the_authority_is_in_no_certificate(issuer):
    key = (issuer.root / "authority" / "authority.pem").read_text().partition("-----END PRIVATE KEY-----")[0]
    assert key not in issuer.give("attic").path.read_text()


@pytest.mark.parametrize("name", ["", "../attic", "Attic", "a" * 65, "at tic", "attic\n"])
def test_a_name_that_is_none_gets_no_certificate(issuer, name):
    with pytest.raises(BadId):
        issuer.authority.issue(name, HOST, NOW)


def test_without_an_authority_none_is_issued(tmp_path):
    with pytest.raises(BadCertificate, match=r"there is no authority in .*: make one first"):
        Authority(tmp_path).issue("attic", HOST, NOW)


def test_a_file_with_another_key_and_a_file_with_none_are_refused(issuer, tmp_path):
    attic, cellar = issuer.give("attic").path.read_bytes(), issuer.give("cellar").path.read_bytes()
    mark = b"-----END PRIVATE KEY-----\n"
    path = tmp_path / "mixed.pem"
    path.write_bytes(attic.partition(mark)[0] + mark + cellar.partition(mark)[2])
    with pytest.raises(BadCertificate, match="belongs to another key"):
        Credentials(path, NOW)
    path.write_bytes(b"rubbish")
    with pytest.raises(BadCertificate, match="is no file with a key"):
        Credentials(path, NOW)
    with pytest.raises(BadCertificate, match="there is no certificate at"):
        Credentials(tmp_path / "none.pem", NOW)
