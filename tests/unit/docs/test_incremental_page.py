"""The page on refreshing shows what ``explain`` says of the tables on it."""

from pathlib import Path

import pytest
from refreshing_page import SHOWN, TABLES, strategies

from lakesmith import Lakehouse
from lakesmith.cli.commands.explain import explain_lines


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "lakesmith.yaml").write_text("name: shop\n")
    for name, text in TABLES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        # The comment with the name counts as a line where lines are told.
        mark = "--" if name.endswith(".sql") else "#"
        file.write_text(f"{mark} {name}\n{text}")
    return tmp_path


def test_the_page_has_tables_and_shows_each_strategy() -> None:
    assert len(TABLES) == 10
    assert list(strategies().values()) == [
        "append", "upsert", "upsert", *["incremental by key or aggregate"] * 5, "full",
    ]  # fmt: skip


@pytest.mark.parametrize(("table", "shown"), SHOWN.items(), ids=list(SHOWN))
def test_what_explain_says(shop: Path, table: str, shown: str) -> None:
    printed = "\n".join(explain_lines(Lakehouse(shop).explain(table)))
    assert printed.startswith(shown + "\n")
