"""``explain`` on a table: its format version, its gates, why it is refreshed as it is."""

from shop import Cli, Shop


def test_it_says_what_version_2_costs(cli: Cli, shop: Shop) -> None:
    """The tables of this lake are of it, and nothing declares that they are to stay so."""
    shop.format_version = 2
    shop.batch("bronze.orders", 1, 10, files=1)
    said = cli("explain", "bronze.orders", "--project", shop.root).out
    assert "Iceberg format version 2: for engines that cannot read version 3" in said
    assert "slower where rows change" in said
    assert "with its next batch, format_version 2 becomes 3, for good" in said
    assert cli("explain", "bronze.orders", "--project", shop.root, "--json").data["format_version"] == 2


def test_of_a_table_that_is_not_built_yet_what_is_declared(cli: Cli, shop: Shop) -> None:
    new, query = shop.root / "tables" / "gold" / "new.yaml", "query: SELECT 1 AS one\n"
    new.write_text(f"{query}format_version: 2\n")
    assert "Iceberg format version 2" in cli("explain", "gold.new", "--project", shop.root).out
    new.write_text(query)
    assert "Iceberg format" not in cli("explain", "gold.new", "--project", shop.root).out


def test_a_table_of_closed_windows_is_told_why_it_is_computed_as_a_whole(cli: Cli, shop: Shop) -> None:
    """By its ``emit``, and not by what that adds to the query."""
    gold = shop.root / "tables/gold/customers_by_city_month"
    for file in gold.parent.glob("*"):
        file.unlink()
    gold.with_name("by_minute.sql").write_text(
        "SELECT window.end AS window_end, count(*) AS n FROM bronze.orders"
        " GROUP BY window(processed_time, '1 minute')"
    )
    gold.with_name("by_minute.yaml").write_text(
        "emit: {closed: window_end, watermark: bronze.orders.processed_time}\n"
    )
    said = cli("explain", "gold.by_minute", "--project", shop.root).out
    assert "why not less: emit: closed publishes windows by a watermark, which any new row can move\n" in said
    assert "what would allow it: a table of the same windows without emit, which this one reads\n" in said
    assert "subquery" not in said


def test_gates_are_shown_with_what_they_read(cli: Cli, shop: Shop) -> None:
    rules = 'rules: |\n  Rules = [ IsComplete "n", RowCount > 1, Mean "n" > 2 ]\n'
    query = "query: SELECT 1 AS n\non_failed_rule: warn\n"
    (shop.root / "tables/gold/new.yaml").write_text(query + rules)
    lines = cli("explain", "gold.new", "--project", shop.root).out.splitlines()
    said = [line.split(":", 1)[1].strip() for line in lines if "a table rule that fails" in line]
    assert said == ["warn; before it is published, 2 table rules read one pass over n"], lines
    assert any(line.strip() == "RowCount > 1" for line in lines)
    assert any("a row that breaks one: " in line for line in lines), "the first is no gate"


def test_an_error_code_is_explained_outside_of_a_project(cli: Cli) -> None:
    said = cli("explain", "ls601").out
    assert said.startswith("LS601: ")
    assert "\ncause\n" in said and "\nto do\n" in said
    assert set(cli("explain", "LS601", "--json").data) == {"code", "meaning", "cause", "fix"}
    assert "there is no error code LS999" in cli("explain", "LS999").err
