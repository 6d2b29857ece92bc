"""Spark's types, taken apart as the types of files and tables are."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from lakesmith.project.spark_types import SqlType, composed


def sql_type(kind: DataType) -> SqlType:
    """A type as Spark has it, taken apart; names are quoted in its ``text`` where they need it."""
    match kind:
        case StructType():
            return composed("struct", [(field.name, sql_type(field.dataType)) for field in kind])
        case ArrayType():
            return composed("array", [("element", sql_type(kind.elementType))])
        case MapType():
            return composed("map", [("key", sql_type(kind.keyType)), ("value", sql_type(kind.valueType))])
    return SqlType(text=kind.simpleString())
