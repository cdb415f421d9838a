"""Who is who among engine and hosts: an authority of the operator's own, a certificate for each, and sealed messages.

TLS keeps everybody else out. But whoever holds any certificate may speak to the scheduler between the hosts, and by it
to all of them. So no message counts by the way that it took: each is signed, and its certificate says whose word it
is and as what. A host obeys an engine, and can neither order another host nor answer in its name.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import NamedTuple

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import NameOID
from msgspec import Struct

from lumen_tui.model import ids
from lumen_tui.model.decoding import UNDECODABLE
from lumen_tui.model.text import one_line
from lumen_tui.storage import directories, files

ENGINE, HOST = "engine", "host"
_CONTEXT = b"lumen-tui hosts, sealed message 1\n"
_AUTHORITY = "authority.pem"
_YEARS, _DAYS = 20, 825
_MOST_VOUCHED = 1000  # certificates whose signature need not be looked at again
_EARLIER = dt.timedelta(days=2)  # a certificate counts so long before it was made: clocks differ


class BadCertificate(Exception):
    """A certificate or a message is not what it should be; the text says what and whose. Nothing of it counts."""


class Sealed(Struct, frozen=True):
    """A message with the certificate of its signer (DER) and the signature over it."""

    certificate: bytes
    body: bytes
    signature: bytes


class Signer(NamedTuple):
    """Whose word a message is."""

    name: str
    kind: str


class Credentials:
    """The key of an engine or a host, with its certificate and that of the authority."""

    def __init__(self, path: Path, now: float) -> None:
        """Read a file that holds what `Authority.issue` returned. BadCertificate, StoreError, OSError."""
        self.path = path
        pem = files.read(path)
        if pem is None:
            raise BadCertificate(f"there is no certificate at {path}")
        try:
            self._key = _key(pem)
            self._own, self._authority = x509.load_pem_x509_certificates(pem)
        except (ValueError, TypeError) as error:
            words = "is no file with a key, its certificate and that of its authority"
            raise BadCertificate(f"{path} {words}: {error}") from error
        self.authority_pem = self._authority.public_bytes(Encoding.PEM).decode("ascii")
        self._vouched: dict[bytes, x509.Certificate] = {}  # DER -> certificates that were seen to be of our authority
        self.signer = self._check(self._own, now)
        if self._own.public_key() != self._key.public_key():
            raise BadCertificate(f"the certificate of {self.signer.name} belongs to another key")

    def seal(self, body: bytes) -> bytes:
        """Sign a message."""
        own = self._own.public_bytes(Encoding.DER)
        signature = self._key.sign(_CONTEXT + own + body, ec.ECDSA(SHA256()))
        return msgspec.msgpack.encode(Sealed(own, body, signature))

    def open(self, sealed: bytes, kind: str, now: float) -> tuple[str, bytes]:
        """Return the name of the signer, which is of that kind, and the message. BadCertificate."""
        try:
            message = msgspec.msgpack.decode(sealed, type=Sealed)
            known = self._vouched.get(message.certificate)
            certificate = known or x509.load_der_x509_certificate(message.certificate)
        except (*UNDECODABLE, ValueError) as error:
            raise BadCertificate(f"a message without a certificate: {error}") from error
        signer = self._check(certificate, now, vouched=known is not None)
        if len(self._vouched) < _MOST_VOUCHED:
            self._vouched[message.certificate] = certificate
        if signer.kind != kind:
            raise BadCertificate(f"{signer.kind} {signer.name} speaks as if it were the {kind}")
        public = certificate.public_key()
        try:
            if not isinstance(public, ec.EllipticCurvePublicKey):
                raise InvalidSignature
            public.verify(message.signature, _CONTEXT + message.certificate + message.body, ec.ECDSA(SHA256()))
        except InvalidSignature:
            raise BadCertificate(f"a message in the name of {signer.name} was not signed by it") from None
        return signer.name, message.body

    def _check(self, certificate: x509.Certificate, now: float, *, vouched: bool = False) -> Signer:
        """Return who a certificate is about. BadCertificate where our authority does not say so, or not now."""
        signer = _signer(certificate)
        try:
            if not vouched:
                certificate.verify_directly_issued_by(self._authority)
        except (ValueError, TypeError, InvalidSignature):
            raise BadCertificate(f"the certificate of {signer.name} is of another authority") from None
        at = dt.datetime.fromtimestamp(now, dt.UTC)
        first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        if not first <= at <= last:
            words = f"counts from {first.date()} to {last.date()}, and today is {at.date()}"
            raise BadCertificate(f"the certificate of {signer.name} {words}")
        return signer


class Authority:
    """Makes certificates. Its key stays in the folder in which it was made."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _AUTHORITY

    def exists(self) -> bool:
        """Return whether it was made."""
        return self._path.exists()

    def create(self, now: float) -> None:
        """Make the key and the certificate of the authority, unless they are there. StoreError."""
        if self.exists():
            return
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("authority", ids.new_id("ca"))
        certificate = _certificate(name, name, key.public_key(), now, 365 * _YEARS, authority=True).sign(key, SHA256())
        directories.make_folder(self._path.parent)
        files.replace(self._path, _pem(key) + certificate.public_bytes(Encoding.PEM))

    def issue(self, name: str, kind: str, now: float) -> bytes:
        """Return a new key, its certificate and the authority's, for a file. BadId, BadCertificate, StoreError."""
        ids.check_name(name, kind)
        data = files.read(self._path)
        if data is None:
            raise BadCertificate(f"there is no authority in {self._path.parent}: make one first")
        try:
            authority, (own,) = _key(data), x509.load_pem_x509_certificates(data)
        except (ValueError, TypeError) as error:
            raise BadCertificate(f"{self._path} cannot be read: {error}") from error
        key = ec.generate_private_key(ec.SECP256R1())
        made = _certificate(_name(kind, name), own.subject, key.public_key(), now, _DAYS, authority=False)
        certificate = made.sign(authority, SHA256())
        return _pem(key) + certificate.public_bytes(Encoding.PEM) + own.public_bytes(Encoding.PEM)


def _key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = load_pem_private_key(pem, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("its key is of another kind")
    return key


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _name(kind: str, name: str) -> x509.Name:
    attributes = ((NameOID.ORGANIZATIONAL_UNIT_NAME, kind), (NameOID.COMMON_NAME, name))
    return x509.Name([x509.NameAttribute(oid, text) for oid, text in attributes])


def _signer(certificate: x509.Certificate) -> Signer:
    def text(oid: x509.ObjectIdentifier) -> str:
        values = certificate.subject.get_attributes_for_oid(oid)
        return one_line(str(values[0].value), 80) if len(values) == 1 else ""

    return Signer(text(NameOID.COMMON_NAME), text(NameOID.ORGANIZATIONAL_UNIT_NAME))


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: float, days: int, *, authority: bool
) -> x509.CertificateBuilder:
    """Return a certificate that is to be signed; that of an authority signs others, and those sign none."""
    begins = dt.datetime.fromtimestamp(now, dt.UTC)
    return (
        x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number())
        .not_valid_before(begins - _EARLIER)
        .not_valid_after(begins + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=0 if authority else None), critical=True)
    )
