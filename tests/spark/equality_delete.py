"""Deletes rows by equality, as streaming engines do."""

from typing import Any

from harness import Harness

from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.commits import JavaTables


def delete_equal(shop: Harness, table: str, city: str) -> None:
    """Deletes the rows of a ``city`` as a streaming engine does: by an equality delete."""
    iceberg = JavaTables(shop.spark).load(TableName.parse(table))
    jvm: Any = shop.spark._jvm
    package = jvm.org.apache.iceberg
    schema = iceberg.schema().select(jvm.java.util.List.of("city"))
    ids = shop.spark.sparkContext._gateway.new_array(jvm.int, 1)
    ids[0] = schema.findField("city").fieldId()
    record = package.data.GenericRecord.create(schema)
    record.setField("city", city)
    path = f"{iceberg.location()}/data/deletes-{city}.parquet"
    output = package.encryption.EncryptedFiles.plainAsEncryptedOutput(iceberg.io().newOutputFile(path))
    writer = equality_writer(jvm, iceberg, (ids, schema), output, None)
    writer.write(record)
    writer.close()
    iceberg.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
    shop.spark.catalog.refreshTable(f"lake.{table}")


def equality_writer(jvm: Any, table: Any, fields: tuple[Any, Any], output: Any, partition: Any) -> Any:
    """Iceberg's writer of equality deletes in a partition. ``fields``: the columns' ids, and their schema."""
    package, (ids, schema) = jvm.org.apache.iceberg, fields
    if jvm.org.apache.iceberg.IcebergBuild.version().startswith("1.10."):
        older = package.data.GenericAppenderFactory(table.schema(), table.spec(), ids, schema, None)
        return older.newEqDeleteWriter(output, package.FileFormat.PARQUET, partition)
    writers = package.data.GenericFileWriterFactory.Builder(table)
    writers = writers.equalityFieldIds(ids).equalityDeleteRowSchema(schema).build()
    return writers.newEqualityDeleteWriter(output, table.spec(), partition)
