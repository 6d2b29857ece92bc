"""One connection to an intake, and the answers to requests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Final
from urllib.parse import SplitResult

SECONDS_FOR_AN_ANSWER: Final = 10.0
AGAIN: Final = frozenset({429, 503})
"""Answers of an intake that accepts nothing now, but will."""


class NoAnswer(Exception):
    """The outcome of a request is unknown."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with its JSON object; ``retry_after`` are the seconds to wait, if given."""

    status: int
    data: dict[str, Any]
    retry_after: float | None = None


class Client:
    """Posts to one URL."""

    def __init__(self, url: SplitResult, token: str | None) -> None:
        self._url = url
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._connection: HTTPConnection | None = None

    def post(self, body: bytes, key: str) -> Reply:
        """Posts a request. Raises NoAnswer."""
        try:
            connection = self._connection = self._connection or self._connected()
            connection.request("POST", self._url.path, body, {**self._headers, "Idempotency-Key": key})
            return _reply(connection.getresponse())
        except (OSError, HTTPException) as error:
            self.close()
            raise NoAnswer(str(error) or type(error).__name__) from error

    def close(self) -> None:
        """Closes the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> HTTPConnection:
        kind = HTTPSConnection if self._url.scheme == "https" else HTTPConnection
        return kind(self._url.hostname or "", self._url.port, timeout=SECONDS_FOR_AN_ANSWER)


def _reply(response: HTTPResponse) -> Reply:
    text = response.read()
    try:
        data = json.loads(text)
    except ValueError:
        data = {}
    asked = response.headers.get("Retry-After", "")
    return Reply(
        response.status, data if isinstance(data, dict) else {}, float(asked) if asked.isdigit() else None
    )
