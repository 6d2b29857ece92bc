"""The page's process beside ``up``, and the page on other names and over HTTPS."""

import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

import pytest

import lakesmith
from forked import fork_beside_up
from lakesmith.errors import UsageError
from lakesmith.execute.opened import read_project
from lakesmith.page.guard import is_here, token_in
from lakesmith.serve import page_process
from lakesmith.serve.options import PageChoice, UpOptions, page_options
from lakesmith.serve.page_process import PageProcess, page_of
from made_lake import MadeLake
from server_process import free_port

pytestmark = pytest.mark.processes


def until(is_so: Callable[[], object], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(autouse=True)
def _forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are forks, but the one that ends with ``up``: it is started as ``up`` starts it."""
    fork_beside_up(monkeypatch)


class Beside:
    """A page beside ``up``, which is this test."""

    def __init__(self, root: Path, **choice: object) -> None:
        self.root, self.port = root, free_port()
        self.said, self.urls = list[str](), list[str]()
        options = UpOptions(root, page=PageChoice(True, self.port, **choice))  # type: ignore[arg-type]
        found = page_of(options, read_project(root, None).project, self.said.append, self.urls.append)
        assert isinstance(found, PageProcess)
        self.process = found

    @property
    def pid(self) -> int:
        return self.process.pid or 0

    def status(self, path: str = "/", timeout: float = 20.0) -> int:
        token = token_in(self.root / ".lakesmith")
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return int(answer.status)


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Beside]:
    MadeLake(tmp_path, 3).publish()
    found = Beside(tmp_path)
    yield found
    found.process.end()


def test_a_killed_page_is_started_again_and_requests_wait_for_it(beside: Beside) -> None:
    until(lambda: beside.urls)
    assert beside.urls == [f"http://127.0.0.1:{beside.port}"] and beside.status() == 200
    before = beside.pid
    os.kill(before, signal.SIGKILL)
    assert beside.status() == 200 and beside.pid != before
    until(lambda: len(beside.said) == 3)
    assert "SIGKILL" in beside.said[1] and beside.said[2] == "the page was started again"


def test_a_hung_page_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_process, "SILENT_SECONDS", 12.0)
    MadeLake(tmp_path, 3).publish()
    beside = Beside(tmp_path)
    try:
        until(lambda: beside.urls, 60)
        before, began = beside.pid, time.monotonic()
        os.kill(before, signal.SIGSTOP)
        # A request waits for the page that replaces it, and nothing is left of the hung one: no zombie.
        until(lambda: beside.pid != before, 60)
        assert time.monotonic() - began > 6 and not Path(f"/proc/{before}").exists()
        assert beside.status(timeout=60) == 200
        until(lambda: len(beside.said) == 3)
        assert "it hung: it said nothing for 12 seconds" in beside.said[1]
        assert beside.said[2] == "the page was started again"
        # Longer than the limit: a page that answers goes on.
        pid = beside.pid
        time.sleep(14)
        assert beside.pid == pid and beside.status() == 200
    finally:
        beside.process.end()


def test_a_stopped_page_delays_the_end_of_up_by_seconds_alone(beside: Beside) -> None:
    until(lambda: beside.urls)
    os.kill(beside.pid, signal.SIGSTOP)
    began = time.monotonic()
    beside.process.end()
    assert time.monotonic() - began < 8


def test_the_token_is_said_to_a_terminal_alone(beside: Beside) -> None:
    until(lambda: beside.said)
    assert token_in(beside.root / ".lakesmith") not in "".join(beside.said)
    assert "lakesmith ui --link" in beside.said[0]
    other = Beside(beside.root, shows_link=True)
    try:
        until(lambda: other.said)
        assert f"?token={token_in(beside.root / '.lakesmith')}" in other.said[0]
    finally:
        other.process.end()


UP = """
import sys, time
from pathlib import Path
from lakesmith.execute.opened import read_project
from lakesmith.serve.options import PageChoice, UpOptions
from lakesmith.serve.page_process import page_of
root, urls = Path(sys.argv[1]), []
options = UpOptions(root, page=PageChoice(True, int(sys.argv[2])))
page = page_of(options, read_project(root, None).project, str, urls.append)
while not urls: time.sleep(0.05)
print(page.pid, flush=True)
time.sleep(60)
"""


def test_the_page_ends_with_up(tmp_path: Path) -> None:
    MadeLake(tmp_path, 0)
    command = [sys.executable, "-c", UP, str(tmp_path), str(free_port())]
    up = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert up.stdout is not None
    pid = int(up.stdout.readline())
    up.kill()
    up.wait()
    until(lambda: not Path(f"/proc/{pid}").exists(), 10)


def test_a_port_in_use_stops_up_only_if_it_was_asked_for(beside: Beside) -> None:
    project, said = read_project(beside.root, None).project, list[str]()
    with pytest.raises(UsageError) as caught:
        page_of(UpOptions(beside.root, page=PageChoice(True, beside.port)), project, said.append, said.append)
    assert caught.value.problems[0].code == "LS275" and not said
    (beside.root / "lakesmith.yaml").write_text(f"name: made\nui: {{port: {beside.port}}}\n")
    project = read_project(beside.root, None).project
    assert page_of(UpOptions(beside.root), project, said.append, said.append) is None
    assert "--ui-port" in said[0]
    for declared, choice in (("true", PageChoice(False)), ("false", PageChoice())):
        (beside.root / "lakesmith.yaml").write_text(f"name: made\nui: {{with_up: {declared}}}\n")
        project = read_project(beside.root, None).project
        assert page_of(UpOptions(beside.root, page=choice), project, said.append, said.append) is None
    assert len(said) == 1


@pytest.mark.parametrize(
    "settings", ["host: 0.0.0.0", "host: 192.0.2.1", "host: '::'", "allow_hosts: [lake.example]"]
)
def test_other_machines_are_served_over_https_alone(tmp_path: Path, settings: str) -> None:
    (tmp_path / "lakesmith.yaml").write_text(f"name: made\nui: {{{settings}}}\n")
    with pytest.raises(UsageError) as caught:
        lakesmith.open(tmp_path).ui()
    assert caught.value.problems[0].code == "LS284"


def test_hosts_of_this_machine_need_no_certificate(tmp_path: Path) -> None:
    (tmp_path / "lakesmith.yaml").write_text("name: made\n")
    project = read_project(tmp_path, None).project
    assert [page_options(project, host=each).names for each in ("localhost", "127.0.0.2", "::1")] == [()] * 3
    assert page_options(project, host="::1", port=1).url == "http://[::1]:1"


def test_an_allowed_name_is_known_and_no_other() -> None:
    names = frozenset({"lake.example"})
    assert is_here(b"lake.example", names) and is_here(b"LAKE.example:8090", names)
    assert not any(
        is_here(each, names) for each in (b"evil.example", b"lake.example.evil", b"x.lake.example")
    )


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_over_https_the_cookie_is_secure_and_the_names_are_checked(tmp_path: Path) -> None:
    files = [
        "-out",
        str(tmp_path / "lake.pem"),
        "-keyout",
        str(tmp_path / "lake.key"),
        "-subj",
        "/CN=lake.example",
    ]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    subprocess.run(["openssl", "req", "-x509", *kind, *files], check=True, capture_output=True)
    MadeLake(tmp_path, 0)
    (tmp_path / "lakesmith.yaml").write_text(
        "name: made\nui: {allow_hosts: [lake.example], tls: {certificate: lake.pem, key: lake.key}}\n"
    )
    port, said = free_port(), list[str]()
    options = UpOptions(tmp_path, page=PageChoice(True, port, shows_link=True))
    process = page_of(options, read_project(tmp_path, None).project, said.append, said.append)
    assert process is not None
    try:
        until(lambda: len(said) == 2)
        assert said[0] == f"https://lake.example:{port}" and f"https://lake.example:{port}/?token=" in said[1]
        context = ssl.create_default_context(cafile=str(tmp_path / "lake.pem"))
        context.check_hostname = False

        def ask(host: str) -> tuple[int, str]:
            connection = HTTPSConnection("127.0.0.1", port, timeout=20, context=context)
            connection.request("GET", f"/?token={token_in(tmp_path / '.lakesmith')}", headers={"Host": host})
            answer = connection.getresponse()
            connection.close()
            return answer.status, answer.headers.get("set-cookie", "")

        status, cookie = ask("lake.example")
        assert status == 303 and cookie.endswith("; Secure")
        assert ask("evil.example")[0] == 400 and ask(f"localhost:{port}")[0] == 303
        plain = HTTPConnection("127.0.0.1", port, timeout=20)
        with pytest.raises(Exception):  # noqa: B017 - plain HTTP gets no answer, in whatever way
            plain.request("GET", "/")
            plain.getresponse()
    finally:
        process.end()
