"""The entry script's words, and how a project comes to be a folder that can be written."""

import zipfile
from pathlib import Path

import pytest

from lakesmith.errors import EnvironmentProblem
from lakesmith.submit import at_hand, split

FILES = {"lakesmith.yaml": "name: shop\n", "tables/silver/a.sql": "SELECT 1 AS a\n"}


def _project(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_options_may_stand_before_the_command_and_behind_it() -> None:
    words = ["--target", "prod", "verify", "silver.*", "--json", "--project=shop.zip"]
    assert split(words) == ("shop.zip", "prod", ["verify", "silver.*", "--json"])


def test_a_folder_that_can_be_written_is_used_as_it_is(tmp_path: Path) -> None:
    with at_hand(str(_project(tmp_path))) as folder:
        assert folder == tmp_path


@pytest.mark.parametrize("inside", ["", "shop/"])
def test_a_zip_is_unpacked_and_gone_afterwards(tmp_path: Path, inside: str) -> None:
    with zipfile.ZipFile(tmp_path / "shop.zip", "w") as packed:
        for name, text in FILES.items():
            packed.writestr(inside + name, text)
    with at_hand(str(tmp_path / "shop.zip")) as folder:
        assert (folder / "tables/silver/a.sql").read_text() == FILES["tables/silver/a.sql"]
    assert not folder.exists()


def test_what_is_no_project_is_said(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as packed:
        packed.writestr("readme", "")
    for place in ("other.zip", "nothing.zip"):
        with pytest.raises(EnvironmentProblem, match="LS335"), at_hand(str(tmp_path / place)):
            pass
