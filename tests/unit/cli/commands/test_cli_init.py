"""``init``: empty projects and copies of the examples, and never over what is there."""

from pathlib import Path

import pytest
from shop import Cli

from lakesmith.api.starting import templates


def test_an_empty_project_is_right_as_it_is(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "My Shop-2"
    said = cli("init", folder)
    assert said.code == 0
    assert said.out.splitlines()[:2] == [f"made {folder}", "next:"]
    assert (folder / "lakesmith.yaml").read_text().startswith("name: my_shop_2\n")
    assert (folder / "tables" / "bronze").is_dir()
    assert ".lakesmith/" in (folder / ".gitignore").read_text()
    status = cli("status", "--project", folder)
    assert (status.code, status.out) == (0, "the project has no tables yet\n")


def test_the_commented_example_is_a_project(cli: Cli, tmp_path: Path) -> None:
    """Its parts, saved under the names they give, are right."""
    cli("init", tmp_path / "p")
    lines = (tmp_path / "p/tables/EXAMPLE.txt").read_text().splitlines()
    target = None
    for line in lines:
        if line.startswith("# --- "):
            target = tmp_path / "p" / line.removeprefix("# --- ").split(" ")[0].rstrip(":")
            target.write_text("")
        elif target is not None:
            target.write_text(target.read_text() + line.removeprefix("#").removeprefix(" ") + "\n")
    (tmp_path / "p/landing/orders").mkdir()
    said = cli("plan", "--project", tmp_path / "p", "--json")
    assert said.code == 0
    assert [table["table"] for table in said.data["tables"]] == [
        "bronze.orders", "silver.orders", "gold.by_customer",
    ]  # fmt: skip


@pytest.mark.parametrize("template", [template.name for template in templates()])
def test_every_example_is_a_project(cli: Cli, tmp_path: Path, template: str) -> None:
    said = cli("init", template, tmp_path / "p")
    assert said.code == 0
    assert "see README.md" in said.out
    assert not list((tmp_path / "p").rglob("*cache*"))
    assert cli("plan", "--project", tmp_path / "p").code == 0


def test_the_examples_are_listed(cli: Cli) -> None:
    names = [item["name"] for item in cli("init", "--list", "--json").data]
    assert {"customer-orders", "invoices"} <= set(names)
    listed = cli("init", "--list").out
    assert all(name in listed for name in names)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], "LS206", "found: nothing"),
        (["a", "b", "c"], "LS206", "found: a, b, c"),
        (["custommer-orders", "x"], "LS207", "did you mean customer-orders?"),
        (["invoices"], "LS208", "lakesmith init invoices DIR copies it"),
    ],
)
def test_calls_that_are_not_clear(cli: Cli, words: list[str], code: str, said: str) -> None:
    answer = cli("init", *words)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(code)
    assert said in answer.err


def test_nothing_is_overwritten(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    said = cli("init", "invoices", tmp_path)
    assert said.code == 2
    assert "found: mine.txt" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    file = tmp_path / "mine.txt"
    assert cli("init", file).code == 2
    assert file.read_text() == "mine"


def test_a_fresh_repository_counts_as_empty(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert cli("init", tmp_path).code == 0
