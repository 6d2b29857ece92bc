"""A project that a long process reads again only once its files have changed."""

import os
import time
from pathlib import Path

import pytest

from lakesmith.errors import ProjectError
from lakesmith.execute import opened
from lakesmith.execute.opened import KeptProject
from lakesmith.graph.graph import load


def test_it_is_read_again_once_a_file_comes_goes_or_changes(tmp_path: Path) -> None:
    (tmp_path / "tables/gold").mkdir(parents=True)
    (tmp_path / "lakesmith.yaml").write_text("name: shop\n")
    one, two = tmp_path / "tables/gold/one.sql", tmp_path / "tables/gold/two.sql"
    one.write_text("SELECT 1 AS a")
    time.sleep(1.1)
    kept = KeptProject(tmp_path, None)
    first = kept.opened()
    assert kept.opened().project is first.project and kept.opened().lake is not first.lake
    one.write_text("SELECT 2 AS a")
    changed = kept.opened()
    assert changed.project is not first.project and "2 AS a" in str(changed.project.tables[0].query)
    two.write_text("SELECT 1 AS b")
    assert len(kept.opened().project.tables) == 2
    two.unlink()
    assert len(kept.opened().project.tables) == 1
    times = one.stat()
    one.write_text("SELECT 3 AS a")
    os.utime(one, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert "3 AS a" in str(kept.opened().project.tables[0].query)
    (tmp_path / "lakesmith.yaml").write_text("name: shop\nnonsense: 1\n")
    with pytest.raises(ProjectError):
        kept.opened()
    (tmp_path / "lakesmith.yaml").write_text("name: shop2\n")
    assert kept.opened().project.name == "shop2"


def test_a_broken_project_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lakesmith.yaml").write_text("name: shop\nnonsense: 1\n")
    time.sleep(1.1)
    kept, reads = KeptProject(tmp_path, None), []
    monkeypatch.setattr(opened, "load", lambda *given, **more: reads.append(1) or load(*given, **more))
    for _ in range(3):
        with pytest.raises(ProjectError, match="nonsense"):
            kept.opened()
    assert len(reads) == 1
    (tmp_path / "lakesmith.yaml").write_text("name: shop\n")
    assert kept.opened().project.name == "shop"
