"""The certificate that events are taken with over HTTPS."""

from __future__ import annotations

import ssl
from pathlib import Path

from lakesmith.errors import Problem, UsageError


def certificate_and_key(certificate: Path | None, key: Path | None) -> tuple[Path, Path] | None:
    """The two files, where a server can begin with them; None without any. Raises UsageError LS274."""
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise _wrong("one of two files", "--tls-cert and --tls-key")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        reason = (
            error.reason
            if isinstance(error, ssl.SSLError)
            else error.strerror
            if isinstance(error, OSError)
            else None
        )
        raise _wrong(
            f"{certificate} and {key}: {reason or error}", "a certificate and its key, in PEM"
        ) from None
    return certificate.resolve(), key.resolve()


def _wrong(found: str, expected: str) -> UsageError:
    return UsageError(Problem("LS274", "events cannot be taken over HTTPS", None, expected, found))
