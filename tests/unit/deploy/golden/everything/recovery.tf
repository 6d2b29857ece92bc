# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 738accb662dc310cd5cd4ba92713f9c20a7db92deea254d6e3161bfe68d3defa

# Copies in another region, which outlive the loss of this one. Objects are copied in any order within minutes, so a
# copy may lack files that a table's newest metadata names.
provider "aws" {
  alias               = "replica"
  region              = "eu-west-1"
  allowed_account_ids = ["123456789012"]

  default_tags {
    tags = {
      project    = "shop"
      target     = "prod"
      managed-by = "lakesmith"
    }
  }
}

# Its own key: a key of a lost region would decrypt nothing.
resource "aws_kms_key" "replica" {
  provider                = aws.replica
  description             = "shop, target prod: copies of the lake"
  enable_key_rotation     = true
  deletion_window_in_days = 30
  policy                  = file("${path.module}/policies/key.json")
}

resource "aws_s3_bucket" "lake_replica" {
  provider = aws.replica
  bucket   = "shop-lake-replica"
  # Development: `terraform destroy` deletes the copy with all that is in it.
  force_destroy = true
}

resource "aws_s3_bucket_versioning" "lake_replica" {
  provider = aws.replica
  bucket   = aws_s3_bucket.lake_replica.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "lake_replica" {
  provider = aws.replica
  bucket   = aws_s3_bucket.lake_replica.id

  rule {
    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = aws_kms_key.replica.arn
    }

    bucket_key_enabled = true
  }
}

resource "aws_s3_bucket_public_access_block" "lake_replica" {
  provider                = aws.replica
  bucket                  = aws_s3_bucket.lake_replica.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_policy" "lake_replica" {
  provider = aws.replica
  bucket   = aws_s3_bucket.lake_replica.id
  policy   = templatefile("${path.module}/policies/bucket_tls.json", { bucket = aws_s3_bucket.lake_replica.arn })

  depends_on = [aws_s3_bucket_public_access_block.lake_replica]
}

# What is deleted in the lake is deleted here, too, and can be restored for 30 days.
resource "aws_s3_bucket_lifecycle_configuration" "lake_replica" {
  provider = aws.replica
  bucket   = aws_s3_bucket.lake_replica.id

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

  depends_on = [aws_s3_bucket_versioning.lake_replica]
}

resource "aws_s3_bucket_replication_configuration" "lake" {
  bucket = aws_s3_bucket.lake.id
  role   = aws_iam_role.replication.arn

  rule {
    id     = "everything"
    status = "Enabled"

    filter {}

    delete_marker_replication {
      status = "Enabled"
    }

    source_selection_criteria {
      sse_kms_encrypted_objects {
        status = "Enabled"
      }
    }

    destination {
      bucket        = aws_s3_bucket.lake_replica.arn
      storage_class = "STANDARD"

      encryption_configuration {
        replica_kms_key_id = aws_kms_key.replica.arn
      }
    }
  }

  # Both buckets need versions before anything is copied.
  depends_on = [
    aws_s3_bucket_versioning.lake,
    aws_s3_bucket_versioning.lake_replica,
    aws_iam_role_policy.replication,
  ]
}

resource "aws_s3_bucket" "landing_replica" {
  provider = aws.replica
  bucket   = "shop-landing-replica"
  # Development: `terraform destroy` deletes the copy with all that is in it.
  force_destroy = true
}

resource "aws_s3_bucket_versioning" "landing_replica" {
  provider = aws.replica
  bucket   = aws_s3_bucket.landing_replica.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "landing_replica" {
  provider = aws.replica
  bucket   = aws_s3_bucket.landing_replica.id

  rule {
    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = aws_kms_key.replica.arn
    }

    bucket_key_enabled = true
  }
}

resource "aws_s3_bucket_public_access_block" "landing_replica" {
  provider                = aws.replica
  bucket                  = aws_s3_bucket.landing_replica.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_policy" "landing_replica" {
  provider = aws.replica
  bucket   = aws_s3_bucket.landing_replica.id
  policy   = templatefile("${path.module}/policies/bucket_tls.json", { bucket = aws_s3_bucket.landing_replica.arn })

  depends_on = [aws_s3_bucket_public_access_block.landing_replica]
}

# What is deleted in the lake is deleted here, too, and can be restored for 30 days.
resource "aws_s3_bucket_lifecycle_configuration" "landing_replica" {
  provider = aws.replica
  bucket   = aws_s3_bucket.landing_replica.id

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

  depends_on = [aws_s3_bucket_versioning.landing_replica]
}

resource "aws_s3_bucket_replication_configuration" "landing" {
  bucket = aws_s3_bucket.landing.id
  role   = aws_iam_role.replication.arn

  rule {
    id     = "everything"
    status = "Enabled"

    filter {}

    delete_marker_replication {
      status = "Enabled"
    }

    source_selection_criteria {
      sse_kms_encrypted_objects {
        status = "Enabled"
      }
    }

    destination {
      bucket        = aws_s3_bucket.landing_replica.arn
      storage_class = "STANDARD"

      encryption_configuration {
        replica_kms_key_id = aws_kms_key.replica.arn
      }
    }
  }

  # Both buckets need versions before anything is copied.
  depends_on = [
    aws_s3_bucket_versioning.landing,
    aws_s3_bucket_versioning.landing_replica,
    aws_iam_role_policy.replication,
  ]
}

resource "aws_s3_bucket" "exports_replica" {
  provider = aws.replica
  bucket   = "shop-exports-replica"
  # Development: `terraform destroy` deletes the copy with all that is in it.
  force_destroy = true
}

resource "aws_s3_bucket_versioning" "exports_replica" {
  provider = aws.replica
  bucket   = aws_s3_bucket.exports_replica.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "exports_replica" {
  provider = aws.replica
  bucket   = aws_s3_bucket.exports_replica.id

  rule {
    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = aws_kms_key.replica.arn
    }

    bucket_key_enabled = true
  }
}

resource "aws_s3_bucket_public_access_block" "exports_replica" {
  provider                = aws.replica
  bucket                  = aws_s3_bucket.exports_replica.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_policy" "exports_replica" {
  provider = aws.replica
  bucket   = aws_s3_bucket.exports_replica.id
  policy   = templatefile("${path.module}/policies/bucket_tls.json", { bucket = aws_s3_bucket.exports_replica.arn })

  depends_on = [aws_s3_bucket_public_access_block.exports_replica]
}

# What is deleted in the lake is deleted here, too, and can be restored for 30 days.
resource "aws_s3_bucket_lifecycle_configuration" "exports_replica" {
  provider = aws.replica
  bucket   = aws_s3_bucket.exports_replica.id

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

  depends_on = [aws_s3_bucket_versioning.exports_replica]
}

resource "aws_s3_bucket_replication_configuration" "exports" {
  bucket = aws_s3_bucket.exports.id
  role   = aws_iam_role.replication.arn

  rule {
    id     = "everything"
    status = "Enabled"

    filter {}

    delete_marker_replication {
      status = "Enabled"
    }

    source_selection_criteria {
      sse_kms_encrypted_objects {
        status = "Enabled"
      }
    }

    destination {
      bucket        = aws_s3_bucket.exports_replica.arn
      storage_class = "STANDARD"

      encryption_configuration {
        replica_kms_key_id = aws_kms_key.replica.arn
      }
    }
  }

  # Both buckets need versions before anything is copied.
  depends_on = [
    aws_s3_bucket_versioning.exports,
    aws_s3_bucket_versioning.exports_replica,
    aws_iam_role_policy.replication,
  ]
}
