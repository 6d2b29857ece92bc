"""Parquet: a typed format (``columnar``) whose reader numbers a file's rows itself."""

from __future__ import annotations

from typing import Final

from lakesmith.spark.read.formats.columnar import typed_reader

PARQUET: Final = typed_reader("_metadata.row_index")
