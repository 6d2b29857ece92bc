"""A process that keeps a driver JVM warm between commands. Standard library alone: it costs 10 MB while it
waits.

It holds the pipe that the JVM reads: Spark's gateway ends when that pipe does, so however this process ends,
the JVM ends too. Commands ask for the JVM over a Unix socket that only its owner can open, one at a time. Who
borrows it holds the connection and says ``done`` at the end. A connection that ends without that was a
command that died: what it had begun might still be published, so the JVM is killed.

    request                     answer
    {"want": {NAME: HASHES}}    {"port", "secret", "jvm_pid"}, {"differs": [NAME]}, or {"busy": PID}
    {"stop": true}              {"stopped": true} or {"busy": PID}
    {"look": true}              {"size": HASH}
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

TICK_SECONDS: Final = 1.0
SUSPENDED_SECONDS: Final = 60.0
"""A pause this long means that the machine slept: Spark has lost its executor."""
PATIENCE_SECONDS: Final = 5.0


class Keeper:
    """Lends out one JVM until nobody has asked for it for ``idle_seconds``."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._task = task
        self._borrower: socket.socket | None = None
        self._borrower_pid = 0
        self._ends = False
        self._idle_since = time.monotonic()
        self._selector = selectors.DefaultSelector()

    def keep(self) -> None:
        path = Path(self._task["socket"])
        with listening(path) as server:
            self._selector.register(server, selectors.EVENT_READ)
            try:
                while not self._is_over():
                    self._serve(server)
            finally:
                path.unlink(missing_ok=True)

    def _is_over(self) -> bool:
        idle = self._borrower is None and time.monotonic() - self._idle_since > self._task["idle_seconds"]
        return self._ends or idle or not is_running(self._task["jvm_pid"])

    def _serve(self, server: socket.socket) -> None:
        asked = time.time()
        ready = self._selector.select(TICK_SECONDS)
        if self._borrower is None and time.time() - asked > SUSPENDED_SECONDS:
            self._ends = True
            return
        for key, _ in ready:
            if key.fileobj is server:
                self._answer(server.accept()[0])
            else:
                self._given_back()

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE_SECONDS)
        try:
            request = json.loads(read_line(connection))
            answer = self._answer_to(request)
            connection.sendall(json.dumps(answer).encode() + b"\n")
        except (OSError, ValueError):
            connection.close()
            return
        if "port" in answer:
            self._borrower, self._borrower_pid = connection, peer_of(connection)[0]
            self._selector.register(connection, selectors.EVENT_READ)
        else:
            connection.close()

    def _answer_to(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("look"):
            return {"size": self._task["parts"]["size"]}
        if self._borrower is not None:
            return {"busy": self._borrower_pid}
        if request.get("stop"):
            self._ends = True
            return {"stopped": True}
        want, has = request["want"], self._task["parts"]
        if differs := differing(want, has):
            return {"differs": differs}
        return {name: self._task[name] for name in ("port", "secret", "jvm_pid")}

    def _given_back(self) -> None:
        assert self._borrower is not None
        try:
            is_done = read_line(self._borrower) == b"done"
        except OSError:
            is_done = False
        if not is_done:
            kill(self._task["jvm_pid"])
            self._ends = True
        self._selector.unregister(self._borrower)
        self._borrower.close()
        self._borrower, self._idle_since = None, time.monotonic()


def read_line(connection: socket.socket) -> bytes:
    """One line without its end; what there is of it where the connection ends before."""
    found = b""
    while not found.endswith(b"\n"):
        part = connection.recv(65536)
        if not part:
            break
        found += part
    return found.rstrip(b"\n")


def listening(path: Path) -> socket.socket:
    """Returns a socket that only this user can open, which listens at once when it is at its path: one that
    nobody listens to is taken for what a dead process left."""
    beside = path.with_suffix(f".{os.getpid()}")
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old = os.umask(0o177)
    try:
        beside.unlink(missing_ok=True)
        server.bind(str(beside))
    finally:
        os.umask(old)
    server.listen()
    beside.replace(path)
    return server


def peer_of(connection: socket.socket) -> tuple[int, int | None]:
    """Returns the process and the user at the other end; 0 and None if unknown."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0, None
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _ = struct.unpack("3i", found)
    return int(pid), int(uid)


def differing(want: dict[str, str | list[str]], has: dict[str, str]) -> list[str]:
    """Returns the names of the parts that are not what is wanted, which may be one of several."""
    return sorted(name for name in {*want, *has} if has.get(name) not in _choices(want.get(name)))


def _choices(wanted: str | list[str] | None) -> list[str | None]:
    return [*wanted] if isinstance(wanted, list) else [wanted]


def is_running(pid: int) -> bool:
    """Whether the process is there and no zombie, which is what is left of a child that nobody waits for."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return not Path("/proc/self").exists()


def kill(pid: int) -> None:
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def _end(task: dict[str, Any]) -> None:
    """Asks the JVM to exit, kills it if need be, and deletes its folder."""
    os.close(task["pipe"])
    until = time.monotonic() + PATIENCE_SECONDS
    while is_running(task["jvm_pid"]) and time.monotonic() < until:
        time.sleep(0.05)
    kill(task["jvm_pid"])
    shutil.rmtree(task["folder"], ignore_errors=True)


def main() -> None:
    """Reads from standard input what to keep: as arguments others could read the secret."""
    task = json.loads(sys.stdin.readline())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        Keeper(task).keep()
    finally:
        _end(task)


if __name__ == "__main__":
    main()
