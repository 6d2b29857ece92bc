# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 0cc6bb087dd3998e73e38d6bfbc4caccc73edf7d1ed44b15e241cb0854efb2f4

# One key for all buckets. Deleting it makes every object unreadable, so AWS waits for 30 days.
resource "aws_kms_key" "lake" {
  description             = "shop, target prod: files of the lake"
  enable_key_rotation     = true
  deletion_window_in_days = 30
  policy                  = file("${path.module}/policies/key.json")
}

resource "aws_kms_alias" "lake" {
  name          = "alias/shop-prod-lake"
  target_key_id = aws_kms_key.lake.key_id
}

resource "aws_s3_bucket" "lake" {
  bucket = "shop-lake"
  # Development: `terraform destroy` deletes the bucket with all that is in it.
  force_destroy = true
}

# A deleted or overwritten object can be restored for 30 days.
resource "aws_s3_bucket_versioning" "lake" {
  bucket = aws_s3_bucket.lake.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "lake" {
  bucket = aws_s3_bucket.lake.id

  rule {
    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = aws_kms_key.lake.arn
    }

    # One request to KMS for many objects, instead of one for each.
    bucket_key_enabled = true
  }
}

resource "aws_s3_bucket_public_access_block" "lake" {
  bucket                  = aws_s3_bucket.lake.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_policy" "lake" {
  bucket = aws_s3_bucket.lake.id
  policy = templatefile("${path.module}/policies/bucket_tls.json", { bucket = aws_s3_bucket.lake.arn })

  # A public access block that is made at the same time makes S3 answer with a conflict.
  depends_on = [aws_s3_bucket_public_access_block.lake]
}

# No rule expires current objects: only `lakesmith maintain` knows which files a table still needs.
resource "aws_s3_bucket_lifecycle_configuration" "lake" {
  bucket = aws_s3_bucket.lake.id

  rule {
    id     = "old-versions"
    status = "Enabled"

    filter {}

    noncurrent_version_expiration {
      noncurrent_days = 30
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }
  }

  depends_on = [aws_s3_bucket_versioning.lake]
}

resource "aws_s3_bucket" "landing" {
  bucket = "shop-landing"
  # Development: `terraform destroy` deletes the bucket with all that is in it.
  force_destroy = true
}

# A deleted or overwritten object can be restored for 30 days.
resource "aws_s3_bucket_versioning" "landing" {
  bucket = aws_s3_bucket.landing.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "landing" {
  bucket = aws_s3_bucket.landing.id

  rule {
    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = aws_kms_key.lake.arn
    }

    # One request to KMS for many objects, instead of one for each.
    bucket_key_enabled = true
  }
}

resource "aws_s3_bucket_public_access_block" "landing" {
  bucket                  = aws_s3_bucket.landing.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_policy" "landing" {
  bucket = aws_s3_bucket.landing.id
  policy = templatefile("${path.module}/policies/bucket_tls.json", { bucket = aws_s3_bucket.landing.arn })

  # A public access block that is made at the same time makes S3 answer with a conflict.
  depends_on = [aws_s3_bucket_public_access_block.landing]
}

# No rule expires current objects: only `lakesmith maintain` knows which files a table still needs.
resource "aws_s3_bucket_lifecycle_configuration" "landing" {
  bucket = aws_s3_bucket.landing.id

  rule {
    id     = "old-versions"
    status = "Enabled"

    filter {}

    noncurrent_version_expiration {
      noncurrent_days = 30
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }
  }

  depends_on = [aws_s3_bucket_versioning.landing]
}

resource "aws_s3_bucket" "exports" {
  bucket = "shop-exports"
  # Development: `terraform destroy` deletes the bucket with all that is in it.
  force_destroy = true
}

# A deleted or overwritten object can be restored for 30 days.
resource "aws_s3_bucket_versioning" "exports" {
  bucket = aws_s3_bucket.exports.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "exports" {
  bucket = aws_s3_bucket.exports.id

  rule {
    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = aws_kms_key.lake.arn
    }

    # One request to KMS for many objects, instead of one for each.
    bucket_key_enabled = true
  }
}

resource "aws_s3_bucket_public_access_block" "exports" {
  bucket                  = aws_s3_bucket.exports.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_policy" "exports" {
  bucket = aws_s3_bucket.exports.id
  policy = templatefile("${path.module}/policies/bucket_tls.json", { bucket = aws_s3_bucket.exports.arn })

  # A public access block that is made at the same time makes S3 answer with a conflict.
  depends_on = [aws_s3_bucket_public_access_block.exports]
}

# No rule expires current objects: only `lakesmith maintain` knows which files a table still needs.
resource "aws_s3_bucket_lifecycle_configuration" "exports" {
  bucket = aws_s3_bucket.exports.id

  rule {
    id     = "old-versions"
    status = "Enabled"

    filter {}

    noncurrent_version_expiration {
      noncurrent_days = 30
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }
  }

  depends_on = [aws_s3_bucket_versioning.exports]
}

resource "aws_s3_bucket" "work" {
  bucket = "shop-prod-work-123456789012-eu-central-1"
  # Development: `terraform destroy` deletes the bucket with all that is in it.
  force_destroy = true
}

# A deleted or overwritten object can be restored for 30 days.
resource "aws_s3_bucket_versioning" "work" {
  bucket = aws_s3_bucket.work.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "work" {
  bucket = aws_s3_bucket.work.id

  rule {
    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = aws_kms_key.lake.arn
    }

    # One request to KMS for many objects, instead of one for each.
    bucket_key_enabled = true
  }
}

resource "aws_s3_bucket_public_access_block" "work" {
  bucket                  = aws_s3_bucket.work.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_policy" "work" {
  bucket = aws_s3_bucket.work.id
  policy = templatefile("${path.module}/policies/bucket_tls.json", { bucket = aws_s3_bucket.work.arn })

  # A public access block that is made at the same time makes S3 answer with a conflict.
  depends_on = [aws_s3_bucket_public_access_block.work]
}

resource "aws_s3_bucket_lifecycle_configuration" "work" {
  bucket = aws_s3_bucket.work.id

  rule {
    id     = "old-versions"
    status = "Enabled"

    filter {}

    noncurrent_version_expiration {
      noncurrent_days = 30
    }

    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }
  }

  # Results of runs and of queries, which nothing reads later.
  rule {
    id     = "results"
    status = "Enabled"

    filter {}

    expiration {
      days = 30
    }
  }

  depends_on = [aws_s3_bucket_versioning.work]
}
