"""A proxy of an HTTP server whose answers come late, twice, with an error, or not at all, as told.

    with running(server.uri) as proxy:
        proxy.at(Fault(is_commit("orders"), answer=503))  # answered so, and never asked of the server
        proxy.at(Fault(is_commit("orders"), answer=503, after=True))  # the server did it, and says so in vain

It counts what comes by, so it also tells what a command asks of the network.
"""

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import urlsplit

DROP: Final = 0
"""In place of an answer: the connection is closed."""

_OF_THE_CONNECTION: Final = ("connection", "transfer-encoding", "content-length", "host", "accept-encoding")


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    body: bytes = field(repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def data(self) -> Any:
        return json.loads(self.body)


@dataclass
class Fault:
    """What happens to requests that ``of`` holds for, ``times`` times.

    ``answer``: a status, or ``DROP``; None: the server's own. ``after``: once the server has done what was
    asked. ``twice``: the server is asked twice, and its second answer counts. ``seconds``: so late the answer
    is.
    """

    of: Callable[[Asked], bool]
    answer: int | None = None
    after: bool = False
    twice: bool = False
    seconds: float = 0.0
    times: int = 1
    met: int = 0


class Proxy:
    """Stands before the server at ``uri``, once it is started."""

    def __init__(self, uri: str) -> None:
        self._server = urlsplit(uri)
        self._lock = threading.Lock()
        self.faults: list[Fault] = []
        self.asked: list[Asked] = []
        self._listening = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._listening.daemon_threads = True

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._listening.server_port}"

    def start(self) -> None:
        threading.Thread(target=self._listening.serve_forever, daemon=True).start()

    def end(self) -> None:
        self._listening.shutdown()
        self._listening.server_close()

    def at(self, fault: Fault) -> Fault:
        self.faults.append(fault)
        return fault

    def clear(self) -> None:
        self.faults.clear()
        self.asked.clear()

    def fault_of(self, asked: Asked) -> Fault | None:
        """Notes what is asked; what happens to it."""
        with self._lock:
            self.asked.append(asked)
            for fault in self.faults:
                if fault.met < fault.times and fault.of(asked):
                    fault.met += 1
                    return fault
        return None

    def ask(self, asked: Asked) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(str(self._server.hostname), self._server.port, timeout=60)
        try:
            connection.request(asked.method, asked.path, asked.body or None, asked.headers)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()


def _handler(proxy: Proxy) -> type[BaseHTTPRequestHandler]:  # noqa: C901 - one small class
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_: object) -> None:
            """Nothing."""

        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name: value for name, value in self.headers.items() if _is_passed(name)}
            asked = Asked(self.command, self.path, body, headers)
            fault = proxy.fault_of(asked)
            if fault is None:
                self._answer(*proxy.ask(asked))
                return
            if fault.twice:
                proxy.ask(asked)
            answer = proxy.ask(asked) if fault.answer is None or fault.after else None
            time.sleep(fault.seconds)
            self._go_wrong(fault.answer, answer)

        def _go_wrong(self, status: int | None, answer: Any) -> None:
            if status == DROP:
                self.close_connection = True
                return
            if status is not None:
                said = {"message": "arranged by a test", "type": "Arranged", "code": status}
                answer = status, [("Content-Type", "application/json")], json.dumps({"error": said}).encode()
            self._answer(*answer)

        def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
            with suppress(ConnectionError):
                self.send_response(status)
                for name, value in headers:
                    if _is_passed(name):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

        do_GET = do_POST = do_HEAD = do_DELETE = do_PUT = _do  # noqa: N815

    return Handler


def _is_passed(header: str) -> bool:
    return header.lower() not in _OF_THE_CONNECTION


@contextmanager
def running(uri: str) -> Iterator[Proxy]:
    """A proxy that lives until the end of the block."""
    proxy = Proxy(uri)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.end()
