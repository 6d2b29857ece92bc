"""Avro: a typed format (``columnar``) whose rows are numbered as they are read."""

from __future__ import annotations

from typing import Final

from lakesmith.spark.read.formats.columnar import typed_reader
from lakesmith.spark.read.records import record_number

AVRO: Final = typed_reader(record_number())
