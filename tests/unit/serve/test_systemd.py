"""The unit that ``up --systemd`` prints."""

import configparser
import shlex
from pathlib import Path

from typer.testing import CliRunner

from lakesmith.cli.main import app
from lakesmith.serve.options import quoted_for_systemd


def test_a_unit_runs_up_as_it_was_asked_for(tmp_path: Path) -> None:
    root = tmp_path / "my shop 100%"
    root.mkdir()
    (root / "lakesmith.yaml").write_text("name: shop\n")
    words = ["up", "--project", str(root), "--port", "8123", "--at-most-every", "2", "--systemd"]
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 0, said.output
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(said.output)
    service = dict(unit["Service"])
    # systemd reads words without dollars and backslashes as a shell does, but for percent signs.
    program, *arguments = shlex.split(service["ExecStart"].replace("%%", "%"))
    assert Path(program).name == "lakesmith" and Path(program).is_absolute()
    assert arguments == [
        "up", "--project", str(root), "--host", "127.0.0.1", "--port", "8123",
        "--every", "10", "--at-most-every", "2"
    ]  # fmt: skip
    assert service["WorkingDirectory"] == str(root).replace("%", "%%")
    assert service["EnvironmentFile"] == "-/etc/lakesmith/shop.env"
    assert unit["Install"]["WantedBy"] == "multi-user.target"


def test_words_are_quoted_as_systemd_reads_them() -> None:
    assert quoted_for_systemd("/srv/shop") == "/srv/shop"
    assert quoted_for_systemd('a "b" $c \\d') == r'"a \"b\" $$c \\d"'
    assert quoted_for_systemd("") == '""'
