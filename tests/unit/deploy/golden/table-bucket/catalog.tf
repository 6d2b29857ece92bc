# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: e0112936d5aa1379af370807be5436deb201f365ca4e0c6c113e2b0fcde23468

# Tables in S3 Tables: AWS compacts them by itself, and expires their snapshots.
resource "aws_s3tables_table_bucket" "lake" {
  name = "shop-tables"

  # Said in full, since AWS answers with what is usual, and a plan would show it as a change.
  encryption_configuration = {
    sse_algorithm = "AES256"
    kms_key_arn   = null
  }

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_s3tables_namespace" "bronze" {
  namespace        = "bronze"
  table_bucket_arn = aws_s3tables_table_bucket.lake.arn

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_s3tables_namespace" "gold" {
  namespace        = "gold"
  table_bucket_arn = aws_s3tables_table_bucket.lake.arn

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_s3tables_namespace" "lakesmith" {
  namespace        = "lakesmith"
  table_bucket_arn = aws_s3tables_table_bucket.lake.arn

  lifecycle {
    prevent_destroy = true
  }
}
