"""Slices of a topic, by Spark's own connector, as lines of JSON: what reads JSON lines reads them, and keeps their bad ones.

A value stays the text that it is. Key, headers and whether there is a value at all are put before its first field. A record in Avro is written
as JSON, which holds all of it but infinities and NaN; what is no record of the schema becomes a text that is no JSON, so a bad row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from lakesmith.project.definitions import TOMBSTONE, KafkaTopic
from lakesmith.quoting import literal
from lakesmith.sources.kafka.slices import slice_of
from lakesmith.sources.model import FileIdentity
from lakesmith.spark.read.records import VALUE
from lakesmith.spark.read.request import PROVENANCE, SOURCE_FILE, SOURCE_MODIFIED_AT, SOURCE_POSITION

_BLANK: Final = "' \\t\\r\\n'"
_READ: Final = "_lakesmith_read"
_JSON: Final = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
_ALWAYS: Final = {
    "kafka.isolation.level": "read_committed",
    # All that is asked for is there. Brokers would wait half a second for records behind it, at the end of each read.
    "kafka.fetch.max.wait.ms": "10",
}
_OF_SCHEMA: Final = 5
"""Bytes before a value that say by which schema of a registry it is written: a zero, and the schema's number."""


def read_slices(
    spark: SparkSession, topic: KafkaTopic, files: Sequence[FileIdentity], connection: Mapping[str, str]
) -> DataFrame:
    """The records of the slices that stand as ``files``, none of which is empty: ``_value`` and the provenance."""
    slices = [(file, each) for file in files if (each := slice_of(file)) is not None]
    wanted = {topic.topic: [each.partition for _, each in slices]}
    bounds = [
        json.dumps({topic.topic: {str(each.partition): getattr(each, bound) for _, each in slices}})
        for bound in ("start", "end")
    ]
    reader = spark.read.format("kafka").options(**{f"kafka.{name}": it for name, it in connection.items()})
    found = reader.options(
        assign=json.dumps(wanted),
        startingOffsets=bounds[0],
        endingOffsets=bounds[1],
        includeHeaders="true",
        # What is not there any more is an error: planning has looked what there is.
        failOnDataLoss="true",
        **_ALWAYS,
    ).load()
    paths = F.create_map(*(F.lit(it) for file, each in slices for it in (each.partition, file.path)))
    return (
        found.withColumn("_text", _text(topic))
        .withColumn("_besides", F.expr(_besides()))
        .withColumn("_body", F.expr(_body(topic)))
        .select(
            F.expr(_line()).alias(VALUE),
            paths[F.col("partition")].alias(SOURCE_FILE),
            F.col("offset").alias(SOURCE_POSITION),
            F.col("timestamp").alias(SOURCE_MODIFIED_AT),
        )
        .select(VALUE, *PROVENANCE)
    )


def _text(topic: KafkaTopic) -> SparkColumn:
    """The value as JSON; null for a tombstone."""
    if topic.avro_schema is None:
        return F.col("value").cast("string")
    value, fits = F.col("value"), F.lit(True)
    if topic.schema_ids:
        number = "conv(hex(substring(value, 2, 4)), 16, 10)"
        known = ", ".join(f"'{each}'" for each in topic.schema_ids)
        fits = F.expr(f"hex(substring(value, 1, 1)) = '00' AND {number} IN ({known})")
        value = F.expr(f"substring(value, {_OF_SCHEMA + 1})")
    options = {"mode": "PERMISSIVE", "avroSchema": _with_mark(topic.avro_schema)}
    record = from_avro(F.when(fits, value), topic.avro_schema, options)
    written = F.when(record[_READ], F.to_json(record.dropFields(_READ), _JSON))
    odd = F.concat(F.lit("no record of the schema: 0x"), F.hex("value"))
    return F.when(F.col("value").isNotNull(), F.coalesce(written, odd))


def _with_mark(schema: str) -> str:
    """The schema with one field more, which is true: of bytes that are no record Spark makes one whose fields are all null."""
    record = json.loads(schema)
    mark = {"name": _READ, "type": "boolean", "default": True}
    return json.dumps({**record, "fields": [*record["fields"], mark]})


def _besides() -> str:
    """SQL of the object of what a record has besides its value, without its closing brace."""
    headers = f"transform(headers, h -> struct(h.key AS name, {_shown('h.value')} AS value))"
    found = f"struct({_shown('key')} AS _key, {headers} AS _headers, value IS NULL AS {TOMBSTONE})"
    return f"trim(TRAILING '}}' FROM to_json({found}, map('ignoreNullFields', 'false')))"


def _shown(value: str) -> str:
    """SQL of bytes as text, where they are text, else in hexadecimal digits."""
    text = f"CAST({value} AS STRING)"
    return f"IF(is_valid_utf8({text}), {text}, concat('0x', lower(hex({value}))))"


def _body(topic: KafkaTopic) -> str:
    """SQL of the object that gives the columns: the value, of a tombstone its key or nothing."""
    of_key = "coalesce(CAST(key AS STRING), '{}')" if topic.json_keys else "'{}'"
    return f"trim(LEADING {_BLANK} FROM coalesce(_text, {of_key}))"


def _line() -> str:
    """SQL of both in one object; a body that is none stays what it is. Bytes that are no text are kept for whoever judges them."""
    rest = f"trim(LEADING {_BLANK} FROM substr(_body, 2))"
    comma = f"IF(startswith({rest}, {literal('}')}), '', ', ')"
    return f"IF(startswith(_body, {literal('{')}), concat(_besides, {comma}, {rest}), _body)"
