"""Connections that say nothing are not kept."""

import asyncio
from typing import Any

import pytest
import uvicorn

from lakesmith.serve import server
from lakesmith.serve.server import Connection


async def _app(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


async def _read_after(*parts: bytes) -> bytes:
    config = uvicorn.Config(
        _app, port=0, http=Connection, lifespan="off", log_level="error", timeout_keep_alive=60
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await asyncio.sleep(0.02)
    try:
        return await asyncio.wait_for(reader.read(), 10)
    finally:
        writer.close()
        server.should_exit = True
        await serving


WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("parts", [[], [b"GET"], [WHOLE, b"GET / HT"], [b"GET / HTTP/1.1\r\nA: b\r\n"]])
def test_a_head_that_does_not_end_is_given_up(parts: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SECONDS_FOR_A_HEAD", 0.3)
    answer = asyncio.run(_read_after(*parts))
    assert answer.count(b"HTTP/1.1 200") == parts.count(WHOLE)
