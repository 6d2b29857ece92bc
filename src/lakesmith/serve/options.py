"""Options of ``up`` and of the page, their certificates, and the unit of systemd."""

from __future__ import annotations

import re
import ssl
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from lakesmith.errors import UsageError
from lakesmith.project.definitions import Project

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
class PageChoice:
    """How ``up`` serves the page.

    Args:
        serves: whether it does; None: if the project does not say otherwise, and the extra ``ui`` is there.
        port: its port; None: the project's.
        may_change: whether the page may change the lake.
        shows_link: whether the link that signs a browser in is printed, and not the address alone.
    """

    serves: bool | None = None
    port: int | None = None
    may_change: bool = True
    shows_link: bool = False


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Where the page is served. ``names``: under which browsers may ask for it, besides the machine's own;
    ``tls``: the files of the certificate and of its key."""

    host: str
    port: int
    names: tuple[str, ...] = ()
    tls: tuple[Path, Path] | None = None

    @property
    def url(self) -> str:
        """The page's address, for browsers."""
        name = self.names[0] if self.names else "127.0.0.1" if self.host == "localhost" else self.host
        shown = f"[{name}]" if ":" in name else name
        return f"http{'s' if self.tls else ''}://{shown}:{self.port}"


def page_options(
    project: Project,
    port: int | None = None,
    host: str | None = None,
    names: Sequence[str] = (),
    tls: tuple[Path | None, Path | None] = (None, None),
) -> PageOptions:
    """Returns where the page is served: as the project declares it, but for what is given.

    Raises UsageError LS274 (the certificate), LS284 (other machines could reach it without TLS).
    """
    declared = project.ui
    host, names = host or declared.host, (*names, *declared.allow_hosts)
    if declared.tls is not None and tls == (None, None):
        tls = (project.root / declared.tls.certificate, project.root / declared.tls.key)
    files = certificate_and_key(*tls, what="the page cannot be served over HTTPS")
    is_here = _is_loopback(host)
    if files is None and (names or not is_here):
        raise UsageError.of(
            "LS284",
            "the page would be served to other machines without TLS: its rows and its token could be read",
            expected="a certificate and its key, or the address 127.0.0.1 and no other name",
            found=f"{host}{', ' if names else ''}{', '.join(names)}, and no certificate",
            hint="--tls-cert FILE --tls-key FILE; or forward the port: ssh -L 8090:127.0.0.1:8090 HOST",
        )
    own = () if is_here or host in ("", "0.0.0.0", "::") else (host.lower(),)
    return PageOptions(
        host, declared.port if port is None else port, tuple(dict.fromkeys((*names, *own))), files
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@dataclass(frozen=True, slots=True)
class UpOptions:
    """Options of ``up``. ``tls``: the files of the certificate and of its key; None for plain HTTP."""

    project: Path
    target: str | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    pace: Pace = field(default_factory=Pace)
    tls: tuple[Path, Path] | None = None
    page: PageChoice = field(default_factory=PageChoice)

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
        if self.page.serves is False:
            yield "--no-ui"
        if self.page.port is not None:
            yield from ("--ui-port", str(self.page.port))
        if not self.page.may_change:
            yield "--read-only"
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


def certificate_and_key(
    certificate: Path | None, key: Path | None, what: str = "events cannot be taken over HTTPS"
) -> tuple[Path, Path] | None:
    """Returns the two files if a server can use them; None without any. Raises UsageError LS274."""
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        raise _wrong(what, "one of two files", "--tls-cert and --tls-key")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
        raise _wrong(
            what, f"{certificate} and {key}: {reason or error}", "a certificate and its key, in PEM"
        ) from None
    return certificate.resolve(), key.resolve()


def _wrong(what: str, found: str, expected: str) -> UsageError:
    return UsageError.of("LS274", what, None, expected, found)
