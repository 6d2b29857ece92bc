"""``lakesmith up`` as a service: the unit of systemd (systemd.service(5), and systemd.syntax(7) for how values are quoted)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

_STOP_SECONDS = 300
"""How long a batch under way may take to end before the service is killed: nothing is lost by that, it is done again."""


def unit_of(name: str, root: Path, arguments: Iterable[str]) -> str:
    """The unit for the project ``name`` in the folder ``root``; ``arguments``: those of ``up``."""
    command = [str(Path(sys.executable).with_name("lakesmith")), "up", "--project", str(root), *arguments]
    return f"""# /etc/systemd/system/lakesmith-{name}.service
[Unit]
Description=lakesmith keeps {_escaped(name)} up to date
After=network-online.target
Wants=network-online.target

[Service]
WorkingDirectory={_escaped(str(root))}
ExecStart={" ".join(map(quoted_for_systemd, command))}
# Tokens and connections, NAME=value a line; only its owner may read it.
EnvironmentFile=-/etc/lakesmith/{_escaped(name)}.env
KillMode=mixed
TimeoutStopSec={_STOP_SECONDS}
Restart=always
RestartSec=5

[Install]
WantedBy=multi-user.target"""


def quoted_for_systemd(text: str) -> str:
    """A word of a command line, as systemd reads it.

    >>> quoted_for_systemd("/srv/my shop/100%")
    '"/srv/my shop/100%%"'
    """
    escaped = _escaped(text).replace("\\", r"\\").replace('"', r"\"").replace("$", "$$")
    return escaped if re.fullmatch(r"[\w/.:=@%+,$-]+", escaped) else f'"{escaped}"'


def _escaped(text: str) -> str:
    """systemd fills in what follows a percent sign."""
    return text.replace("%", "%%")
