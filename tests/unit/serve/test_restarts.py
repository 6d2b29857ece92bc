"""The process that takes events: started again when it is killed, and known to ``up`` as it is."""

import json
import os
import signal
import socket
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from intake_process import SALES, until

from forked import fork_beside_up, run
from lakesmith.errors import UsageError
from lakesmith.serve.intake_process import IntakeProcess, listen
from lakesmith.serve.state import IntakeState

STOCK = "source:\n  http: {path: /stock}\ncolumns: {n: bigint}\n"
INTAKE = ".lakesmith/intake/bronze.stock"


class Kept:
    """The intake of a project, kept as ``up`` keeps it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in {"sales": SALES, "stock": STOCK}.items():
            (root / "tables/bronze").mkdir(parents=True, exist_ok=True)
            (root / f"tables/bronze/{name}.yaml").write_text(text)
        (root / "lakesmith.yaml").write_text("name: shop\n")
        self.states: list[IntakeState] = []
        self.said: list[str] = []
        self.process = IntakeProcess([str(root)], self._notice)
        (opened,) = listen("127.0.0.1", 0)
        self.port = opened.getsockname()[1]
        self._sockets = [opened]

    def start(self) -> None:
        self.process.start(self._sockets)

    def _notice(self, state: IntakeState, lines: Sequence[str]) -> None:
        self.states.append(state)
        self.said += lines

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def post(self, path: str, event: dict[str, int]) -> int:
        url = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, json.dumps(event).encode(), method="POST")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    kept = Kept(tmp_path / "shop")
    yield kept
    kept.process.end()


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The intake is a fork. How ``up`` starts Python, the test of one that was killed has."""
    fork_beside_up(monkeypatch)


def test_an_intake_that_was_killed_is_replaced_at_once_and_requests_wait_for_it(kept: Kept) -> None:
    kept.start()
    for number in range(2):
        until(lambda: kept.states and kept.states[-1].is_taking)
        before = kept.pid
        os.kill(before, signal.SIGKILL)
        until(lambda: kept.pid != before)  # noqa: B023 - it is asked at once
        assert kept.post("/stock", {"n": number}) == 202, (
            "a request that is sent meanwhile is not turned away"
        )
    until(lambda: len(kept.states) == 5)
    assert [state.is_taking for state in kept.states] == [True, False] * 2 + [True]
    assert kept.said == [
        "the intake ended (SIGKILL); it is started again, and what is sent meanwhile waits",
        "the intake was started again",
    ] * 2  # fmt: skip
    kept.process.end()
    lines = [path.read_text() for path in sorted((kept.root / INTAKE).rglob("*.jsonl"))]
    assert [json.loads(line)["n"] for line in "".join(lines).splitlines()] == [0, 1]


@pytest.mark.usefixtures("forks")
def test_an_intake_makes_segments_when_it_is_asked(kept: Kept) -> None:
    kept.process.seal([kept.root / INTAKE])
    kept.start()
    until(lambda: kept.states and kept.states[-1].is_taking)
    before, folder = kept.pid, kept.root / INTAKE / "http"
    for number in range(3):
        assert kept.post("/stock", {"n": number}) == 202
        kept.process.seal([folder])
        until(lambda: len(list(folder.glob("*.jsonl"))) == number + 1)  # noqa: B023 - it is asked at once
    assert kept.pid == before
    assert kept.said == []


@pytest.mark.usefixtures("forks")
def test_a_folder_that_cannot_be_written_is_said_and_stops_no_other_path(kept: Kept) -> None:
    folder = kept.root / INTAKE
    folder.parent.mkdir(parents=True)
    folder.write_text("a file where a folder belongs")
    kept.start()
    until(lambda: kept.states)
    assert list(kept.states[-1].troubles) == ["/stock"]
    assert (kept.post("/sales", {"product_id": 1}), kept.post("/stock", {"n": 1})) == (202, 503)
    os.kill(kept.pid, signal.SIGKILL)
    until(lambda: len(kept.said) == 4)
    folder.unlink()
    until(lambda: not kept.states[-1].troubles)
    assert kept.post("/stock", {"n": 1}) == 202
    assert kept.said[0].startswith("/stock takes no events: ")
    assert kept.said[2:] == ["the intake was started again", kept.said[0], "/stock takes events again"]


@pytest.mark.usefixtures("forks")
def test_a_project_that_is_wrong_when_the_intake_is_started_again_is_said_once(kept: Kept) -> None:
    kept.start()
    until(lambda: kept.states)
    (kept.root / "tables/bronze/stock.yaml").write_text("sauce: 1\n")
    os.kill(kept.pid, signal.SIGKILL)
    until(lambda: sum(state.problem is not None for state in kept.states) > 2)
    assert not kept.states[-1].is_taking
    assert sum(line.startswith("LS1") for line in kept.said) == 1
    (kept.root / "tables/bronze/stock.yaml").write_text(STOCK)
    until(lambda: kept.states[-1].is_taking)
    assert kept.states[-1] == IntakeState(is_taking=True)
    assert kept.post("/stock", {"n": 1}) == 202


def test_a_port_in_use_is_one_message(kept: Kept) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        said = run("up", "--port", port, folder=kept.root)
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.splitlines()[0] == f"LS275 events cannot be taken at 127.0.0.1, port {port}"
    assert "found: Address already in use" in said.stderr
    assert "Traceback" not in said.stderr
    for host in ("192.0.2.1", "no-such-host.invalid"):
        with pytest.raises(UsageError) as caught:
            listen(host, 0)
        assert caught.value.problems[0].code == "LS275"


@pytest.mark.usefixtures("forks")
def test_the_port_of_an_intake_whose_up_was_killed_is_waited_for(kept: Kept) -> None:
    kept.start()
    until(lambda: kept.states)
    kept.post("/stock", {"n": 1})
    folder = kept.root / f"{INTAKE}/http"
    with pytest.raises(UsageError):
        listen("127.0.0.1", kept.port)
    for each in kept._sockets:
        each.close()  # as the end of ``up`` does
    os.kill(kept.pid, signal.SIGTERM)
    kept.process._process._is_ending.set()
    (opened,) = listen("127.0.0.1", kept.port, [folder])
    opened.close()
