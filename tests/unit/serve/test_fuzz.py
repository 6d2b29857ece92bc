"""Whatever is sent, the answer reveals nothing and is never a 500; acknowledged events are on the disk,
whole.
"""

import asyncio
import json
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from intake_process import SALES, Server, Serving

from lakesmith.project.definitions import Column
from lakesmith.serve.intake.app import Intake, Route
from lakesmith.serve.intake.events import EventReader
from lakesmith.serve.intake.segments import Segments
from lakesmith.serve.intake.writer import Writer

pytestmark = pytest.mark.processes

COLUMNS = [
    Column("id", "bigint", required=True), Column("price", "decimal(10,2)"), Column("name", "string"),
    Column("at", "timestamp"), Column("tags", "array<string>"),
]  # fmt: skip
INSIDE = ("Traceback", "lakesmith", "site-packages", "/tmp", "object at", "Exception")

# Texts as JSON: numbers that are odd, names that come twice, halves of pairs, NUL.
numbers = st.sampled_from([
    "0", "-1", "1e5", "1E400", "-0", "9" * 30, "9" * 1200, "1e999999999",
    "1e-999999999", "1e99999999999999999999",
    "0.1", "01", "+1", ".5", "NaN", "Infinity", "-Infinity", "1_000", "0x1F", "9223372036854775808",
])  # fmt: skip
texts = st.one_of(
    st.text(max_size=8).map(json.dumps),
    st.text(max_size=8).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.sampled_from([
        r'"\ud800"', r'"\udc00\ud800"', r'"\ud83d\ude00"', r'"\u0000"',
        '"\0"', '"\n"', '"\u2028"', '"2026-11-23T10:15:00Z"',
        '"2026-02-30"', '"', r'"\x"', "'a'", '"\ufeff"',
    ]),
)  # fmt: skip
scalars = st.one_of(numbers, texts, st.sampled_from(["null", "true", "false", "None", ""]))
names = st.one_of(st.sampled_from([f'"{column.name}"' for column in COLUMNS]), texts)


def an_object(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(names, inner).map(": ".join)
    return st.lists(pair, max_size=4).map(lambda pairs: "{" + ", ".join(pairs) + "}")


def an_array(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(inner, max_size=4).map(lambda items: "[" + ",".join(items) + "]")


values = st.recursive(scalars, lambda inner: an_object(inner) | an_array(inner), max_leaves=12)
good = st.builds(
    lambda number, name: f'{{"id": {number}, "name": {json.dumps(name)}}}',
    st.integers(0, 99),
    st.text(st.characters(codec="utf-8"), max_size=5),
)
events = st.one_of(good, good, an_object(values), values)
bodies = st.one_of(
    st.lists(events, max_size=4).map("\n".join),
    st.lists(events, max_size=4).map(lambda found: f"[{','.join(found)}]"),
    st.integers(1, 3000).map(lambda depth: '{"id": 1, "tags": ' + "[" * depth + "]" * depth + "}"),
    st.integers(1, 3000).map(lambda depth: '{"id": 1, "name": ' + '{"a":' * depth + "1" + "}" * (depth + 1)),
)


def as_bytes(text: str, encoding: str, cut: int, noise: bytes, at: int) -> bytes:
    body = text.encode(encoding, "surrogatepass")
    body = body[: len(body) - cut] if cut else body
    return body[: at % (len(body) + 1)] + noise + body[at % (len(body) + 1) :]


sent = st.builds(
    as_bytes,
    bodies,
    st.sampled_from(["utf-8"] * 6 + ["utf-16", "utf-32", "utf-8-sig"]),
    st.sampled_from([0] * 5 + [1, 2, 10]),
    st.one_of(*[st.just(b"")] * 4, st.binary(max_size=3)),
    st.integers(0, 10_000),
)


@pytest.fixture(scope="module", params=[False, True], ids=["refuses bad", "takes bad"])
def intake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Intake]:
    """An intake whose disk is held, at its end, against what it has acknowledged."""
    writer = Writer(Segments(tmp_path_factory.mktemp("intake")))
    intake = Intake({"/a": Route("bronze.a", EventReader(COLUMNS), writer, takes_bad=request.param)})
    writer.start()
    ACKNOWLEDGED.clear()
    yield intake
    writer.stop()
    found = [path.read_bytes() for path in writer.segments.waiting()]
    stored = [json.loads(line) for segment in found for line in segment.decode().split("\n") if line]
    assert Counter(map(repr, stored)) == ACKNOWLEDGED
    assert ACKNOWLEDGED.total() > 50, "little of what was sent was right"


ACKNOWLEDGED: Counter[str] = Counter()


def posted(intake: Intake, body: bytes, key: bytes = b"") -> tuple[int, bytes]:
    said: list[Any] = []
    parts = [body[: len(body) // 3], body[len(body) // 3 :]]

    async def receive() -> Any:
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message: Any) -> None:
        said.append(message)

    scope = {"type": "http", "method": "POST", "path": "/a", "headers": [(b"idempotency-key", key)]}
    asyncio.run(intake(scope, receive, send))
    return said[0]["status"], said[1]["body"]


def events_of(body: bytes) -> list[Any]:
    """The events of a body that was taken, by Python's own reader."""
    text = body.decode().strip(" \t\r\n")
    if text.startswith("["):
        return list(json.loads(text))
    found = []
    while text:
        event, end = json.JSONDecoder().raw_decode(text)
        found.append(event)
        text = text[end:].strip(" \t\r\n")
    return found


@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(body=sent)
@example(body=b'{"id": 1e99999999999999999999}')
@example(body=b'{"id": 1, "id": 2}')
@example(body=rb'{"id": 1, "name": "\ud800"}')
@example(body=rb'{"id": 1, "\ud800": 1}')
@example(body=b'{"id": 1, "name": ' + b"[" * 500 + b"]" * 500 + b"}")
@example(body=b"[" * 100_000)
@example(body=b'{"id": ' + b"9" * 5000 + b"}")
@example(body=b"\0")
@example(body=b"\xff\xfe")
@example(body=b'{"id": 1, "name": "\xed\xa0\x80"}')
def test_any_body(intake: Intake, body: bytes) -> None:
    status, answer = posted(intake, body)
    assert status in (202, 400)
    said = json.loads(answer)
    if status == 202:
        taken = events_of(body)
        assert said == {"events": len(taken), "duplicate": False}
        ACKNOWLEDGED.update(map(repr, taken))
    else:
        reasons = said["reasons"]
        assert said["error"].startswith(f"nothing was taken: event {reasons[0]['event']}: ")
        assert reasons[0]["reason"] in said["error"]
        assert 0 < len(reasons) <= 100
        assert not any(word.encode() in answer for word in INSIDE), answer


@settings(max_examples=50, deadline=None)
@given(key=st.binary(min_size=1, max_size=300))
def test_any_key(intake: Intake, key: bytes) -> None:
    event = json.dumps({"id": 1, "name": key.hex()})
    status, _ = posted(intake, event.encode(), key)
    assert status == (202 if len(key) <= 255 else 400)
    if status == 202:
        again = json.loads(posted(intake, event.encode(), key)[1])
        assert again == {"events": 0, "duplicate": True}
        ACKNOWLEDGED[repr(json.loads(event))] = 1


EVENT = b'{"product_id": 1}'


def exchanged(server: Server, *parts: bytes, end: bool = True, pause: float = 0.0) -> bytes:
    """What a server says to these bytes, sent one after the other; ``end``: nothing follows them."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        found = b""
        # A server that has heard enough ends the connection: whatever it said before is its answer.
        with suppress(OSError):
            for part in parts:
                connection.sendall(part)
                time.sleep(pause)
            if end:
                connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            while data := connection.recv(65536):
                found += data
    return found


def head(length: int | None = None, *more: str, path: str = "/sales") -> bytes:
    length_line = [] if length is None else [f"Content-Length: {length}"]
    return "\r\n".join(
        [f"POST {path} HTTP/1.1", "Host: x", "Connection: close", *length_line, *more, "", ""]
    ).encode()


UPGRADE = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13")
BROKEN = {
    "cut body": (head(100), EVENT), "cut head": (b"POST /sales HTT",),
    "no http": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",),
    "nul in a header": (head(len(EVENT), "X: a\0b"), EVENT),
    "cut chunks": (head(None, "Transfer-Encoding: chunked"), b"11\r\n" + EVENT),
    "bad chunks": (head(None, "Transfer-Encoding: chunked"), b"zz\r\n" + EVENT),
    "negative length": (head(-5), EVENT), "length that is none": (head(None, "Content-Length: 1e3"), EVENT),
    "two lengths": (head(5, "Content-Length: 17"), EVENT), "huge length": (head(10**30), EVENT),
    "large length": (head(10**9), EVENT), "long head": (head(len(EVENT), "X: " + "a" * 2_000_000), EVENT),
    "long head of many": (head(len(EVENT), *["X: " + "a" * 1000] * 2_000), EVENT),
    "long path": (head(len(EVENT), path="/" + "a" * 2_000_000), EVENT),
    "other path": (head(len(EVENT), path="/sales%00"), EVENT),
    "path up": (head(len(EVENT), path="/../sales"), EVENT), "upgrade": (head(0, *UPGRADE),),
    "utf-16": (head(len(EVENT) * 2), EVENT.decode().encode("utf-16-le")),
    "gzip": (head(len(EVENT), "Content-Encoding: gzip"), EVENT),
    "odd token": (head(len(EVENT) - 1, "Authorization: Bearer \xff\xfe"), EVENT[:-1]),
}  # fmt: skip


def test_any_bytes_on_a_connection(serving: Serving) -> None:
    """One intake survives all of them, then accepts valid requests: in chunks, slowly, and in between; it
    ends though a connection is silent.
    """
    server = serving(sales=SALES)
    for name, parts in BROKEN.items():
        answer = exchanged(server, *parts)
        assert not answer or answer.startswith(b"HTTP/1.1 4"), (name, answer)
        assert not any(word.encode() in answer for word in INSIDE), (name, answer)
    chunk = b"%x\r\n%b\r\n0\r\n\r\n" % (len(EVENT), EVENT)
    assert b" 202 " in exchanged(server, head(None, "Transfer-Encoding: chunked"), chunk, end=False)
    slow = [EVENT[at : at + 1] for at in range(len(EVENT))]
    assert b" 202 " in exchanged(server, head(len(EVENT)), *slow, end=False, pause=0.02)
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as silent:
        silent.sendall(head(len(EVENT)))
        assert b" 202 " in exchanged(server, head(len(EVENT)), EVENT, end=False)
        server.stop()
    assert server.stored() == [{"product_id": 1}] * 3


def test_a_kill_between_answers_leaves_what_was_acknowledged(serving: Serving, tmp_path: Path) -> None:
    server = serving(sales=SALES)
    acknowledged = 0
    for number in range(40):
        body = b'{"product_id": %d}' % number
        acknowledged += b" 202 " in exchanged(server, head(len(body)), body, end=False)
    server.kill()
    server.start()
    server.stop()
    assert acknowledged == 40
    assert sorted(event["product_id"] for event in server.stored()) == list(range(40))
