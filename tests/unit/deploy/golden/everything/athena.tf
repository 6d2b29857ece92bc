# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 8f6ef1b727dce125031c6eaf8d6da58e79e19980a5d864dd0fe8021ea482d83b

# Queries of people. A query that would read more than 10000 MB is stopped: Athena costs by what is read.
resource "aws_athena_workgroup" "readers" {
  name          = "shop-prod-readers"
  description   = "Queries on the tables of shop"
  force_destroy = true

  configuration {
    enforce_workgroup_configuration    = true
    publish_cloudwatch_metrics_enabled = true
    bytes_scanned_cutoff_per_query     = 10000000000

    result_configuration {
      output_location = "s3://${aws_s3_bucket.work.bucket}/athena/"
    }
  }
}

resource "aws_athena_named_query" "bronze__clicks" {
  name      = "bronze.clicks"
  workgroup = aws_athena_workgroup.readers.id
  database  = aws_glue_catalog_database.bronze.name
  query     = file("${path.module}/queries/bronze__clicks.sql")
}

resource "aws_athena_named_query" "bronze__orders" {
  name      = "bronze.orders"
  workgroup = aws_athena_workgroup.readers.id
  database  = aws_glue_catalog_database.bronze.name
  query     = file("${path.module}/queries/bronze__orders.sql")
}

resource "aws_athena_named_query" "bronze__products" {
  name      = "bronze.products"
  workgroup = aws_athena_workgroup.readers.id
  database  = aws_glue_catalog_database.bronze.name
  query     = file("${path.module}/queries/bronze__products.sql")
}

resource "aws_athena_named_query" "gold__cities" {
  name      = "gold.cities"
  workgroup = aws_athena_workgroup.readers.id
  database  = aws_glue_catalog_database.gold.name
  query     = file("${path.module}/queries/gold__cities.sql")
}

resource "aws_athena_named_query" "silver__orders" {
  name      = "silver.orders"
  workgroup = aws_athena_workgroup.readers.id
  database  = aws_glue_catalog_database.silver.name
  query     = file("${path.module}/queries/silver__orders.sql")
}

resource "aws_athena_named_query" "silver__ticks" {
  name      = "silver.ticks"
  workgroup = aws_athena_workgroup.readers.id
  database  = aws_glue_catalog_database.silver.name
  query     = file("${path.module}/queries/silver__ticks.sql")
}
