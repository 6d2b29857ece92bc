"""Wrong calls, errors nobody foresaw, Ctrl-C and closed pipes: each has its exit code and its few lines."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from shop import Cli, Shop

from lakesmith import __version__
from lakesmith.cli import guard
from lakesmith.errors import LockedError, Problem, QualityError

LAKESMITH = [sys.executable, "-c", "from lakesmith.cli.main import main; main()"]


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["statu"], ["LS204 no such command 'statu'. Did you mean 'status'", "lakesmith --help"]),
        (["xyzzy"], ["LS204 no such command 'xyzzy'", "lakesmith --help"]),
        (
            ["status", "--jsn"],
            ["LS204 no such option: --jsn (Possible options: --json)", "lakesmith status --help"],
        ),
        (["history"], ["LS204 missing argument", "lakesmith history --help"]),
        (["history", "a.b", "--limit", "many"], ["LS204 invalid value for '--limit'"]),
        (["history", "a.b", "--limit", "-1"], ["LS204 invalid value for '--limit'"]),
        (["query", "SELECT 1", "--format", "cvs"], ["LS242 there is no format cvs", "did you mean csv?"]),
    ],
)
def test_wrong_calls(cli: Cli, words: list[str], lines: list[str]) -> None:
    said = cli(*words)
    assert said.code == 2
    assert said.out == ""
    assert "Traceback" not in said.err
    for line in lines:
        assert line in said.err


def test_a_wrong_call_as_data(cli: Cli) -> None:
    said = cli("status", "--jsn", "--json")
    assert (said.code, said.err) == (2, "")
    assert said.data["exit_code"] == 2
    assert said.data["problems"][0]["code"] == "LS204"
    assert "--json" in said.data["problems"][0]["what"]


@pytest.mark.parametrize("command", ["status", "plan", "run", "history silver.x", "files a.b", "explain a.b"])
def test_a_folder_that_is_no_project(cli: Cli, tmp_path: Path, command: str) -> None:
    said = cli(*command.split(), "--project", tmp_path)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("LS119 lakesmith.yaml: no lakesmith project here")
    assert "lakesmith init" in said.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["explain", "history", "files"])
def test_an_unknown_table(cli: Cli, shop: Shop, command: str) -> None:
    said = cli(command, "silver.customer", "--project", shop.root)
    assert said.code == 2
    assert "LS201 no table is called silver.customer" in said.err
    assert "did you mean silver.customers?" in said.err


def test_several_tables_where_one_is_wanted(cli: Cli, shop: Shop) -> None:
    said = cli("explain", "*", "--project", shop.root)
    assert said.code == 2
    assert "LS205 * is more than one table" in said.err


def test_help_is_on_the_output(cli: Cli) -> None:
    said = cli("--help")
    assert (said.code, said.err) == (0, "")
    assert "Commands:" in said.out
    assert cli().code == 2


def test_the_version(cli: Cli) -> None:
    said = cli("--version")
    assert (said.code, said.out) == (0, f"lakesmith {__version__}\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (QualityError(Problem("LS801", "bad rows")), 3),
        (LockedError(Problem("LS701", "in use")), 1),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 1),
    ],
)
def test_exit_codes(
    error: BaseException, code: int, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A closed output is replaced by one that goes nowhere: not by this process's own.
    monkeypatch.setattr(os, "dup2", lambda _from, _to: None)

    def fail() -> None:
        raise error

    assert guard.guarded(fail, []) == code
    assert "Traceback" not in capfd.readouterr().err


def test_what_nobody_foresaw_goes_to_a_log(
    cli: Cli, shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cli("status", "--project", shop.root)

    def fail() -> None:
        raise ZeroDivisionError("a very odd thing")

    assert guard.guarded(fail, []) == 1
    err = capsys.readouterr().err
    assert err.startswith(
        "LS900 lakesmith failed in a way nobody foresaw: ZeroDivisionError: a very odd thing"
    )
    assert "Traceback" not in err
    (log,) = (shop.root / ".lakesmith" / "logs").glob("error-*.log")
    assert str(log) in err
    assert "Traceback (most recent call last)" in log.read_text()

    monkeypatch.setenv("LAKESMITH_DEBUG", "1")
    assert guard.guarded(fail, []) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_secrets_stay_out_of_logs(
    cli: Cli, shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "s3cr3t-value")
    file = shop.root / "lakesmith.yaml"
    file.write_text(
        "name: customer_orders\nvars: {landing: landing}\n"
        "targets: {local: {spark: {spark.my.token: '${SHOP_TOKEN}'}}}\n"
    )
    assert cli("status", "--project", shop.root).code == 0

    def fail() -> None:
        raise RuntimeError("cannot log in with s3cr3t-value")

    assert guard.guarded(fail, []) == 1
    (log,) = (shop.root / ".lakesmith" / "logs").glob("error-*.log")
    shown = capsys.readouterr().err + log.read_text()
    assert "s3cr3t-value" not in shown
    assert "cannot log in with ***" in shown


def test_a_reader_that_goes_away_is_no_error(shop: Shop) -> None:
    command = subprocess.Popen(
        [*LAKESMITH, "explain", "silver.customers", "--project", str(shop.root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert command.stdout is not None and command.stderr is not None
    command.stdout.close()
    assert command.wait(30) == 1
    assert command.stderr.read() == b""


_IDLE = """
import json, sys
from lakesmith.cli.guard import guarded
from lakesmith.cli.main import app
words = json.loads(sys.argv[1])
code = guarded(lambda: app(words, prog_name="lakesmith", standalone_mode=False), words)
heavy = {"pyspark", "py4j", "pyiceberg", "pyarrow", "sqlalchemy", "sqlglot", "ruamel"}
print("HEAVY", code, sorted(heavy & set(sys.modules)))
"""


@pytest.mark.parametrize(
    "words",
    [["status"], ["explain", "silver.customers"], ["history", "bronze.orders"], ["files", "bronze.orders"]],
)
def test_idle_commands_import_nothing_heavy(cli: Cli, shop: Shop, words: list[str]) -> None:
    cli("status", "--project", shop.root)
    arguments = json.dumps([*words, "--project", str(shop.root)])
    done = subprocess.run(
        [sys.executable, "-c", _IDLE, arguments], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "HEAVY 0 []"
