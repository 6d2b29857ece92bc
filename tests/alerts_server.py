"""Servers on the loopback interface that take alerts: mail by SMTP, webhooks by HTTP."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller


@dataclass
class Mailbox:
    """A mail server. ``refuses``: it takes no mail."""

    refuses: bool = False
    mails: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"mailto://127.0.0.1:{self.port}/?from=lake@example.org&to=team@example.org"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        if self.refuses:
            return "554 not today"
        mail = message_from_bytes(envelope.content, policy=policy.default)
        body = mail.get_body(("plain", "html"))
        self.mails.append((str(mail["subject"]), body.get_content() if body else ""))
        return "250 OK"


@contextmanager
def mail_server() -> Iterator[Mailbox]:
    """A real SMTP server."""
    mailbox = Mailbox()
    controller = Controller(mailbox, hostname="127.0.0.1", port=free_port())
    controller.start()
    mailbox.port = controller.port
    try:
        yield mailbox
    finally:
        controller.stop()


@contextmanager
def silent_server() -> Iterator[int]:
    """A server that takes connections, and never says a word; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def cut_server(answer: bytes = b"") -> Iterator[int]:
    """A server that reads a request, answers so much, and cuts the connection; yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection = server.accept()[0]
                except OSError:
                    return
                with connection, suppress(OSError):
                    connection.settimeout(0.2)
                    # What is left unread at the end makes a reset of it.
                    with suppress(TimeoutError):
                        while connection.recv(65536):
                            pass
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


@dataclass
class Hook:
    """A webhook. ``status``: what it answers, and ``says``; ``takes``: how many calls it takes before it is
    full."""

    status: int = 200
    takes: int = 1_000_000
    says: bytes = b""
    calls: list[dict[str, Any]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"json://127.0.0.1:{self.port}/hook/t0psecret"


@contextmanager
def hook_server() -> Iterator[Hook]:
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            status = hook.status if len(hook.calls) < hook.takes else 429
            if status == 200:
                hook.calls.append(json.loads(content))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(hook.says)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hook.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
