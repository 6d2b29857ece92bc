# Written by lakesmith deploy for project shop, target prod. Do not edit: the next
# deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
# sha256 of the text below: 9efdd59410bbb3bee0e3cc121d445e96ef207a6072be4a3d1bf0a7e85b0b02d3

# One role for each part. What it may do is in policies/: no role may do more than its part does.

resource "aws_iam_role" "job" {
  name               = "shop-prod-job"
  assume_role_policy = file("${path.module}/policies/job_trust.json")
}

resource "aws_iam_role_policy" "job" {
  name   = "job"
  role   = aws_iam_role.job.id
  policy = file("${path.module}/policies/job.json")
}

resource "aws_iam_role" "gate" {
  name               = "shop-prod-gate"
  assume_role_policy = file("${path.module}/policies/gate_trust.json")
}

resource "aws_iam_role_policy" "gate" {
  name   = "gate"
  role   = aws_iam_role.gate.id
  policy = file("${path.module}/policies/gate.json")
}

resource "aws_iam_role" "machine" {
  name               = "shop-prod-machine"
  assume_role_policy = file("${path.module}/policies/machine_trust.json")
}

resource "aws_iam_role_policy" "machine" {
  name = "machine"
  role = aws_iam_role.machine.id

  policy = templatefile("${path.module}/policies/machine.json", {
    application = aws_emrserverless_application.jobs.arn
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
  name   = "reader"
  role   = aws_iam_role.reader.id
  policy = file("${path.module}/policies/reader.json")
}

resource "aws_iam_role" "erasure" {
  name               = "shop-prod-erasure"
  assume_role_policy = file("${path.module}/policies/erasure_trust.json")
}

resource "aws_iam_role_policy" "erasure" {
  name   = "erasure"
  role   = aws_iam_role.erasure.id
  policy = file("${path.module}/policies/erasure.json")
}
