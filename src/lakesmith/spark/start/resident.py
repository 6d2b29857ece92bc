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
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from lakesmith.plan.cost import DataSize
from lakesmith.project.files import own_temporary
from lakesmith.spark.start.launch import DriverProcess, Gateway
from lakesmith.spark.start.session_folder import SessionFolder
from lakesmith.spark.start.versions import installed_spark

_PATIENCE_SECONDS: Final = 2.0
_REPLACED_SECONDS: Final = 90.0
"""How long a JVM that ``up`` is starting is waited for."""
_ASK_AGAIN_SECONDS: Final = 0.5
_KEEPER: Final = Path(__file__).with_name("keeper.py")
_OF_THE_TERMINAL: Final = (
    "_", "CI", "COLORTERM", "COLUMNS", "DISPLAY", "FORCE_COLOR", "LAKESMITH_", "LINES", "NO_COLOR",
    "OLDPWD", "PS1", "PWD", "SHLVL", "SSH_", "TERM",
    "TMUX", "VTE_", "WINDOWID", "XDG_SESSION_",
    "AIRFLOW_CTX_", "INVOCATION_ID", "JOURNAL_STREAM", "MEMORY_PRESSURE_", "NOTIFY_SOCKET",
    "SYSTEMD_EXEC_PID", "WATCHDOG_",
)  # fmt: skip
"""Beginnings of variables that differ between terminals, or between runs of a service, and do not affect the
JVM."""
_OF_THE_ENGINE: Final = (
    "AWS_", "HADOOP_", "HTTPS_PROXY", "HTTP_PROXY", "JAVA_", "JDK_", "LD_", "NO_PROXY", "PYSPARK_",
    "PYTHONPATH", "SPARK_", "TZ",
)  # fmt: skip
"""Beginnings of variables that affect what a JVM reaches, and how it works."""
_OF_PYSPARK: Final = frozenset({"SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE"})
"""What PySpark sets in a process that has had a session, and in those that such a process starts."""
STARTS_ITS_OWN: Final = "this command starts its own"
"""Words of the note that a warm JVM does not serve."""
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
    it is not. ``on_left``: called when one was left that was not there before. ``reads``: whether the command
    only reads. ``up``: the socket of ``up``, whose JVM is shared."""

    path: Path
    seconds: float = 0.0
    on_left: Callable[[], None] = lambda: None
    reads: bool = False
    up: Path | None = None


@dataclass(frozen=True, slots=True)
class Lendable:
    """A JVM that others may work in. ``parts``: what must be equal for that; ``size``: what it is
    set up for."""

    gateway: Gateway
    parts: Mapping[str, str] = field(default_factory=dict)
    size: DataSize = DataSize.LARGE


@dataclass(frozen=True, slots=True)
class Borrowed:
    """A warm JVM, for as long as ``connection`` is open. ``tag``: that of the jobs, if others work in it,
    too."""

    gateway: Gateway
    connection: socket.socket
    tag: str | None = None

    def give_back(self) -> None:
        """Says that all is done; without that the JVM is killed once the connection ends."""
        try:
            self.connection.sendall(b"done\n")
        finally:
            self.connection.close()


def socket_of(root: Path, target: str, kind: str = "engine") -> Path:
    """The socket of a project's keeper, in a folder that is this user's alone; such names must be short.

    ``kind``: ``up`` for that of ``up``.
    """
    text = f"{root.absolute()}\0{target}".encode("utf-8", "surrogateescape")
    return own_temporary() / f"{kind}-{hashlib.sha256(text).hexdigest()[:16]}.sock"


def parts_of(settings: object, size: DataSize | None) -> dict[str, str]:
    """Returns hashes of what must be equal for a warm JVM to serve (``WHAT_DIFFERS``).

    ``size``: None for the JVM of ``up``, whose environment is that of a service: of it only what reaches
    other machines and Java must be equal.
    """
    package = Path(__file__).parents[2]
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in _OF_PYSPARK
        if (_matters(name) if size is None else name != "_" and not name.startswith(_OF_THE_TERMINAL[1:]))
    }
    parts: dict[str, Any] = {
        "lakesmith": [version("lakesmith"), str(package), _newest(package)],
        "python": [sys.executable, sys.version, installed_spark()],
        "settings": settings,
        "environment": sorted(environment.items()),
        **({} if size is None else {"size": size}),
    }
    return {name: _hash(part) for name, part in parts.items()}


def wanted(parts: Mapping[str, str], size: DataSize) -> dict[str, str | list[str]]:
    """Returns what a kept JVM must have for work of this size (``parts_of``)."""
    return {**parts, "size": [_hash(each) for each in size.served_by]}


def _hash(part: object) -> str:
    return hashlib.sha256(json.dumps(part).encode()).hexdigest()[:16]


def _matters(name: str) -> bool:
    return name.upper().startswith(_OF_THE_ENGINE)


def _newest(package: Path) -> int:
    """Returns when the package last changed: a development version keeps its number."""
    return max(file.stat().st_mtime_ns for file in package.rglob("*.py"))


def borrow_from_up(
    path: Path, parts: Mapping[str, str], size: DataSize, reads: bool
) -> Borrowed | str | None:
    """As ``borrow``, the JVM of a running ``up``. ``reads``: nothing is written in it."""
    tag = f"lakesmith-{uuid.uuid4()}"
    return borrow(path, parts, {"size": size, "reads": reads, "tag": tag})


def borrow(
    path: Path, parts: Mapping[str, str | list[str]], more: Mapping[str, Any] = MappingProxyType({})
) -> Borrowed | str | None:
    """The warm JVM; or why it does not serve, in words; None if there is no warm JVM."""
    until = time.monotonic() + _REPLACED_SECONDS
    while True:
        if (found := _answered(path, {"want": dict(parts), **more})) is None:
            return None
        answer, connection = found
        if "port" in answer:
            connection.settimeout(None)
            gateway = Gateway(answer["port"], answer["secret"], answer["jvm_pid"])
            return Borrowed(gateway, connection, more.get("tag"))
        connection.close()
        if "starting" not in answer or time.monotonic() > until:
            return _why_not(answer)
        time.sleep(_ASK_AGAIN_SECONDS)


def _answered(path: Path, request: Mapping[str, object]) -> tuple[dict[str, Any], socket.socket] | None:
    connection = _connected(path)
    if connection is None:
        return None
    try:
        return _asked(connection, request), connection
    except (OSError, ValueError):
        connection.close()
        return None


def _why_not(answer: Mapping[str, Any]) -> str | None:
    if "none" in answer:
        return None
    if "starting" in answer:
        return f"it has been starting for {_REPLACED_SECONDS:.0f} s"
    if "busy" in answer:
        return f"process {answer['busy']} uses it"
    differs = " and ".join(WHAT_DIFFERS.get(name, name) for name in answer["differs"])
    return f"{differs} {'is' if len(answer['differs']) == 1 else 'are'} not what it was started with"


def size_of_kept(path: Path) -> DataSize | None:
    """Returns what the JVM that was kept is set up for; None if no JVM answers."""
    if (found := _answered(path, {"look": True})) is None:
        return None
    answer, connection = found
    connection.close()
    return next((each for each in DataSize if _hash(each) == answer.get("size")), None)


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
