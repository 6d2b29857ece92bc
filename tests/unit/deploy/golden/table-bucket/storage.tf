# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 8ca1408a90c605fab9cf8ee731af4f318a4170c21665eba686196147510462d2

resource "aws_s3_bucket" "landing" {
  bucket = "shop-landing"

  lifecycle {
    prevent_destroy = true
  }
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
      sse_algorithm = "AES256"
    }
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

resource "aws_s3_bucket" "work" {
  bucket = "shop-prod-work-123456789012-eu-central-1"

  lifecycle {
    prevent_destroy = true
  }
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
      sse_algorithm = "AES256"
    }
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
