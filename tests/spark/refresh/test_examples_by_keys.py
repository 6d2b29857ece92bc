"""The golds of the examples are refreshed by keys, as they would be with more data, and equal a rebuild."""

import shutil
from pathlib import Path

import pytest
from harness import Harness

from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.in_turn

EXAMPLES = Path(__file__).parents[3] / "examples"
GOLDS = {
    "customer-orders": ("gold.customers_by_city_month", "landing/orders"),
    "invoices": ("gold.sales_by_category_state", "landing/invoices"),
}


@pytest.mark.parametrize("example", GOLDS)
def test_a_gold_costs_what_changed(
    tmp_path: Path, session: SessionHandle, by_keys: None, example: str
) -> None:
    gold, landing = GOLDS[example]
    source = EXAMPLES / example
    files = {str(path.relative_to(source)): path for path in source.rglob("*") if path.is_file()}
    texts = {
        name: path.read_text() for name, path in files.items() if name.split("/")[0] in ("tables", "schemas")
    }
    shop = Harness(
        tmp_path / example, session, {**texts, "lakesmith.yaml": files["lakesmith.yaml"].read_text()}
    )
    (shop.root / landing).mkdir(parents=True, exist_ok=True)
    arriving = sorted(
        path for name, path in files.items() if name.startswith(landing) and path.suffix != ".gitkeep"
    )
    arriving += sorted(path for name, path in files.items() if name.startswith("arrivals/"))
    data = [path for path in arriving if path.name != ".gitkeep"]
    kinds = []
    for path in data:
        shutil.copy(path, shop.root / landing)
        published = shop.must_run().published
        kinds += [published[gold].kind] if gold in published else []
    assert kinds[0] == "full"
    assert set(kinds[1:]) == {"keys"}
    by_keys = shop.rows(gold)
    assert shop.must_run(gold, full=[gold]).published[gold].kind == "full"
    assert shop.rows(gold) == by_keys
