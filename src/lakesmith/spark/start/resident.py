"""A driver JVM that outlives the command that started it: left to a keeper, and borrowed by the commands that
follow.

Each command is a process of its own, which reads every definition and table again and holds the project's
lock itself: only the JVM is shared, so nothing that a command promises depends on there being one.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from lakesmith.project.files import own_temporary
from lakesmith.spark.start.launch import DriverProcess, Gateway
from lakesmith.spark.start.session_folder import SessionFolder
from lakesmith.spark.start.versions import installed_spark

_PATIENCE_SECONDS: Final = 2.0
_KEEPER: Final = Path(__file__).with_name("keeper.py")
_OF_THE_TERMINAL: Final = (
    "_", "CI", "COLORTERM", "COLUMNS", "DISPLAY", "FORCE_COLOR", "LAKESMITH_", "LINES", "NO_COLOR",
    "OLDPWD", "PS1", "PWD", "SHLVL", "SSH_", "TERM",
    "TMUX", "VTE_", "WINDOWID", "XDG_SESSION_",
)  # fmt: skip
"""Beginnings of variables that differ between terminals and do not affect the JVM."""
WHAT_DIFFERS: Final = {
    "lakesmith": "the installed lakesmith",
    "python": "the Python, or its PySpark",
    "settings": "the project's place or settings",
    "environment": "the environment",
    "size": "the amount of data",
}
"""What the parts that have to be the same are called."""


@dataclass(frozen=True, slots=True)
class KeepWarm:
    """``path``: the socket of the keeper. ``seconds``: how long the JVM is kept when this command is done, 0:
    it is not. ``on_left``: called when one was left that was not there before."""

    path: Path
    seconds: float = 0.0
    on_left: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Borrowed:
    """A warm JVM, for as long as ``connection`` is open."""

    gateway: Gateway
    connection: socket.socket

    def give_back(self) -> None:
        """Says that all is done; without that the JVM is killed once the connection ends."""
        try:
            self.connection.sendall(b"done\n")
        finally:
            self.connection.close()


def socket_of(root: Path, target: str) -> Path:
    """The socket of a project's keeper, in a folder that is this user's alone; such names must be short."""
    text = f"{root.absolute()}\0{target}".encode("utf-8", "surrogateescape")
    return own_temporary() / f"engine-{hashlib.sha256(text).hexdigest()[:16]}.sock"


def parts_of(settings: object, little: bool) -> dict[str, str]:
    """Returns hashes of what must be equal for a warm JVM to serve (``WHAT_DIFFERS``)."""
    package = Path(__file__).parents[2]
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "_" and not name.startswith(_OF_THE_TERMINAL[1:])
    }
    parts: dict[str, Any] = {
        "lakesmith": [version("lakesmith"), str(package), _newest(package)],
        "python": [sys.executable, sys.version, installed_spark()],
        "settings": settings,
        "environment": sorted(environment.items()),
        "size": little,
    }
    return {name: hashlib.sha256(json.dumps(part).encode()).hexdigest()[:16] for name, part in parts.items()}


def _newest(package: Path) -> int:
    """Returns when the package last changed: a development version keeps its number."""
    return max(file.stat().st_mtime_ns for file in package.rglob("*.py"))


def borrow(path: Path, parts: Mapping[str, str]) -> Borrowed | str | None:
    """The warm JVM; or why it does not serve, in words; None if there is no warm JVM."""
    connection = _connected(path)
    if connection is None:
        return None
    try:
        answer = _asked(connection, {"want": dict(parts)})
    except (OSError, ValueError):
        connection.close()
        return None
    if "port" in answer:
        connection.settimeout(None)
        return Borrowed(Gateway(answer["port"], answer["secret"], answer["jvm_pid"]), connection)
    connection.close()
    if "busy" in answer:
        return f"process {answer['busy']} uses it"
    differs = " and ".join(WHAT_DIFFERS.get(name, name) for name in answer["differs"])
    return f"{differs} {'is' if len(answer['differs']) == 1 else 'are'} not what it was started with"


def stop(path: Path) -> int | bool:
    """Ends the warm JVM. True: it ended; False: there was none; a number: the process that uses it."""
    connection = _connected(path)
    if connection is None:
        return False
    with connection:
        try:
            answer = _asked(connection, {"stop": True})
        except (OSError, ValueError):
            return False
    return int(answer["busy"]) if "busy" in answer else True


def leave(
    keep: KeepWarm, driver: DriverProcess, folder: SessionFolder, gateway: Gateway, parts: Mapping[str, str]
) -> None:
    """Has a keeper keep the JVM, in place of one that there was. Raises OSError."""
    stop(keep.path)
    pipe = driver.process.stdin
    assert pipe is not None, "the JVM was started with a pipe"
    task = {
        "socket": str(keep.path),
        "idle_seconds": keep.seconds,
        "pipe": pipe.fileno(),
        "folder": str(folder.path),
        "port": gateway.port,
        "secret": gateway.secret,
        "jvm_pid": gateway.jvm_pid,
        "parts": dict(parts),
    }
    keeper = subprocess.Popen(
        [sys.executable, "-E", "-s", str(_KEEPER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(pipe.fileno(), folder.lock_fd),
        cwd="/",
        start_new_session=True,
    )
    assert keeper.stdin is not None
    with keeper.stdin:
        keeper.stdin.write(json.dumps(task).encode() + b"\n")
    pipe.close()
    os.close(folder.lock_fd)


def _connected(path: Path) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(_PATIENCE_SECONDS)
    try:
        connection.connect(str(path))
    except OSError as error:
        connection.close()
        if isinstance(error, ConnectionRefusedError):
            path.unlink(missing_ok=True)
        return None
    return connection


def _asked(connection: socket.socket, request: Mapping[str, object]) -> dict[str, Any]:
    connection.sendall(json.dumps(request).encode() + b"\n")
    found = b""
    while not found.endswith(b"\n"):
        part = connection.recv(65536)
        if not part:
            raise ValueError("the keeper has gone")
        found += part
    answer: dict[str, Any] = json.loads(found)
    return answer
