"""Commands are imported one by one, when they are called: importing all takes longer than most work."""

import subprocess
import sys
from pathlib import Path

import pytest
from shop import Cli

from lakesmith.cli import commands
from lakesmith.cli.commands import COMMANDS

pytestmark = pytest.mark.processes

_CALL = """
import sys
from lakesmith.cli.main import app
app(sys.argv[1:], prog_name="lakesmith", standalone_mode=False)
print("IMPORTED", *sorted(name for name in sys.modules if name.startswith("lakesmith.cli.commands.")))
"""


def _imported(*words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _CALL, *words], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()[-1].removeprefix("IMPORTED").split()


def test_help_imports_no_command() -> None:
    assert _imported("--help") == []


def test_a_call_imports_its_command_alone() -> None:
    assert _imported("init", "--list") == ["lakesmith.cli.commands.init"]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_in_the_file_of_its_name(cli: Cli, name: str) -> None:
    assert commands.app_of(name)
    said = cli(name, "--help")
    assert (said.code, said.err) == (0, "")
    assert f"Usage: lakesmith {name} " in said.out
    assert COMMANDS[name] in " ".join(said.out.split())


def test_every_file_with_a_command_is_listed() -> None:
    files = Path(commands.__path__[0]).rglob("*.py")
    assert {file.stem for file in files if "\napp = " in file.read_text()} == set(COMMANDS) - set(
        commands.HOMES
    )
