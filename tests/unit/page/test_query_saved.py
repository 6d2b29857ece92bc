"""Queries that are kept in the project: names, and nothing outside of the folder."""

from pathlib import Path

import pytest

from lakesmith.errors import UsageError
from lakesmith.page.query.saved import save, saved, saved_names

NAMES = [
    "",
    ".",
    "..",
    "../x",
    "a/b",
    "/etc/x",
    "a.b",
    "A",
    "é",
    "x\n",
    "x\0",
    "a" * 65,
    "-x",
    "con ",
    "x.sql",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_no_path(tmp_path: Path, name: str) -> None:
    for call in (lambda: save(tmp_path, name, "SELECT 1"), lambda: saved(tmp_path, name)):
        with pytest.raises(UsageError, match="LS249"):
            call()
    assert list(tmp_path.rglob("*")) == []


def test_a_query_is_kept_and_replaced_only_if_asked(tmp_path: Path) -> None:
    assert save(tmp_path, "by-city", "SELECT 1\n") == tmp_path / "queries/by-city.sql"
    save(tmp_path, "by-city", "SELECT 1\n")
    with pytest.raises(UsageError, match="already"):
        save(tmp_path, "by-city", "SELECT 2\n")
    assert saved(tmp_path, "by-city") == "SELECT 1\n"
    save(tmp_path, "by-city", "SELECT 2\n", replace=True)
    assert saved(tmp_path, "by-city") == "SELECT 2\n" and saved_names(tmp_path) == ["by-city"]
    with pytest.raises(UsageError, match="no query 'other'"):
        saved(tmp_path, "other")


def test_links_lead_nowhere(tmp_path: Path) -> None:
    root, secret = tmp_path / "project", tmp_path / "secret.sql"
    secret.write_text("secret")
    (root / "queries").mkdir(parents=True)
    (root / "queries/link.sql").symlink_to(secret)
    (root / "queries/Other.sql").write_text("SELECT 1")
    assert saved_names(root) == []
    with pytest.raises(UsageError, match="LS249"):
        saved(root, "link")
    save(root, "link", "SELECT 1", replace=True)
    assert secret.read_text() == "secret" and saved(root, "link") == "SELECT 1"
    (tmp_path / "two").mkdir()
    (tmp_path / "two/queries").symlink_to(tmp_path)
    assert saved_names(tmp_path / "two") == []
    with pytest.raises(UsageError, match="elsewhere"):
        save(tmp_path / "two", "x", "SELECT 1")
