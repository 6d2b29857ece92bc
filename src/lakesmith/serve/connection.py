"""A connection to the intake: uvicorn's, with limits for the size and the time of a request's head."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD: Final = 512 * 1024
"""Bytes of a request's head, roughly: what is received at once may hold the end of the request before."""
SECONDS_FOR_A_HEAD: Final = 30.0


class Connection(HttpToolsProtocol):
    """Closes if a head is too long, or takes too long to arrive."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head = 0
        self._in_head = True
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio.Protocol."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(SECONDS_FOR_A_HEAD, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._end_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        super().data_received(data)
        if self._in_head:
            self._head += len(data)
            if self._head > LONGEST_HEAD:
                self.transport.close()

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._head, self._in_head = 0, True
        if self._timer is None:
            self._timer = self.loop.call_later(SECONDS_FOR_A_HEAD, self.transport.close)

    def on_headers_complete(self) -> None:
        """A head ends."""
        self._in_head = False
        self._end_timer()
        super().on_headers_complete()

    def _end_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
