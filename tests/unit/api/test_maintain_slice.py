"""Looking after a table by hand."""

from pathlib import Path

import pytest

import lakesmith
from lakesmith.errors import UsageError


def test_a_table_of_others_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "tables/shop").mkdir(parents=True)
    (tmp_path / "lakesmith.yaml").write_text("name: reports\n")
    (tmp_path / "tables/shop/sales.yaml").write_text("external: {project: ../shop, table: bronze.sales}\n")
    with pytest.raises(UsageError, match=r"shop\.sales is a table of others") as raised:
        lakesmith.open(tmp_path).maintain_slice("shop.sales")
    assert raised.value.problems[0].code == "LS221"
