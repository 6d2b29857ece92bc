"""JSON lines: ``json_lines`` reads them, ``json_types`` infers their columns, ``json_fields`` finds what only they have."""

from __future__ import annotations

from typing import Final

from lakesmith.spark.read.formats.interface import FormatReader, RecordKeys
from lakesmith.spark.read.formats.json_fields import json_field_types, json_unknown_fields
from lakesmith.spark.read.formats.json_lines import (
    json_good_lines,
    json_key_files,
    json_keys_together,
    json_rows,
)
from lakesmith.spark.read.formats.json_types import infer_json

JSON: Final = FormatReader(
    json_rows,
    infer_json,
    keys=RecordKeys(
        json_key_files, json_keys_together, json_good_lines, json_unknown_fields, json_field_types
    ),
)
