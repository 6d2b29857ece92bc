"""Processes beside ``up``, which it starts, watches and ends; and the ports that it opens for them.

``up`` opens a port and passes it on: a port in use is known at once, and connections wait while a process is
replaced.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

_SETTLED_SECONDS: Final = 10.0
"""Seconds; a process that ended sooner is replaced after a pause, which doubles each time."""
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_ZONE: Final = os.environ.get("TZ")
"""The time zone that this process was started with."""
_WAITING_CONNECTIONS: Final = 2048


def open_port(host: str, port: int) -> list[socket.socket]:
    """Opens the port on each address of ``host``. Raises OSError."""
    opened: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            opened.append(socket.socket(family, kind, protocol))
            _bind(opened[-1], address)
    except OSError:
        for each in opened:
            each.close()
        raise
    return opened


def _bind(opened: socket.socket, address: tuple[object, ...]) -> None:
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if opened.family is socket.AF_INET6:
        opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    opened.bind(address)
    opened.listen(_WAITING_CONNECTIONS)


class KeptProcess:
    """A process that is started again if it ends by itself, or hangs.

    Args:
        command: a Python module and its arguments.
        name: the name of the thread that watches it.
        said: receives each line that the process prints, in that thread.
        ended: receives how the process ended, in words, before it is started again.
        patience: seconds that it may take to end when it is asked to.
        silence: seconds without a line after which it counts as hung, and is killed; None: any time.
    """

    def __init__(
        self,
        command: Sequence[str],
        name: str,
        said: Callable[[bytes], None],
        ended: Callable[[str], None],
        patience: float,
        silence: float | None = None,
    ) -> None:
        self._command = [sys.executable, "-m", *command]
        self._said, self._ended, self._patience, self._silence = said, ended, patience, silence
        self._process: subprocess.Popen[bytes] | None = None
        self._sockets: Sequence[socket.socket] = ()
        self._lock = threading.Lock()
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=name, daemon=True)

    @property
    def pid(self) -> int | None:
        """The number of the process, or of the last one."""
        return None if self._process is None else self._process.pid

    def start(self, sockets: Sequence[socket.socket]) -> None:
        """Starts the process on sockets that listen, whose numbers it gets as ``--fd``."""
        self._sockets = sockets
        self._thread.start()

    def tell(self, number: signal.Signals) -> None:
        """Sends the process a signal, if it is there."""
        if (process := self._process) is not None:
            with suppress(OSError):
                process.send_signal(number)

    def end(self) -> None:
        with self._lock:
            self._is_ending.set()
        if self._process is not None:
            self._process.terminate()
            self._thread.join(self._patience)
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()
        for each in self._sockets:
            each.close()

    def _keep(self) -> None:
        pause = 0.0
        while not self._is_ending.wait(pause):
            began = time.monotonic()
            how = self._live()
            if self._is_ending.is_set():
                return
            is_early = time.monotonic() - began < _SETTLED_SECONDS
            pause = min(max(2 * pause, _FIRST_PAUSE), _LONGEST_PAUSE) if is_early else 0.0
            # ``up`` ends by itself if nobody reads its output; the process is kept until then.
            with suppress(OSError):
                self._ended(how)

    def _live(self) -> str:
        """Runs the process to its end; returns how it ended, in words."""
        try:
            process = self._start()
        except OSError as error:
            return f"it cannot be started: {error}"
        if process is None:
            return ""
        if process.stdout is not None:
            with process.stdout as output:
                for line in lines_of(output.fileno(), self._silence):
                    if line is None:
                        # A stopped process ends by no other signal.
                        process.kill()
                        process.wait()
                        return f"it hung: it said nothing for {self._silence:.0f} seconds"
                    with suppress(OSError):
                        self._said(line)
        return _how(process.wait())

    def _start(self) -> subprocess.Popen[bytes] | None:
        """Returns None if the process is not wanted any more."""
        files = [each.fileno() for each in self._sockets]
        command = [*self._command, *(f"--fd={file}" for file in files)]
        with self._lock:
            if self._is_ending.is_set():
                return None
            # Ctrl-C is for this process, which ends the other one after its last batch.
            self._process = subprocess.Popen(
                command, start_new_session=True, pass_fds=files, stdout=subprocess.PIPE, env=_environment()
            )
            return self._process


def _environment() -> dict[str, str]:
    """Returns the environment of a process. While rows are read, the time zone of this one is another."""
    own = {name: value for name, value in os.environ.items() if name != "TZ"}
    return own if _ZONE is None else {**own, "TZ": _ZONE}


def lines_of(file: int, silence: float | None) -> Iterator[bytes | None]:
    """Yields the lines of a pipe until its end; None and no more if none comes for ``silence`` seconds."""
    waiting, rest = select.poll(), b""
    waiting.register(file, select.POLLIN)
    while waiting.poll(None if silence is None else silence * 1000):
        if not (part := os.read(file, 65536)):
            return
        *lines, rest = (rest + part).split(b"\n")
        yield from lines
    yield None


def _how(code: int) -> str:
    """Returns how a process ended, in words."""
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
