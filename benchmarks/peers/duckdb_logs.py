"""The golds of the example cdn-logs by DuckDB: reads all files, keeps each request once, aggregates.

python duckdb_logs.py 'landing/logs/*.gz' days.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb

FIELDS = """
date time edge bytes ip method host path status referer agent query result id host_header protocol
cs_bytes seconds ssl protocol_version port first_byte detailed content_type country
"""
READ = """
CREATE TABLE requests AS
SELECT DISTINCT ON (id) id, CAST(date AS date) AS day, edge, country, method, url_decode(path) AS path,
  CAST(status AS integer) AS status, result, CAST(bytes AS bigint) AS bytes,
  CAST(seconds AS double) AS seconds
FROM read_csv(?, delim = '\t', header = false, skip = 2, quote = '', escape = '', nullstr = '-',
  all_varchar = true, auto_detect = false, columns = {columns})
"""
CACHEABLE = "count(*) FILTER (method != 'POST' AND status BETWEEN 200 AND 399)"
HITS = "count(*) FILTER (result = 'Hit' AND method != 'POST')"
MEASURES = f"""
  count(*) AS requests, CAST(sum(bytes) AS bigint) AS bytes, {HITS} AS hits, {CACHEABLE} AS cacheable,
  round({HITS} / nullif({CACHEABLE}, 0), 3) AS hit_ratio, count(*) FILTER (status >= 400) AS errors,
  round(quantile_cont(seconds, 0.5), 3) AS p50, round(quantile_cont(seconds, 0.95), 3) AS p95,
  round(quantile_cont(seconds, 0.99), 3) AS p99
FROM requests
"""


def main(pattern: str, days: str) -> None:
    """Writes the rows of days as texts."""
    database = duckdb.connect()
    columns = "{" + ", ".join(f"'{name}': 'VARCHAR'" for name in FIELDS.split()) + "}"
    database.execute(READ.replace("{columns}", columns), [pattern])
    by = "day, edge, path, country, status"
    database.execute(f"CREATE TABLE traffic AS SELECT {by}, {MEASURES} GROUP BY {by}")
    rows = database.execute(f"SELECT day, {MEASURES} GROUP BY day ORDER BY day").fetchall()
    Path(days).write_text(json.dumps([[str(value) for value in row] for row in rows]))


if __name__ == "__main__":
    main(*sys.argv[1:])
