# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 36392395a178459d5c417b3023db0ea8cdee8e52ba91f066e1289434a0c665b8

# One role for each part. What it may do is in policies/: no role may do more than its part does.

resource "aws_iam_role" "job" {
  name               = "shop-prod-job"
  assume_role_policy = file("${path.module}/policies/job_trust.json")
}

resource "aws_iam_role_policy" "job" {
  name = "job"
  role = aws_iam_role.job.id

  policy = templatefile("${path.module}/policies/job.json", {
    key = aws_kms_key.lake.arn
  })
}

resource "aws_iam_role" "gate" {
  name               = "shop-prod-gate"
  assume_role_policy = file("${path.module}/policies/gate_trust.json")
}

resource "aws_iam_role_policy" "gate" {
  name = "gate"
  role = aws_iam_role.gate.id

  policy = templatefile("${path.module}/policies/gate.json", {
    key = aws_kms_key.lake.arn
  })
}

resource "aws_iam_role" "machine" {
  name               = "shop-prod-machine"
  assume_role_policy = file("${path.module}/policies/machine_trust.json")
}

resource "aws_iam_role_policy" "machine" {
  name = "machine"
  role = aws_iam_role.machine.id

  policy = templatefile("${path.module}/policies/machine.json", {
    key = aws_kms_key.lake.arn
  })
}

resource "aws_iam_role" "trigger" {
  name               = "shop-prod-trigger"
  assume_role_policy = file("${path.module}/policies/trigger_trust.json")
}

resource "aws_iam_role_policy" "trigger" {
  name   = "trigger"
  role   = aws_iam_role.trigger.id
  policy = file("${path.module}/policies/trigger.json")
}

resource "aws_iam_role" "reader" {
  name               = "shop-prod-reader"
  assume_role_policy = file("${path.module}/policies/reader_trust.json")
}

resource "aws_iam_role_policy" "reader" {
  name = "reader"
  role = aws_iam_role.reader.id

  policy = templatefile("${path.module}/policies/reader.json", {
    key = aws_kms_key.lake.arn
  })
}

resource "aws_iam_role" "erasure" {
  name               = "shop-prod-erasure"
  assume_role_policy = file("${path.module}/policies/erasure_trust.json")
}

resource "aws_iam_role_policy" "erasure" {
  name = "erasure"
  role = aws_iam_role.erasure.id

  policy = templatefile("${path.module}/policies/erasure.json", {
    key         = aws_kms_key.lake.arn
    replica_key = aws_kms_key.replica.arn
  })
}

resource "aws_iam_role" "access" {
  name               = "shop-prod-access"
  assume_role_policy = file("${path.module}/policies/access_trust.json")
}

resource "aws_iam_role_policy" "access" {
  name = "access"
  role = aws_iam_role.access.id

  policy = templatefile("${path.module}/policies/access.json", {
    key = aws_kms_key.lake.arn
  })
}

resource "aws_iam_role" "pii_reader" {
  name               = "shop-prod-pii-reader"
  assume_role_policy = file("${path.module}/policies/pii_reader_trust.json")
}

resource "aws_iam_role_policy" "pii_reader" {
  name = "pii_reader"
  role = aws_iam_role.pii_reader.id

  policy = templatefile("${path.module}/policies/pii_reader.json", {
    key = aws_kms_key.lake.arn
  })
}

resource "aws_iam_role" "replication" {
  name               = "shop-prod-replication"
  assume_role_policy = file("${path.module}/policies/replication_trust.json")
}

resource "aws_iam_role_policy" "replication" {
  name = "replication"
  role = aws_iam_role.replication.id

  policy = templatefile("${path.module}/policies/replication.json", {
    key         = aws_kms_key.lake.arn
    replica_key = aws_kms_key.replica.arn
  })
}
