"""The functions for logs in tables: incremental, and recomputed when their data change."""

import gzip
import hashlib
import hmac
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from harness import Harness, MakeShop
from log_files import log
from rewinding import rewinding

from lakesmith.plan.steps import Strategy
from lakesmith.sql import log_functions
from lakesmith.sql.log_functions import LogFunction

SALT = "not-a-secret-in-tests"
BOT = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"
FILES = {
    "tables/bronze/requests.yaml": """
        source:
          files: {path: landing/logs/, pattern: "*.gz", format: cloudfront}
        """,
    "tables/silver/requests.sql": """
        SELECT x_edge_request_id AS id, user_agent(cs_user_agent).family AS family,
          user_agent(cs_user_agent).is_bot AS is_bot, truncated_address(c_ip) AS network,
          hashed_address(c_ip, 'ADDRESS_SALT') AS client, url_parts(cs_uri_stem).extension AS extension
        FROM bronze.requests
        """,
    "tables/gold/families.sql": """
        SELECT user_agent(cs_user_agent).family AS family, count(*) AS requests
        FROM bronze.requests GROUP BY 1
        """,
}
ROWS = [
    ({"x-edge-request-id": "1", "cs-uri-stem": "/a.PNG"}, ("1", "curl", False, "192.0.2.0/24", "png")),
    ({"x-edge-request-id": "2", "cs(User-Agent)": BOT.replace(" ", "%20"), "c-ip": "2001:db8::1"},
     ("2", "bingbot", True, "2001:db8::/48", "html")),
    ({"x-edge-request-id": "3", "cs(User-Agent)": "-", "c-ip": "-"}, ("3", None, None, None, "html")),
]  # fmt: skip


@pytest.fixture(scope="module")
def taken(make_lake: MakeShop) -> Callable[[], Harness]:
    shop = make_lake(FILES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADDRESS_SALT", SALT)
        shop.take("landing/logs/1.gz", gzip.compress(log(ROWS[0][0], ROWS[1][0]).encode()))
    return rewinding(shop)


@pytest.fixture
def logs(taken: Callable[[], Harness], by_keys: None, monkeypatch: pytest.MonkeyPatch) -> Harness:
    monkeypatch.setenv("ADDRESS_SALT", SALT)
    return taken()


def test_tables_with_functions_are_refreshed_incrementally(logs: Harness) -> None:
    result = logs.take("landing/logs/2.gz", gzip.compress(log(ROWS[2][0]).encode()))
    published = result.published

    kinds = {table: record.kind for table, record in published.items()}
    assert (
        kinds["silver.requests"] == Strategy.APPEND.value and kinds["gold.families"] != Strategy.FULL.value
    ), result.events
    columns = ("id", "family", "is_bot", "network", "extension")
    assert logs.rows("silver.requests", *columns) == [row for _, row in ROWS]
    clients = dict(logs.rows("silver.requests", "id", "client"))
    assert clients["1"] == hmac.new(SALT.encode(), b"192.0.2.10", hashlib.sha256).hexdigest()[:32]
    assert clients["3"] is None
    assert logs.rows("gold.families") == [(None, 1), ("bingbot", 1), ("curl", 1)]
    logs.must_verify("silver.requests", "gold.families")


def test_new_rules_of_user_agents_recompute_their_tables(
    logs: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for function in ("rules_version", "_installed"):
        monkeypatch.setattr(log_functions, function, lambda: "209901")
    result = logs.must_run()

    assert {table: record.kind for table, record in result.published.items()} == {
        "silver.requests": "full", "gold.families": "full"}  # fmt: skip
    assert "user_agent" in " ".join(map(str, result.of("silver.requests")))


def test_another_salt_recomputes_its_tables_and_none_is_in_the_lake(
    logs: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADDRESS_SALT", "another-not-secret")
    assert set(logs.must_run().published) == {"silver.requests"}

    monkeypatch.delenv("ADDRESS_SALT")
    result = logs.run()
    texts = "\n".join(line for problem in result.problems for line in problem.lines())
    assert result.code == 1 and "LS315" in texts and "ADDRESS_SALT" in texts
    kept = [path.read_bytes() for path in logs.root.rglob("*") if path.is_file()]
    assert not [content for content in kept if SALT.encode() in content or b"another-not-secret" in content]


def test_workers_with_other_rules_than_the_driver_compute_nothing(
    logs: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a cluster whose machines have another version; the driver's own has to be the table's."""
    before = logs.rows("silver.requests")
    monkeypatch.setattr(log_functions, "_installed", lambda: None)
    logs.land("landing/logs/2.gz", gzip.compress(log({"x-edge-request-id": "4"}).encode()))
    result = logs.run()

    (first, *_) = [problem for problem in result.problems if problem.code == "LS314"]
    assert result.code == 1
    assert first.what.startswith(
        "silver.requests: Spark's workers lack what a function needs: ImportError: user_agent needs ua-"
    )
    assert first.hint is not None and first.hint.startswith("install ua-parser[regex]")
    assert logs.rows("silver.requests") == before
    monkeypatch.undo()
    monkeypatch.setenv("ADDRESS_SALT", SALT)
    logs.must_run()
    assert logs.count("silver.requests") == 3


@pytest.mark.parametrize("by_row", [False, True], ids=["arrow", "by row"])
def test_a_million_rows_with_a_thousand_agents_parse_a_thousand(
    logs: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_row: bool
) -> None:
    from lakesmith.spark.query.log_functions import provide
    from lakesmith.sql.log_functions import FUNCTIONS, used_in_sql, user_agent

    parsed, rows = str(tmp_path / "parsed"), 100_000 if by_row else 1_000_000

    def noted(text: str) -> object:
        with Path(parsed).open("a") as file:
            file.write(text + "\n")
        return user_agent(text)

    if by_row:
        monkeypatch.delattr("pyspark.sql.functions.arrow_udf")
    counted = replace(FUNCTIONS["user_agent"], compute=noted)
    monkeypatch.setitem(cast(dict[str, LogFunction], FUNCTIONS), "user_agent", counted)
    sql = f"""SELECT count(DISTINCT user_agent(concat('curl/', id % 1000)).version) AS versions
              FROM range(0, {rows}, 1, 1)"""
    provide(logs.spark, used_in_sql(sql))
    assert logs.spark.sql(sql).collect()[0][0] == 1000
    assert sorted(Path(parsed).read_text().split()) == sorted(f"curl/{number}" for number in range(1000))


def test_an_older_spark_computes_the_same_row_by_row(
    make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("pyspark.sql.functions.arrow_udf")
    monkeypatch.setenv("ADDRESS_SALT", SALT)
    shop = make_shop(FILES)
    content = gzip.compress(log(*(given for given, _ in ROWS)).encode())
    shop.take("landing/logs/1.gz", content, "bronze.requests", "silver.requests")
    columns = ("id", "family", "is_bot", "network", "extension")
    assert shop.rows("silver.requests", *columns) == [row for _, row in ROWS]
