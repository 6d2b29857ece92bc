"""Logs in whole projects: late and repeated records, CloudFront's other formats, functions in Python."""

import gzip
import json
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from harness import MakeShop, refresh_by_keys
from log_files import USUAL, log

from lakesmith.sources.formats.logs import column_of

pytestmark = pytest.mark.in_turn("file", of=3)

EXAMPLE = Path(__file__).parents[3] / "examples/cdn-logs/tables/silver/requests.sql"

BRONZE = {
    "tables/bronze/requests.yaml": """
        source:
          files: {path: landing/logs/, pattern: "*.gz", format: cloudfront}
        """
}


def packed(*records: dict[str, str]) -> bytes:
    return gzip.compress(log(*records).encode())


def test_late_and_repeated_records_are_there_once_by_their_key(
    make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh_by_keys(monkeypatch)
    silver = {
        "tables/silver/requests.yaml": "key: [x_edge_request_id]\n",
        "tables/silver/requests.sql": "SELECT x_edge_request_id, event_time, sc_bytes FROM bronze.requests\n",
        "tables/gold/days.sql": """
            SELECT CAST(event_time AS date) AS day, count(*) AS requests, sum(sc_bytes) AS bytes
            FROM silver.requests GROUP BY 1
            """,
    }
    shop = make_shop({**BRONZE, **silver})
    first = [{"x-edge-request-id": str(at), "sc-bytes": "10"} for at in range(3)]
    shop.take("landing/logs/E1.2026-11-01-00.a.gz", packed(*first))
    late = {"x-edge-request-id": "late", "sc-bytes": "5", "date": "2026-10-31", "time": "23:59:59"}
    shop.take("landing/logs/E1.2026-10-31-23.b.gz", packed(late, first[0]))
    shop.take("landing/logs/E1.2026-11-01-00.c.gz", packed(*first))

    assert shop.count("bronze.requests") == 8
    days = [(str(day), requests, total) for day, requests, total in shop.rows("gold.days")]
    assert days == [("2026-10-31", 1, 5), ("2026-11-01", 3, 30)]
    shop.must_verify("silver.requests", "gold.days")


def test_logs_as_json_keep_the_names_of_their_fields(make_shop: MakeShop) -> None:
    files = {
        "tables/bronze/requests.yaml": """
            source:
              files: {path: landing/logs/, pattern: "*.gz", format: json}
            """,
        "tables/silver/requests.sql": """
            SELECT CAST(concat(date, 'T', time, 'Z') AS timestamp) AS event_time,
              user_agent(url_decode(`cs(User-Agent)`)).family AS family, CAST(`sc-status` AS int) AS sc_status
            FROM bronze.requests
            """,
    }
    shop = make_shop(files)
    record = {"date": "2026-11-01", "time": "00:00:01", "sc-status": "200", "cs(User-Agent)": "curl/8.5.0"}
    shop.take("landing/logs/a.gz", gzip.compress((json.dumps(record) + "\n").encode()))
    assert shop.rows("silver.requests", "family", "sc_status") == [("curl", 200)]


def test_logs_as_parquet_go_through_the_query_of_the_example(make_shop: MakeShop) -> None:
    query = EXAMPLE.read_text()
    parquet = {
        "tables/bronze/delivered.yaml": "source: {files: {path: landing/parquet/, format: parquet}}\n",
        "tables/bronze/typed.sql": """
            SELECT * EXCEPT (
                date, time, sc_status, sc_bytes, time_taken, cs_uri_stem, cs_user_agent, c_country),
              CAST(concat(date, 'T', time, 'Z') AS timestamp) AS event_time,
              try_cast(sc_status AS int) AS sc_status, try_cast(sc_bytes AS bigint) AS sc_bytes,
              try_cast(time_taken AS double) AS time_taken, nullif(c_country, '-') AS c_country,
              coalesce(try_url_decode(replace(cs_uri_stem, '+', '%2B')), cs_uri_stem) AS cs_uri_stem,
              coalesce(try_url_decode(replace(cs_user_agent, '+', '%2B')), cs_user_agent) AS cs_user_agent
            FROM bronze.delivered
            """,
        "tables/silver/requests.sql": query,
        "tables/silver/of_parquet.sql": query.replace("bronze.requests", "bronze.typed"),
    }
    shop = make_shop({**BRONZE, **parquet})
    records = [
        {"x-edge-request-id": "1", "cs-uri-stem": "/caf%C3%A9+1.PNG", "c-country": "DE"},
        {"x-edge-request-id": "2", "sc-bytes": "5000000000", "sc-status": "000", "c-country": "-"},
        {"x-edge-request-id": "3", "cs(User-Agent)": "x%zz", "cs-uri-stem": "/100%", "c-country": "FR"},
    ]
    whole = [{**USUAL, **record} for record in records]
    table = pa.Table.from_pylist([{column_of(name): text for name, text in each.items()} for each in whole])
    pq.write_table(table, packed_rows := BytesIO())
    shop.land("landing/parquet/a.parquet", packed_rows.getvalue())
    shop.land("landing/logs/a.gz", gzip.compress(log(*whole, fields=tuple(whole[0])).encode()))
    shop.must_run()

    columns = ("request_id", "path", "extension", "status", "bytes", "country", "browser", "network")
    assert shop.rows("silver.of_parquet", *columns) == [
        ("1", "/café+1.PNG", "png", 200, 4512, "DE", "curl", "192.0.2.0/24"),
        ("2", "/index.html", "html", 0, 5_000_000_000, None, "curl", "192.0.2.0/24"),
        ("3", "/100%", None, 200, 4512, "FR", None, "192.0.2.0/24"),
    ]
    assert shop.rows("silver.of_parquet") == shop.rows("silver.requests")


def test_python_tables_have_the_functions_too(make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    refresh_by_keys(monkeypatch)
    monkeypatch.setenv("ADDRESS_SALT", "not-a-secret-in-tests")
    python = {
        "tables/silver/clients.py": """
            from pyspark.sql import functions as F


            def clients(bronze__requests):
                return bronze__requests.select(
                    F.expr("hashed_address(c_ip, 'ADDRESS_SALT')").alias("client"),
                    F.expr("truncated_address(c_ip)").alias("network"),
                )
            """
    }
    shop = make_shop({**BRONZE, **python})
    shop.take("landing/logs/a.gz", packed({}))
    kind = shop.take("landing/logs/b.gz", packed({"c-ip": "192.0.2.11"})).published["silver.clients"].kind
    rows = shop.rows("silver.clients", "network", "client")
    assert [network for network, _ in rows] == ["192.0.2.0/24"] * 2 and rows[0] != rows[1]
    assert kind == "full"  # It does not declare that it is deterministic.
