"""Logs of CloudFront to Parquet by DuckDB: the lines as TSV with typed columns, compressed with zstd.

python duckdb_tsv.py 'landing/logs/*' requests.parquet
"""

from __future__ import annotations

import sys

import duckdb
from duckdb_logs import FIELDS

TYPES = {
    "date": "DATE",
    "time": "TIME",
    "status": "INTEGER",
    "port": "INTEGER",
    "bytes": "BIGINT",
    "cs_bytes": "BIGINT",
    "seconds": "DOUBLE",
    "first_byte": "DOUBLE",
}
WRITE = """
COPY (FROM read_csv(?, delim = '\t', header = false, skip = 2, quote = '', escape = '', nullstr = '-',
  auto_detect = false, columns = {columns})) TO '{out}' (FORMAT parquet, COMPRESSION zstd)
"""


def main(pattern: str, out: str) -> None:
    """Writes the file."""
    columns = {name: TYPES.get(name, "VARCHAR") for name in FIELDS.split()}
    duckdb.execute(WRITE.format(columns=columns, out=out), [pattern])


if __name__ == "__main__":
    main(*sys.argv[1:])
