"""The page of every example, and the command that serves it."""

import os
import shutil
import signal
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest

import lakesmith
from lakesmith.errors import LakesmithError
from made_lake import MadeLake
from page_server import served

pytestmark = pytest.mark.processes
EXAMPLES = sorted(each.parent for each in (Path(__file__).parents[3] / "examples").glob("*/lakesmith.yaml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_each_table_of_the_examples_has_its_page(example: Path, tmp_path: Path) -> None:
    shutil.copytree(example, tmp_path / "copy", ignore=shutil.ignore_patterns(".lakesmith"))
    try:
        names = list(lakesmith.open(tmp_path / "copy").tables())
    except LakesmithError as error:
        pytest.skip(f"{example.name} needs what is not here: {error}")
    with served(tmp_path / "copy") as page:
        assert page.get("/").status == 200
        assert {name: found for name in names if (found := page.get(f"/t/{name}").status) != 200} == {}


def test_what_nobody_foresaw_is_said_and_the_page_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    MadeLake(tmp_path, 3)

    def fail(*_names: str) -> None:
        raise ZeroDivisionError("<b>inside</b>")

    with served(tmp_path) as page:
        monkeypatch.setattr("lakesmith.page.overview.statuses", fail)
        found = page.get("/")
        assert found.status == 500 and "LS900" in found.text and "ZeroDivisionError" in found.text
        assert "inside" not in found.text and found.headers["content-security-policy"]
        monkeypatch.undo()
        assert page.get("/").status == 200


def test_the_command_serves_without_a_jvm_until_it_is_asked_to_end(tmp_path: Path) -> None:
    MadeLake(tmp_path, 3)
    call = "from lakesmith.cli.main import main; main()"
    command = [sys.executable, "-c", call, "ui", "--port", "0", "--project", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        link = process.stdout.readline().split()[-1]
        address, _, token = link.removeprefix("http://").partition("/?token=")
        connection = HTTPConnection(address, timeout=20)
        for _ in range(50):
            try:
                connection.request("GET", "/live", headers={"Authorization": f"Bearer {token}"})
                break
            except ConnectionError:
                time.sleep(0.1)
        answer = connection.getresponse()
        assert answer.status == 200 and answer.readline()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        maps = Path(f"/proc/{process.pid}/maps").read_text()
        assert children == [] and "libjvm" not in maps and "pyspark" not in maps
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0 and time.monotonic() - begun < 5
        assert process.stderr is not None and process.stderr.read() == ""
        connection.close()


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    MadeLake(tmp_path, 1)
    with served(tmp_path) as page, pytest.raises(LakesmithError, match=r"LS275 .*port") as raised:
        lakesmith.open(tmp_path).ui(port=page.ui.port).keep()
    assert "--port" in str(raised.value)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_project_that_cannot_be_written_has_its_page(tmp_path: Path) -> None:
    MadeLake(tmp_path / "p", 3)
    for each in [tmp_path / "p", *(tmp_path / "p").rglob("*")]:
        each.chmod(each.stat().st_mode & ~0o222)
    with served(tmp_path / "p") as page:
        assert page.get("/").status == 200
