"""The answers of the intake, by its ASGI interface."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakesmith.project.definitions import USUAL_MAX_REQUEST, Column
from lakesmith.serve.intake import app
from lakesmith.serve.intake.app import Bucket, Intake, Route
from lakesmith.serve.intake.events import EventReader
from lakesmith.serve.intake.segments import Segments
from lakesmith.serve.intake.writer import Full, Writer

EVENT = b'{"id": 1}'
READER = EventReader([Column("id", "bigint", required=True)])


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    writer = Writer(Segments(tmp_path / "intake"))
    writer.start()
    yield writer
    writer.stop()


def ask(
    intake: Intake, body: bytes = EVENT, path: str = "/sales", method: str = "POST", **headers: str
) -> tuple[int, Any, dict[str, str]]:
    """The status, the answer and its headers; the body comes in two parts."""
    parts = [body[: len(body) // 2], body[len(body) // 2 :]]
    sent: list[Any] = []

    async def receive() -> Any:
        part = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    asyncio.run(intake({"type": "http", "method": method, "path": path, "headers": raw}, receive, send))
    start, end = sent
    said = {name.decode(): value.decode() for name, value in start["headers"]}
    assert int(said["content-length"]) == len(end["body"])
    is_json = said["content-type"] == "application/json"
    return start["status"], json.loads(end["body"]) if is_json else end["body"].decode(), said


def route(writer: Writer, **more: Any) -> Intake:
    return Intake({"/sales": Route("bronze.sales", READER, writer, **more)})


def taken(writer: Writer) -> list[str]:
    writer.stop()
    text = [line for path in writer.segments.waiting() for line in path.read_text().splitlines()]
    writer.__init__(writer.segments)  # type: ignore[misc]
    writer.start()
    return text


def test_events_are_acknowledged_when_they_are_on_the_disk(writer: Writer) -> None:
    intake = route(writer)
    assert ask(intake)[:2] == (202, {"events": 1, "duplicate": False})
    assert ask(intake, b'[{"id": 2}, {"id": 3}]')[:2] == (202, {"events": 2, "duplicate": False})
    assert taken(writer) == ['{"id": 1}', '{"id": 2}', '{"id": 3}']


def test_a_request_is_taken_whole_or_not_at_all(writer: Writer) -> None:
    intake = route(writer)
    status, answer, _ = ask(intake, b'[{"id": 1}, {"id": "x"}, {}]')
    assert status == 400
    assert [(each["event"], each["column"]) for each in answer["reasons"]] == [(1, "id"), (2, "id")]
    assert taken(writer) == []


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'[{"id": 1}, {"id": "x"}]', 'event 1: column id: not a value of type bigint: "x"'),
        (b'{"id": 1, "ID": 2}', "event 0: column ID: unknown; the columns are id"),
        (b'[{}, {"id": 1.5}, {}]', "event 0: column id: required, and not there (and 2 more: see reasons)"),
        (b"[1]", "event 0: expected a JSON object, found a number"),
        (b'{"id": 1', "event 0: not JSON: Expecting ',' delimiter: line 1 column 9 (char 8)"),
        (b"\xff", "event 0: not valid UTF-8 at byte 0"),
    ],
    ids=lambda value: value.decode(errors="replace") if isinstance(value, bytes) else "",
)
def test_a_refusal_says_what_is_wrong_in_its_first_sentence(writer: Writer, body: bytes, error: str) -> None:
    assert ask(route(writer), body)[1]["error"] == f"nothing was taken: {error}"


def test_wrong_events_are_taken_where_they_are_to_go_to_quarantine(writer: Writer) -> None:
    intake = route(writer, takes_bad=True)
    assert ask(intake, b'{"id": "x"}')[0] == 202
    assert ask(intake, b"[1]")[0] == 400
    assert taken(writer) == ['{"id": "x"}']


def test_a_key_makes_a_retry_safe(writer: Writer) -> None:
    intake = route(writer)
    assert ask(intake, idempotency_key="a")[1] == {"events": 1, "duplicate": False}
    assert ask(intake, idempotency_key="a")[:2] == (202, {"events": 0, "duplicate": True})
    assert ask(intake, b'{"id": 2}', idempotency_key="a")[0] == 409
    assert ask(intake, idempotency_key="a" * 256)[0] == 400
    assert taken(writer) == ['{"id": 1}']


def test_one_of_the_tokens_is_needed(writer: Writer) -> None:
    intake = route(writer, tokens=("old", "new"))
    for header in ("", "Bearer", "Bearer wrong", "Basic new", "new"):
        status, _, said = ask(intake, authorization=header)
        assert (status, said["www-authenticate"]) == (401, "Bearer"), header
    assert [ask(intake, authorization=f"{scheme} new")[0] for scheme in ("Bearer", "bearer")] == [202, 202]
    assert ask(intake, authorization="Bearer old")[0] == 202


def test_an_event_whose_id_came_before_is_counted(writer: Writer) -> None:
    intake = Intake({"/sales": Route("bronze.sales", EventReader([Column("id", "bigint")], ["id"]), writer)})
    assert ask(intake, b'[{"id": 1}, {"id": 1.0}, {"id": 2}]')[:2] == (
        202, {"events": 2, "duplicate": False, "duplicates": 1}
    )  # fmt: skip
    assert ask(intake, b'{"id": 1.00}')[1] == {"events": 0, "duplicate": False, "duplicates": 1}
    assert ask(intake, b'{"id": 3}', idempotency_key="a")[1]["events"] == 1
    assert ask(intake, b'{"id": 3}', idempotency_key="a")[1] == {
        "events": 0, "duplicate": True, "duplicates": 1
    }  # fmt: skip
    status, answer, _ = ask(intake, b'{"id": null}')
    assert (status, answer["reasons"][0]["column"]) == (400, "id")
    text = ask(intake, path="/metrics", method="GET")[1]
    assert 'lakesmith_intake_duplicates_total{table="bronze.sales"} 3' in text
    assert 'lakesmith_intake_known_marks{table="bronze.sales"} 4' in text
    assert taken(writer) == ['{"id": 1}', '{"id": 2}', '{"id": 3}']


def test_events_that_come_too_fast_are_told_when_to_come_again(writer: Writer) -> None:
    now = [0.0]
    intake = route(writer, bucket=Bucket(10, lambda: now[0]))
    assert ask(intake, EVENT * 9)[0] == 202
    assert ask(intake, EVENT * 30)[0] == 202, "a request is never too large for the rate: it leaves a debt"
    status, _, said = ask(intake)
    assert (status, said["retry-after"]) == (429, "3")
    now[0] += 2.8
    assert ask(intake)[0] == 429
    now[0] += 0.2
    assert ask(intake)[0] == 202
    now[0] += 1000
    assert [ask(intake, EVENT * 10)[0] for _ in range(2)] == [202, 429], "what was not used is not kept"


def test_a_body_that_does_not_end_is_given_up(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "SECONDS_FOR_A_BODY", 0.05)
    sent: list[Any] = []

    async def never() -> Any:
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/sales", "headers": []}
    asyncio.run(route(writer)(scope, never, send))
    assert (sent[0]["status"], dict(sent[0]["headers"])[b"connection"]) == (408, b"close")


def test_the_largest_request_is_the_source_s_own(writer: Writer) -> None:
    intake = route(writer, max_request=20)
    assert [ask(intake, EVENT * number)[0] for number in (2, 3)] == [202, 413]


def test_an_intake_behind_which_too_much_waits_is_not_ready(writer: Writer) -> None:
    intake = route(writer)
    writer.is_backed_up = True
    status, answer, said = ask(intake)
    assert (status, said["retry-after"]) == (503, "5")
    assert answer["error"].startswith("max_waiting is reached: ")
    assert ask(intake, path="/ready", method="GET")[0] == 503
    assert 'lakesmith_intake_max_waiting_reached{table="bronze.sales"} 1' in ask(intake, path="/metrics")[1]


def test_a_path_that_cannot_be_written_does_not_stop_the_others(writer: Writer, tmp_path: Path) -> None:
    """Neither its requests nor those of a proxy that asks whether the process is ready."""
    (tmp_path / "file").write_text("a file where a folder belongs")
    other = Writer(Segments(tmp_path / "file"))
    other.start()
    routes = {"/sales": Route("bronze.sales", READER, writer), "/stock": Route("bronze.stock", READER, other)}
    intake = Intake(routes)
    assert (ask(intake)[0], ask(intake, path="/stock")[0]) == (202, 503)
    assert ask(intake, path="/ready", method="GET")[:2] == (200, {"status": "ready", "stopped": ["/stock"]})
    assert list(intake.troubles()) == ["/stock"]
    text = ask(intake, path="/metrics")[1]
    assert 'lakesmith_intake_can_write{table="bronze.sales"} 1' in text
    assert 'lakesmith_intake_can_write{table="bronze.stock"} 0' in text
    other.stop()


def test_what_is_no_such_request(writer: Writer) -> None:
    intake = route(writer)
    assert ask(intake, path="/other")[:2] == (404, {"error": "nothing is taken here", "paths": ["/sales"]})
    status, _, said = ask(intake, method="GET")
    assert (status, said["allow"]) == (405, "POST")
    assert ask(intake, content_encoding="gzip")[0] == 415
    assert ask(intake, content_length=str(USUAL_MAX_REQUEST + 1))[0] == 413
    assert ask(intake, b" " * (USUAL_MAX_REQUEST + 2))[0] == 413
    assert taken(writer) == []


def test_a_disk_that_takes_no_more_is_said(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    intake = route(writer)
    assert ask(intake, path="/ready", method="GET")[0] == 200

    def full(_request: object) -> None:
        raise Full("No space left on device")

    monkeypatch.setattr(writer, "take", full)
    status, answer, said = ask(intake)
    assert (status, said["retry-after"]) == (503, "2")
    assert "space" not in json.dumps(answer), "what the disk says is for the operator"
    writer.broken = OSError(28, "No space left on device")
    assert ask(intake, path="/ready", method="GET")[0] == 503
    assert ask(intake, path="/health", method="GET")[0] == 200
    writer.broken = None


def test_counts_for_prometheus(writer: Writer) -> None:
    intake = route(writer)
    ask(intake)
    ask(intake, b"7")
    text = ask(intake, path="/metrics", method="GET")[1]
    assert 'lakesmith_intake_events_total{table="bronze.sales"} 1' in text
    assert 'lakesmith_intake_refused_requests_total{table="bronze.sales"} 1' in text
