"""Slices of a topic, by Spark's own connector, as lines of JSON: what reads JSON lines reads them, and keeps their bad ones.

A value stays the text that it is, without the number of its schema that a registry's clients put before it. Key, headers and whether there is a
value at all are put before its first field, and kept apart from it in quarantine. A record in Avro is written as JSON, which holds all of it but
infinities and NaN; what is no record of the schema becomes a text that is no JSON, so a bad row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from lakesmith.project.definitions import KAFKA_PATH, TOMBSTONE, KafkaSource
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
_BEGIN: Final = '{"_key":'
ODD: Final = "0x"
"""How a value begins that is none of its schema: its bytes in hexadecimal digits."""


def read_slices(
    spark: SparkSession, topic: KafkaSource, files: Sequence[FileIdentity], connection: Mapping[str, str]
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


def _text(topic: KafkaSource) -> SparkColumn:
    """The value as JSON; null for a tombstone. What is no value of the schema is its bytes in hexadecimal digits, as ``0x...``."""
    is_framed = "hex(substring(value, 1, 1)) = '00' AND length(value) >= 5"
    known = ", ".join(f"'{each}'" for each in topic.schema_ids)
    fits = f"{is_framed} AND conv(hex(substring(value, 2, 4)), 16, 10) IN ({known})" if known else "true"
    bare = "substring(value, 6)"
    if topic.avro_schema is None:
        text = F.expr(f"IF({fits}, CAST(IF({is_framed}, {bare}, value) AS STRING), NULL)")
    else:
        options = {"mode": "PERMISSIVE", "avroSchema": _with_mark(topic.avro_schema)}
        value = F.expr(f"IF({fits}, {bare if known else 'value'}, NULL)")
        record = from_avro(value, topic.avro_schema, options)
        text = F.when(record[_READ], F.to_json(record.dropFields(_READ), _JSON))
    return F.when(F.col("value").isNotNull(), F.coalesce(text, F.concat(F.lit(ODD), F.hex("value"))))


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


def _body(topic: KafkaSource) -> str:
    """SQL of the object that gives the columns: the value, of a tombstone its key or nothing."""
    of_key = "coalesce(CAST(key AS STRING), '{}')" if topic.json_keys else "'{}'"
    return f"trim(LEADING {_BLANK} FROM coalesce(_text, {of_key}))"


def _line(body: str = "_body", besides: str = "_besides") -> str:
    """SQL of both as one object, and of a body that is none behind the object of what it has besides: that is no JSON either."""
    rest, brace = f"substr({body}, 2)", literal("}")
    comma = f"IF(startswith(trim(LEADING {_BLANK} FROM {rest}), {brace}), '', ',')"
    return (
        f"CASE WHEN trim(BOTH {_BLANK} FROM {body}) = '' THEN {body}"
        f" WHEN startswith({body}, {literal('{')}) THEN concat({besides}, {comma}, '\n', {rest})"
        f" ELSE concat({besides}, {brace}, '\n', {body}) END"
    )


def kept_apart(raw: str, file: str) -> tuple[str, str]:
    """SQL of what ``_line`` put together, where ``raw`` is that of a ``file``: the value as it came, and the object of what it has besides;
    of any other text, itself and null."""
    at, brace = f"instr({raw}, '\n')", literal("}")
    is_line = (
        f"startswith({file}, {literal(KAFKA_PATH)}) AND startswith({raw}, {literal(_BEGIN)}) AND {at} > 0"
    )
    before, rest = f"substr({raw}, 1, {at} - 1)", f"substr({raw}, {at} + 1)"
    value = f"IF(endswith({before}, {brace}), {rest}, concat({literal('{')}, {rest}))"
    besides = f"concat(trim(TRAILING ',' FROM trim(TRAILING {brace} FROM {before})), {brace})"
    return f"IF({is_line}, {value}, {raw})", f"IF({is_line}, {besides}, NULL)"


def odd_value(topic: KafkaSource, otherwise: str) -> str:
    """SQL of what is wrong with a line whose value is none; ``otherwise``: where it is no value of another schema either."""
    what = (
        "its first bytes are not the number of a schema in `schema_ids`"
        if topic.schema_ids
        else "not a record of the `avro_schema`"
    )
    if not topic.avro_schema and not topic.schema_ids:
        return otherwise
    framed = " (if a registry's clients write the values, set `schema_ids`)" if not topic.schema_ids else ""
    is_framed = f"contains({VALUE}, '\n{ODD}00')"
    return f"IF(contains({VALUE}, '\n{ODD}'), concat({literal(what)}, IF({is_framed}, {literal(framed)}, '')), {otherwise})"


def put_together(raw: str, besides: str) -> str:
    """SQL of a line again, of what ``kept_apart`` made of it; where ``besides`` is null, of ``raw``."""
    return f"IF({besides} IS NULL, {raw}, {_line(raw, f'trim(TRAILING {literal(chr(125))} FROM {besides})')})"
