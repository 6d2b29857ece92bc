"""The page on the architecture names files and folders that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
CODE = ROOT / "src" / "lakesmith"
FOLDERS = (ROOT, CODE, CODE / "spark")


def _is_there(name: str) -> bool:
    return any((folder / name).exists() or (folder / f"{name}.py").exists() for folder in FOLDERS)


def test_every_path_on_the_page_is_there() -> None:
    named = set(re.findall(r"`([a-z_0-9]+/[a-z_0-9/.]*)`", PAGE))
    assert len(named) > 40
    assert {name for name in named if not _is_there(name)} == set()


def test_every_room_of_the_data_plane_is_told() -> None:
    rooms = {path.name for path in (CODE / "spark").iterdir() if (path / "__init__.py").exists()}
    assert {room for room in rooms if f"**`{room}/`**" not in PAGE} == set()
