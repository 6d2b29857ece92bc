"""Who may read the page: a token, kept in a file, that a link exchanges for a cookie; and which requests."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

FILE: Final = "ui.token"
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""The names of this machine. Under another name a page of elsewhere could read this one (DNS rebinding)."""
_STYLE: Final = (
    "body{max-width:34rem;margin:16vh auto;padding:0 1.5rem;font:15px/1.5 system-ui,sans-serif;"
    "color-scheme:light dark;background:Canvas;color:CanvasText}h1{font-size:1.6rem;margin:0}"
    "pre{font:.95em ui-monospace,monospace;padding:.7rem .9rem;border:1px solid GrayText;border-radius:6px}"
)
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
HEADERS: Final = {
    "content-security-policy": (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{_STYLE_HASH}'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
"""The headers of every answer."""


def token_in(state_dir: Path) -> str:
    """Returns the token of the project's page, made at the first call. Only the user can read its file."""
    path = state_dir / FILE
    try:
        if found := path.read_text(encoding="ascii").strip():
            path.chmod(0o600)
            return found
    except (FileNotFoundError, UnicodeDecodeError):
        pass
    state_dir.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    token = secrets.token_urlsafe(32)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(token + "\n")
    return token


@dataclass(frozen=True)
class Guard:
    """An ASGI application that lets a request pass to ``app`` if it names this machine and has the token.

    The cookie has the port in its name, for browsers send cookies to every port of a machine. ``names``: the
    other names that a request may have; ``is_secure``: browsers come over HTTPS; ``project``: its name.
    """

    app: App
    token: str
    port: int
    names: frozenset[str] = frozenset()
    is_secure: bool = False
    project: Callable[[], str] = lambda: "lakesmith"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, _with_headers(send))
        # A WebSocket is closed by the server, as nothing answers it.

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name: value for name, value in scope["headers"] if name in (b"host", b"authorization")}
        reads = scope["method"] in ("GET", "HEAD")
        if not is_here(headers.get(b"host", b""), self.names):
            await _say(send, 400, "this server answers only under the names of its own machine")
        elif not reads and scope["method"] != "POST":
            await _say(send, 405, "there are GET, HEAD and POST", ((b"allow", b"GET, HEAD, POST"),))
        elif reads and (given := dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")):
            await self._exchange(scope, given, send)
        elif not self._knows(scope, headers.get(b"authorization", b"")):
            await _say(send, 401, _login(self.project()))
        elif not reads and not is_ours(scope):
            await _say(send, 403, "the form was sent from another page: nothing was done")
        else:
            await self.app(scope, receive, send)

    @property
    def _cookie(self) -> tuple[bytes, bytes]:
        """The name and the value, which does not tell the token; a new token ends all sessions."""
        value = hmac.new(self.token.encode(), b"session of the page", hashlib.sha256).hexdigest()
        return f"lakesmith_{self.port}".encode(), value.encode()

    async def _exchange(self, scope: Scope, given: str, send: Send) -> None:
        """Sends the browser to the same page without the token, which so stays in no history."""
        if not _is_same(given.encode("utf-8", "replace"), self.token.encode()):
            await _say(send, 401, _login(self.project()))
            return
        query = parse_qsl(scope["query_string"].decode("latin-1"))
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        path = "/" + scope.get("raw_path", b"/").decode("latin-1").lstrip("/\\")
        name, value = self._cookie
        cookie = name + b"=" + value + b"; HttpOnly; SameSite=Strict; Path=/"
        cookie += b"; Secure" if self.is_secure else b""
        place = (path + (f"?{rest}" if rest else "")).encode("latin-1", "replace")
        await _say(send, 303, "", ((b"location", place), (b"set-cookie", cookie)))

    def _knows(self, scope: Scope, authorization: bytes) -> bool:
        kind, _, given = authorization.partition(b" ")
        if kind.lower() == b"bearer" and _is_same(given.strip(), self.token.encode()):
            return True
        name, value = self._cookie
        return any(
            each_name.strip() == name and _is_same(each_value.strip(), value)
            for header, text in scope["headers"]
            if header == b"cookie"
            for each_name, _, each_value in (each.partition(b"=") for each in text.split(b";"))
        )


def _login(project: str) -> str:
    """Returns the page that says how to sign in."""
    name = escape(project)
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Sign in to {name}</title><style>{_STYLE}</style><main><h1>Sign in to {name}</h1>"
        "<p>In the project's folder, run this command and open the link that it prints:</p>"
        "<pre>lakesmith ui --link</pre></main></html>"
    )


def is_here(host: bytes, names: frozenset[str] = frozenset()) -> bool:
    """Returns whether a request's Host header names this machine, with or without a port."""
    text = host.decode("latin-1").strip().lower()
    name, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        name, port = text, ""
    return (name in NAMES or name in names) and (not colon or not port or port.isdecimal())


def is_ours(scope: Scope) -> bool:
    """Returns whether a request that may change something comes from the page itself, or from a script.

    Forms of other sites, too, reach this server. Browsers say where a form comes from (``Sec-Fetch-Site``).
    Where they do not, without TLS off loopback, the ``Origin`` must be the ``Host``. A script has its token
    in a header, which no form can have. GET changes nothing, and is not asked.
    """
    given: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        given.setdefault(name, []).append(value.strip().lower())
    sites, origins = given.get(b"sec-fetch-site", []), given.get(b"origin", [])
    if not sites and not origins:
        return given.get(b"authorization", [b""])[0].startswith(b"bearer ")
    own = {kind + b"://" + host for host in given.get(b"host", []) for kind in (b"http", b"https")}
    if sites == [b"same-origin"]:
        # A form of a page with the policy no-referrer has the origin null.
        own.add(b"null")
    elif sites:
        return False
    return not origins or (len(origins) == 1 and origins[0] in own)


def _is_same(one: bytes, two: bytes) -> bool:
    return hmac.compare_digest(hashlib.sha256(one).digest(), hashlib.sha256(two).digest())


def _with_headers(send: Send) -> Send:
    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = [pair for pair in message.get("headers", ()) if pair[0].decode().lower() not in HEADERS]
            message["headers"] = [*given, *((n.encode(), v.encode()) for n, v in HEADERS.items())]
        await send(message)

    return answer


async def _say(send: Send, status: int, text: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    kind = b"text/html; charset=utf-8" if text.startswith("<") else b"text/plain; charset=utf-8"
    await send(
        {"type": "http.response.start", "status": status, "headers": [(b"content-type", kind), *headers]}
    )
    await send({"type": "http.response.body", "body": text.encode()})
