"""What the page does with Spark, in processes of its own: a lake is built and set back by forms alone."""

import html
import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

import lakesmith
from page_server import Served, served

pytestmark = [pytest.mark.in_turn("file", of=3), pytest.mark.processes]
FILES = {
    "lakesmith.yaml": "name: shop\n",
    "tables/bronze/orders.yaml": "source: {files: {path: landing/, format: csv}}\non_bad_row: quarantine\n"
    "columns: {id: bigint, city: string, at: timestamp}\n",
    "tables/silver/latest.yaml": "key: [id]\nlatest_by: [at]\n",
    "tables/silver/latest.sql": "SELECT id, city, at FROM bronze.orders\n",
    "landing/1.csv": "id,city,at\n" + "".join(f"{n},Oslo,2026-01-01T00:00:00Z\n" for n in range(50)),
}
SECOND = (
    "id,city,at\n3,Rome,2026-01-02T00:00:00Z\nx,Bonn,2026-01-02T00:00:00Z\n77,Rome,2026-01-02T00:00:00Z\n"
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    found = tmp_path_factory.mktemp("shop")
    for name, text in FILES.items():
        (found / name).parent.mkdir(parents=True, exist_ok=True)
        (found / name).write_text(text)
    yield found
    lakesmith.open(found).stop()


def _do(page: Served, action: str, **given: str) -> str:
    """Looks at what an action would do, confirms it, and returns what came of it."""
    shown = page.get(f"/do/{action}?{urlencode(given)}")
    assert shown.status == 200, shown.text
    confirm = shown.text.partition('class="confirm"')[2].partition("</form>")[0]
    found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', confirm)
    fields = {html.unescape(name): html.unescape(text) for name, text in found}
    return _sent(page, f"/do/{action}", fields)


def _sent(page: Served, path: str, fields: dict[str, str]) -> str:
    headers = {"Authorization": f"Bearer {page.token}"}
    sent = page.ask(path, headers, "POST", urlencode(fields))
    assert sent.status == 303, sent.text
    for _ in range(1200):
        said = " ".join(re.sub(r"<[^>]+>", " ", page.get(sent.headers["location"]).text).split())
        if "under way" not in said:
            return said
        time.sleep(0.1)
    raise AssertionError(said)


def _rows(page: Served, path: str) -> list[list[str]]:
    body = (
        page.get(path).text.partition('id="rows-scroll"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    )
    return [row for each in body.split("</tr>") if (row := re.findall(r"<bdi>(.*?)</bdi>", each))]


def test_a_lake_is_built_looked_at_and_set_back_by_forms_alone(root: Path) -> None:
    with served(root, may_change=True) as page:
        assert "silver.latest: batch 1: read 50: 50 inserted" in _do(page, "run")
        (root / "landing/2.csv").write_text(SECOND)
        said = _do(page, "run", table="silver.latest", **{"with": "up"})
        assert "bronze.orders: batch 2: read 3: 2 inserted, 1 quarantined; 52 rows now" in said
        assert "silver.latest: batch 2: read 2: 1 inserted, 1 updated; 51 rows now" in said
        new, old = (point.snapshot_id for point in lakesmith.open(root).history("silver.latest").points)
        # The table is of format 3, so the update left a deletion vector.
        path = "/t/silver.latest/rows?sort=id&column=city&is=eq&value="
        assert [row[0] for row in _rows(page, path + "Rome")] == ["3", "77"]
        assert _rows(page, path + "Rome")[0][2] == "2026-01-02 00:00:00 UTC"
        assert len(_rows(page, path + "Oslo")) == 49
        assert [row[0] for row in _rows(page, f"{path}Oslo&as_of={old}")] == [str(n) for n in range(50)]

        said = _sent(page, "/t/silver.latest/diff", {"begin": str(old), "end": str(new)})
        assert "1 inserted 1 updated" in said and "at in 1 row" in said and "city in 1 row" in said

        assert "2 tables have the tag good" in _do(page, "tag", name="good")
        assert "bronze.orders: batch 3" in _do(page, "replay", table="bronze.orders")

        (root / "tables/silver/latest.sql").write_text(
            "SELECT id, upper(town) AS city, at FROM bronze.orders\n"
        )
        said = _do(page, "run", table="silver.latest")
        assert "silver.latest failed" in said and re.search(r"LS\d\d\d", said) and "town" in said
        (root / "tables/silver/latest.sql").write_text(FILES["tables/silver/latest.sql"])

        said = _do(page, "rollback", table="silver.latest", to=str(old), hold="1")
        assert "silver.latest is at batch 1 again" in said
        assert len(_rows(page, path + "Rome")) == 0
        assert "held" in page.get("/t/silver.latest").text
        assert "runs refresh it again" in _do(page, "release", table="silver.latest")

        done = page.get("/activity").text
        for what in ("run silver.latest", "tag good", "rollback silver.latest", "release silver.latest"):
            assert re.search(f"{what}[^<]* \\(on the page\\)", done), what
