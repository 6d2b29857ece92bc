"""The certificates that this machine trusts, as a file that Java reads.

A Java that comes as a wheel brings its own list of authorities, and does not know the one of a company's or a sandbox's
proxy, which the machine's administrator has added for everything else (``SSL_CERT_FILE``, ``/etc/ssl/certs``).

The format is JKS as OpenJDK's ``sun.security.provider.JavaKeyStore`` reads it: magic, version 2, the number of entries; each
a tag (2: a trusted certificate), alias, date, type and DER bytes, all lengths big-endian; and a SHA-1 over the password,
a fixed phrase and the bytes before. A reader that is given no password does not look at the SHA-1.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import struct
from collections.abc import Sequence
from pathlib import Path

_MAGIC, _VERSION, _TRUSTED = 0xFEEDFEED, 2, 2
_PASSWORD = "changeit".encode("utf-16-be")
_PHRASE = b"Mighty Aphrodite"
_END = "-----END CERTIFICATE-----"


def write_trust_store(folder: Path) -> Path | None:
    """Writes what this machine trusts to ``folder``; None when it has no list of certificates."""
    bundle = _bundle()
    if bundle is None:
        return None
    certificates = _certificates(bundle.read_text(errors="ignore"))
    store = folder / "trust.jks"
    store.write_bytes(trust_store(certificates))
    return store if certificates else None


def trust_store(certificates: Sequence[bytes]) -> bytes:
    """A JKS file of trusted certificates, each in DER."""
    body = struct.pack(">III", _MAGIC, _VERSION, len(certificates))
    for number, der in enumerate(certificates):
        alias = _text(f"ca{number}")
        body += struct.pack(">I", _TRUSTED) + alias + struct.pack(">Q", 0) + _text("X.509")
        body += struct.pack(">I", len(der)) + der
    return body + hashlib.sha1(_PASSWORD + _PHRASE + body).digest()


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">H", len(encoded)) + encoded


def _certificates(pem: str) -> list[bytes]:
    """Each certificate of a PEM file in DER, once; notes between them are passed over."""
    parts = (part[part.find("-----BEGIN CERTIFICATE-----") :] for part in pem.split(_END)[:-1])
    return list(dict.fromkeys(ssl.PEM_cert_to_DER_cert(part + _END) for part in parts))


def _bundle() -> Path | None:
    named = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    usual = (
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
    )
    return next((Path(path) for path in (named, *usual) if path and Path(path).is_file()), None)
