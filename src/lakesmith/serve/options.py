"""Options of ``up``, the certificate of its intake, and its unit of systemd."""

from __future__ import annotations

import re
import ssl
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lakesmith.errors import UsageError

_STOP_SECONDS = 300
"""Seconds that a batch may take to end before the service is killed, which loses nothing."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often ``up`` works.

    Args:
        every: seconds after which all tables without a schedule are looked at.
        at_most_every: the minimum number of seconds from one run to the next.
    """

    every: float = 10.0
    at_most_every: float = 0.0


@dataclass(frozen=True, slots=True)
class UpOptions:
    """Options of ``up``. ``tls``: the files of the certificate and of its key; None for plain HTTP."""

    project: Path
    target: str | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    pace: Pace = field(default_factory=Pace)
    tls: tuple[Path, Path] | None = None

    @property
    def url(self) -> str:
        """The address of the intake."""
        return f"http{'s' if self.tls else ''}://{self.host}:{self.port}"

    @property
    def served(self) -> list[str]:
        """The arguments of the intake process."""
        target = [] if self.target is None else ["--target", self.target]
        certificate = ["--tls-cert", str(self.tls[0]), "--tls-key", str(self.tls[1])] if self.tls else []
        return [str(self.project), *target, *certificate]

    def unit(self, name: str) -> str:
        """Returns the unit of systemd for a project called ``name``.

        See systemd.service(5), and systemd.syntax(7) for how values are quoted.
        """
        lakesmith = str(Path(sys.executable).with_name("lakesmith"))
        command = [lakesmith, "up", "--project", str(self.project), *self._arguments()]
        return f"""# /etc/systemd/system/lakesmith-{name}.service
[Unit]
Description=lakesmith keeps {_escaped(name)} up to date
After=network-online.target
Wants=network-online.target

[Service]
WorkingDirectory={_escaped(str(self.project))}
ExecStart={" ".join(map(quoted_for_systemd, command))}
# Tokens and connections, NAME=value a line; only its owner may read it.
EnvironmentFile=-/etc/lakesmith/{_escaped(name)}.env
KillMode=mixed
TimeoutStopSec={_STOP_SECONDS}
Restart=always
RestartSec=5

[Install]
WantedBy=multi-user.target"""

    def _arguments(self) -> Iterator[str]:
        """The options as they are typed."""
        yield from ("--host", self.host, "--port", str(self.port))
        yield from ("--every", f"{self.pace.every:g}", "--at-most-every", f"{self.pace.at_most_every:g}")
        if self.tls is not None:
            for name, file in zip(("--tls-cert", "--tls-key"), self.tls, strict=True):
                yield from (name, str(file.resolve()))
        if self.target is not None:
            yield from ("--target", self.target)


def quoted_for_systemd(text: str) -> str:
    """Quotes a word of a command line for systemd.

    >>> quoted_for_systemd("/srv/my shop/100%")
    '"/srv/my shop/100%%"'
    """
    escaped = _escaped(text).replace("\\", r"\\").replace('"', r"\"").replace("$", "$$")
    return escaped if re.fullmatch(r"[\w/.:=@%+,$-]+", escaped) else f'"{escaped}"'


def _escaped(text: str) -> str:
    """Escapes percent signs: systemd replaces what follows one."""
    return text.replace("%", "%%")


def certificate_and_key(certificate: Path | None, key: Path | None) -> tuple[Path, Path] | None:
    """Returns the two files if a server can use them; None without any. Raises UsageError LS274."""
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise _wrong("one of two files", "--tls-cert and --tls-key")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
        raise _wrong(
            f"{certificate} and {key}: {reason or error}", "a certificate and its key, in PEM"
        ) from None
    return certificate.resolve(), key.resolve()


def _wrong(found: str, expected: str) -> UsageError:
    return UsageError.of("LS274", "events cannot be taken over HTTPS", None, expected, found)
