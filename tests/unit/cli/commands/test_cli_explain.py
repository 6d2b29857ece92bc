"""``explain`` on the format version of a table."""

from __future__ import annotations

from shop import Cli, Shop


def test_it_says_what_version_2_costs(cli: Cli, shop: Shop) -> None:
    """The tables of this lake are of it, and nothing declares that they are to stay so."""
    shop.batch("bronze.orders", 1, 10, files=1)
    said = cli("explain", "bronze.orders", "--project", shop.root).out
    assert "Iceberg format version 2: for engines that do not read version 3" in said
    assert "slower: a batch that changes rows writes one such file for each data file" in said
    assert "with its next batch, format_version 2 becomes 3, for good" in said
    assert cli("explain", "bronze.orders", "--project", shop.root, "--json").data["format_version"] == 2


def test_of_a_table_that_is_not_built_yet_what_is_declared(cli: Cli, shop: Shop) -> None:
    new, query = shop.root / "tables" / "gold" / "new.yaml", "query: SELECT 1 AS one\n"
    new.write_text(f"{query}format_version: 2\n")
    assert "Iceberg format version 2" in cli("explain", "gold.new", "--project", shop.root).out
    new.write_text(query)
    assert "Iceberg format" not in cli("explain", "gold.new", "--project", shop.root).out
