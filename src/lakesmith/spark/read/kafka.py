"""Slices of a topic, read by Spark's connector, as lines of JSON.

A value keeps its text, without the number of its schema that a registry's clients write before it. Key,
headers and the tombstone mark are put before its first field, and are kept apart from it in quarantine. A
record in Avro is written as JSON, which holds all of it but infinities and NaN. A value that is not of the
schema becomes text that is not JSON, so a bad row.
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
    # All requested offsets exist. Brokers would wait half a second for later records at the end of each read.
    "kafka.fetch.max.wait.ms": "10",
}
_BEGIN: Final = '{"_key":'
ODD: Final = "0x"
"""How a value begins that is not of its schema: its bytes in hexadecimal digits."""


def read_slices(
    spark: SparkSession, topic: KafkaSource, files: Sequence[FileIdentity], connection: Mapping[str, str]
) -> DataFrame:
    """Returns the records of slices (``files``, none empty): ``_value`` and the provenance."""
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
        # A missing offset is an error: planning has checked which ones exist.
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
    """The value as JSON; null for a tombstone; ``0x`` and hexadecimal digits if it misfits."""
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
    """The schema with a true field more: Spark makes a record of nulls of bytes that misfit."""
    record = json.loads(schema)
    mark = {"name": _READ, "type": "boolean", "default": True}
    return json.dumps({**record, "fields": [*record["fields"], mark]})


def _besides() -> str:
    """SQL of an object of a record's key, headers and mark, without its closing brace."""
    headers = f"transform(headers, h -> struct(h.key AS name, {_shown('h.value')} AS value))"
    found = f"struct({_shown('key')} AS _key, {headers} AS _headers, value IS NULL AS {TOMBSTONE})"
    return f"trim(TRAILING '}}' FROM to_json({found}, map('ignoreNullFields', 'false')))"


def _shown(value: str) -> str:
    """SQL of bytes as text, if they are text, else in hexadecimal digits."""
    text = f"CAST({value} AS STRING)"
    return f"IF(is_valid_utf8({text}), {text}, concat('0x', lower(hex({value}))))"


def _body(topic: KafkaSource) -> str:
    """SQL of the object that gives the columns: the value; for a tombstone its key or nothing."""
    of_key = "coalesce(CAST(key AS STRING), '{}')" if topic.json_keys else "'{}'"
    return f"trim(LEADING {_BLANK} FROM coalesce(_text, {of_key}))"


def _line(body: str = "_body", besides: str = "_besides") -> str:
    """SQL of both as one object; text that is not JSON if the body is not an object."""
    rest, brace = f"substr({body}, 2)", literal("}")
    comma = f"IF(startswith(trim(LEADING {_BLANK} FROM {rest}), {brace}), '', ',')"
    return (
        f"CASE WHEN trim(BOTH {_BLANK} FROM {body}) = '' THEN {body}"
        f" WHEN startswith({body}, {literal('{')}) THEN concat({besides}, {comma}, '\n', {rest})"
        f" ELSE concat({besides}, {brace}, '\n', {body}) END"
    )


def kept_apart(raw: str, file: str) -> tuple[str, str]:
    """Returns SQL that reverts ``_line`` for a ``raw`` of a ``file``: the value as it came, and the object of
    the rest.

    Any other text is returned itself, with null.
    """
    at, brace = f"instr({raw}, '\n')", literal("}")
    is_line = (
        f"startswith({file}, {literal(KAFKA_PATH)}) AND startswith({raw}, {literal(_BEGIN)}) AND {at} > 0"
    )
    before, rest = f"substr({raw}, 1, {at} - 1)", f"substr({raw}, {at} + 1)"
    value = f"IF(endswith({before}, {brace}), {rest}, concat({literal('{')}, {rest}))"
    besides = f"concat(trim(TRAILING ',' FROM trim(TRAILING {brace} FROM {before})), {brace})"
    return f"IF({is_line}, {value}, {raw})", f"IF({is_line}, {besides}, NULL)"


def odd_value(topic: KafkaSource, otherwise: str) -> str:
    """Returns SQL of what is wrong with a value; ``otherwise``: if it has no other schema either."""
    what = (
        "its first bytes are not the number of a schema in `schema_ids`"
        if topic.schema_ids
        else "not a record of the `avro_schema`"
    )
    if not topic.avro_schema and not topic.schema_ids:
        return otherwise
    framed = " (if a registry's clients write the values, set `schema_ids`)" if not topic.schema_ids else ""
    is_framed = f"contains({VALUE}, '\n{ODD}00')"
    return (
        f"IF(contains({VALUE}, '\n{ODD}'), concat({literal(what)}, IF({is_framed}, {literal(framed)},"
        f" '')), {otherwise})"
    )


def put_together(raw: str, besides: str) -> str:
    """Returns SQL of a line again, from the parts of ``kept_apart``; ``raw`` where ``besides`` is null."""
    return f"IF({besides} IS NULL, {raw}, {_line(raw, f'trim(TRAILING {literal(chr(125))} FROM {besides})')})"
